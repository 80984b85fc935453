"""The small stack programs that judge conditions, and what they share."""
