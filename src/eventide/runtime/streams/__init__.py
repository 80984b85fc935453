"""Unbounded, disordered streams: the keys of a stream in buckets, one packed state and one kernel call for each."""
