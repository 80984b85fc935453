"""Binding of sequences: CEQL, SASE and the builder."""
