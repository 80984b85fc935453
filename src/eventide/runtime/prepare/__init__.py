"""Prepare and Finish as SQL, one module for each kind of pattern."""
