"""Mutated texts of all languages over random small tables: each runs or is refused by an error of ours, within bounds."""
