"""SQL with MATCH_RECOGNIZE: text to model."""
