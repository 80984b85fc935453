"""Matches spread over workers: who gets which, and what a worker does with its share (abella.md 6)."""
