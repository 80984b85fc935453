"""CEQL: text to model."""
