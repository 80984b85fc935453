"""Watching a stream: what each micro-batch did, as a line on the terminal and as metrics for Prometheus."""
