"""What a run may set for its stage."""

from __future__ import annotations

from eventide.records import record

DEFAULT_MAX_STEPS = 100_000_000
"""Beyond the steps that a usual query needs; some tens of seconds on one core."""


@record
class StageLimits:
    """Caps on the matches and on the steps of a search for them, and which slice of all matches to enumerate."""

    max_matches: int | None = None
    max_steps: int = DEFAULT_MAX_STEPS
    slices: int = 1
    slice_index: int = 0
