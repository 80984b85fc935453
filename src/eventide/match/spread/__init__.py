"""Matches spread over workers: who gets which, and what a worker does with its share (Abella 2022, 4.2)."""
