"""The published joins of recomputation, as a variant."""
