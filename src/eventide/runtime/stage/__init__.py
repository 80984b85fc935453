"""Match: prepared Arrow batches in, what a collector makes of the matches out."""
