"""Row patterns (MATCH_RECOGNIZE): the preferred match at each row."""
