"""What Spark's Python workers need of us, how it gets there, and what is said where it is missing."""
