"""The oracles: slow matchers taken straight from docs/semantics.md, for tests and tools alone.

They share no code with any engine. Streams of about ten events and patterns of about six occurrences are their size;
`recognize`, the one for MATCH_RECOGNIZE, looks for the preferred match alone and bears some hundred rows.
"""

from eventide_reference.row_patterns import recognize
from eventide_reference.sequences import (
    Match,
    Timeout,
    admissible,
    count_matches,
    find_matches,
    group_rows,
    output_rows,
    score,
    timeouts,
)

__all__ = [
    "Match", "Timeout", "admissible", "count_matches", "find_matches", "group_rows", "output_rows", "recognize", "score",
    "timeouts",
]  # fmt: skip
