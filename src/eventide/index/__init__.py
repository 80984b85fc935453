"""Z-order codes, the event tree, box queries and moving windows."""
