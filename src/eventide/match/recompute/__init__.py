"""Recomputation: the events of the window in an index, joined in batches when a match may close (kammoun.md 3.1 to 3.3)."""
