"""Which driver runs a plan, one module for each kind of pattern."""
