"""SQL around MATCH_RECOGNIZE clauses: a program of relations."""
