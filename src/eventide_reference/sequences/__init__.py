"""The oracle of sequences (CEQL, SASE and the builder): docs/semantics.md, sections 1 to 9, 11 and 13."""

from eventide_reference.sequences.oracle import Match, admissible, count_matches, find_matches
from eventide_reference.sequences.output import output_rows
from eventide_reference.sequences.results import group_rows, score
from eventide_reference.sequences.timeouts import Timeout, timeouts

__all__ = ["Match", "Timeout", "admissible", "count_matches", "find_matches", "group_rows", "output_rows", "score", "timeouts"]
