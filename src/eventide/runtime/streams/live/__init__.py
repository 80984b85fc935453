"""Streams without Spark: this process hosts the buckets, and events are pushed as Arrow batches."""
