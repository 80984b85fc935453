"""How queries and statements are opened as streams in this process."""
