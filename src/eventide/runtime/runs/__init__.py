"""What can be asked of a query, and which driver answers it: one module for each kind of pattern."""
