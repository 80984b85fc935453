"""Spark as the host of streams."""
