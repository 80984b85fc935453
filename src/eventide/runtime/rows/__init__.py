"""Runs MATCH_RECOGNIZE: rows are prepared and finished by the relational engine and matched by kernels."""
