"""What the disorder-native operator is told: the sequence, its batches, and which optimisations it uses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from eventide.match.protocol import LabelledQuery


@dataclass(frozen=True)
class ArrivalBatch:
    """Events as columns in the order of their arrival; (clock, tie, sequence) is their order in time.

    `tie` codes the tie-break so that codes compare as its values do (0 without one). `sequence` is unique: the number of the
    stream, then the arrival. `key` numbers the keys.
    """

    mask: npt.NDArray[np.int64]
    clock: npt.NDArray[np.int64]
    sequence: npt.NDArray[np.int64]
    tie: npt.NDArray[np.int64] | None = None
    key: npt.NDArray[np.int32] | None = None
    values: npt.NDArray[np.int64] | None = None
    valid: npt.NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return int(self.mask.shape[0])


@dataclass(frozen=True)
class ForbiddenEvent:
    """A NOT: the bit of the event, the step that it stands before, and its number among the absences with conditions.

    The gap 0 is before the first step, the gap after the last one has the number of steps. Number -1 asks for no condition.
    """

    bit: int
    gap: int
    number: int = -1


@dataclass(frozen=True)
class DisorderSettings:
    """A sequence of single events in a time window.

    `ties_by_arrival` when of two events at one time the one that arrived first is the earlier: no tie-break, one stream.
    """

    bits: tuple[int, ...]
    labels: tuple[int, ...]
    window: int
    labelled: LabelledQuery
    forbidden: tuple[ForbiddenEvent, ...] = ()
    columns: int = 0
    conditions: bool = False
    ties_by_arrival: bool = False
    max_matches: int | None = None


class Naive(IntFlag):
    """What an in-order engine gets wrong under disorder (Li 2010, 4.3), one failure a flag; for tests and comparisons only."""

    NOTHING = 0
    DISCARD = 1
    """An event is discarded while no event of the step before it is there."""
    APPEND = 2
    """An event is put on top of its stack, and matches are built when the last step arrives only."""
    UNHELD = 4
    """A match is given out although a late negated event may still forbid it."""
    PURGE_STACKS = 8
    """Events leave the stacks when the latest event is a window away."""
    PURGE_FORBIDDEN = 16
    """Negated events are forgotten when the latest event is a window away."""
    IN_ORDER = 31


@dataclass(frozen=True)
class DisorderOptions:
    """Which optimisations of Li 2010, 4.5 are used; the matches are the same without any of them."""

    fast_path: bool = True
    """Append what is later than all of its key, and build matches at the last step only (AIS-CLOCK, optimization 4.1)."""
    use_rin: bool = True
    """Keep the earliest later event of the next step with each event (RIN, optimization 4.2)."""
    partition: bool = True
    """End every walk through a stack where the window ends (AIS partition, optimization 4.3)."""
    lazy_purge: bool = False
    """Look at the last step only, and purge along RIP (optimization 4.4); a full sweep follows when the state has doubled."""
    early_release: bool = True
    """Hold a match for the event behind the last NOT, not for its last event (optimization 4.5)."""
    naive: Naive = Naive.NOTHING
