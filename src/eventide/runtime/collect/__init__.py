"""Collectors: what becomes of the matches that a stage finds."""
