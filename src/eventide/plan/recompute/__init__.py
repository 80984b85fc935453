"""The sequences that recomputation searches: a query cut into steps, with what its conditions become in them."""
