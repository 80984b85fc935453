"""What a query needs of a stream, and what a stream refuses."""
