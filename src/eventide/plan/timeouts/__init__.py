"""Which queries find the matches that are never completed."""
