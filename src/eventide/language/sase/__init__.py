"""SASE: text to model."""
