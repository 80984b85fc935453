"""What a run may set for its stage."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from eventide.match.budget import PATIENCE, Budget, Memory
from eventide.records import record
from eventide.runtime.budget.memory import default_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

DEFAULT_MAX_STEPS = 16_000_000
"""Beyond the steps that a usual query needs; some seconds on one core."""


@record
class StageLimits:
    """Caps on the matches, on the steps of a search for them and on memory, and which slice of all matches to enumerate."""

    max_matches: int | None = None
    max_steps: int | None = None
    """None: by default, which for events depends on their number."""
    slices: int = 1
    slice_index: int = 0
    max_memory: int | None = None
    """None: a share of what there is where the stage runs."""
    gathers: bool = False
    """Whether the rows of the result stay in memory, so that they count."""
    matches_pay: bool = True
    """Whether matches are listed: what only counts them has no reason to go on for ever."""
    memory: Memory | None = None
    """What the run at hand has spent; not shipped."""
    budget: Budget = field(init=False, compare=False, repr=False)
    """What matchers of events may spend."""
    steps: int = field(init=False, compare=False, repr=False)
    """How many steps the search of a row pattern may take."""

    def __post_init__(self) -> None:
        patience = PATIENCE if self.max_steps is None else None
        budget = Budget(None, self.max_steps, self.max_matches, patience, self.matches_pay, self.memory)
        object.__setattr__(self, "budget", budget)
        object.__setattr__(self, "steps", DEFAULT_MAX_STEPS if self.max_steps is None else self.max_steps)

    def begun(self) -> StageLimits:
        """Return the limits of a run that begins here, in the process whose memory it takes."""
        return replace(self, memory=Memory(default_memory() if self.max_memory is None else self.max_memory))

    def begin_batch(self) -> None:
        """Begin a batch of a stream: the rows of those before have left."""
        if self.memory is not None:
            self.memory.begin()

    def counted(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield rows of the result, and count the memory of those that stay: a bound event that is written costs its bytes."""
        for batch in batches:
            if self.gathers and self.memory is not None:
                self.memory.write(batch.nbytes, batch.num_rows)
            yield batch
