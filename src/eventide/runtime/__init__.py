"""Runs plans: relational engines prepare and finish, stages match, over tables and over streams."""
