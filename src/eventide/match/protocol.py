"""What every matcher takes, gives and promises."""

from __future__ import annotations

from dataclasses import field
from enum import IntEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from eventide.match.budget import Budget
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt

    from eventide.match.dag.enumeration import Absences, MatchBatch
    from eventide.match.dag.judged.bounds import Bounded
    from eventide.match.dag.judged.summaries import Summaries
    from eventide.match.programs.programs import Programs
    from eventide.match.transitions import TransitionSource

Batch_contra = TypeVar("Batch_contra", contravariant=True)
Found_co = TypeVar("Found_co", covariant=True)


class Keep(IntEnum):
    """What is kept of the matches that end at the same event."""

    ALL = 0
    ANY = 1
    NEXT = 2
    LAST = 3
    MAX = 4


@record
class EventBatch:
    """A stretch of the ordered stream as columns; events of one key are in order, keys may interleave.

    Either `restart` marks where the next key begins (input sorted by key), or `key` numbers the keys. A match that ends at an
    event begins at its `window_start` or later; matches end only where `reports` is 1 (None: everywhere).
    `values` are the columns that conditions between events read, doubles as their bits.
    """

    mask: npt.NDArray[np.int64]
    clock: npt.NDArray[np.int64]
    window_start: npt.NDArray[np.int64]
    key: npt.NDArray[np.int32] | None = None
    restart: npt.NDArray[np.uint8] | None = None
    reports: npt.NDArray[np.uint8] | None = None
    values: npt.NDArray[np.int64] | None = None
    valid: npt.NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return int(self.mask.shape[0])


class LabelledQuery(Protocol):
    """What a matcher asks of the plan; labels are numbered as the automaton meets them, so tables grow with their number."""

    def label_count(self) -> int:
        """Return how many labels there are so far."""
        ...

    def programs(self) -> Programs:
        """Return the conditions by label."""
        ...

    def checks(self, *, closing: bool) -> tuple[Programs, Absences]:
        """Return what enumeration judges, conditions and absences by label: all, or only what is judged on whole matches.

        Of all, equalities that all matches share are taken out as agreements.
        """
        ...

    def closing_programs(self) -> Programs:
        """Return what is judged on whole matches only."""
        ...

    def absences(self) -> Absences:
        """Return the absences by label."""
        ...

    def summaries(self) -> tuple[Summaries, Bounded] | None:
        """Return what conditions want to know of a path, or None where it cannot be said in a few numbers."""
        ...

    def visible(self) -> npt.NDArray[np.int32]:
        """Number what labels show in the result."""
        ...


@record
class MatcherSettings:
    """How a matcher is to work.

    `bits` is the number of predicate bits, `forbidden_bits` the bit of each absence that is checked on matches, `columns` the
    number of value columns. `explosive` says that candidates can outgrow the events exponentially. `quota` caps the matches of
    each key (LIMIT), the budget what the whole run may spend.
    """

    source: TransitionSource
    labelled: LabelledQuery
    bits: int
    columns: int = 0
    forbidden_bits: tuple[int, ...] = ()
    checked: bool = False
    trailing: bool = False
    explosive: bool = False
    keep: Keep = Keep.ALL
    deduplicate: bool = False
    consume: int = 0
    quota: int | None = None
    budget: Budget = field(default_factory=Budget)
    slice_index: int = 0
    slices: int = 1


class Running(Protocol[Batch_contra, Found_co]):
    """An algorithm at work, which turns batches of one kind into what is found in them.

    Batches are events in order (`EventBatch`), events as they arrive (`ArrivalBatch`) or rows of partitions (`RowPartitions`).
    Rows are numbered by `keep`: first those that it returned, in that order, then those of the batches behind it as they come.
    """

    @property
    def name(self) -> str:
        """What users call it."""
        ...

    def advance(self, batch: Batch_contra) -> Iterator[Found_co]:
        """Take a batch and yield the matches that are now certain."""
        ...

    def advance_time(self, low: int) -> Iterator[Found_co]:
        """Learn that nothing to come reaches back before `low`, and yield the matches that are now certain.

        For events in order it is where the window of the next one begins, for events as they arrive the watermark.
        """
        ...

    def keep(self) -> npt.NDArray[np.int64]:
        """Return the rows that later matches may still name, ascending; all other rows are forgotten."""
        ...

    def live_keys(self) -> npt.NDArray[np.bool_]:
        """Return which keys hold anything that a match to come may need; to be asked right after `keep`."""
        ...

    def compact_keys(self, kept: npt.NDArray[np.int64]) -> None:
        """Forget all keys but these (ascending), which are numbered anew; the others must not be live."""
        ...

    def shed(self, before: int) -> None:
        """Give up what began before a time although matches to come may need it; matches that wait for certainty stay."""
        ...

    def kept_values(self, column: int) -> npt.NDArray[np.int64]:
        """Return a value column of the events that are held."""
        ...

    def partial_matches(self) -> int:
        """Return how many partial matches, or states that share them, are held."""
        ...

    def finish(self) -> Iterator[Found_co]:
        """Yield the matches that only the end of the stream makes certain."""
        ...

    def dump(self) -> bytes:
        """Return the whole state between two batches."""
        ...

    def load(self, state: bytes) -> None:
        """Go on from a dumped state."""
        ...


Matcher: TypeAlias = "Running[EventBatch, MatchBatch]"
"""A matcher of events in order."""
