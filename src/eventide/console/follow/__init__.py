"""Follow a stream on the terminal."""
