"""The oracle: a slow matcher taken straight from docs/semantics.md, for tests and tools alone.

It shares no code with any engine. Streams of about ten events and patterns of about six occurrences are its size.
"""

from eventide.reference.oracle import Match, admissible, count_matches, find_matches
from eventide.reference.output import output_rows

__all__ = ["Match", "admissible", "count_matches", "find_matches", "output_rows"]
