"""Where events come from: files as Arrow tables, and files replayed as streams."""
