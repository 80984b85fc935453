"""The oracle of MATCH_RECOGNIZE: a short, slow matcher taken straight from docs/semantics.md, section 10."""

from eventide_reference.row_patterns.oracle import recognize

__all__ = ["recognize"]
