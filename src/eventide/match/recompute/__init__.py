"""Recomputation: the events of the window in an index, joined in batches when a match may close (Kammoun 2019, 3.5 to 3.7)."""
