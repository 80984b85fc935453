"""What recomputation is compared with: nested loops, IEJoin, an R-tree, and the data that tells them apart."""
