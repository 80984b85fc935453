"""What runs one query in a bucket, one module for each kind of query."""
