"""What the disorder-native operator is told: the sequence and its batches."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from eventide.match.budget import Budget
from eventide.records import record

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from eventide.match.protocol import LabelledQuery


@record
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


@record
class ForbiddenEvent:
    """A NOT: the bit of the event, the step that it stands before, and its number among the absences with conditions.

    The gap 0 is before the first step, the gap after the last one has the number of steps. Number -1 asks for no condition.
    """

    bit: int
    gap: int
    number: int = -1


@record
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
    budget: Budget = field(default_factory=Budget)
