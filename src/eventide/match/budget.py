"""What a run may spend, and how often a kernel looks up from its work.

A kernel that may run for long takes the steps of one *slice* and counts them down; when none are left it returns `SPENT` and goes
on where it was in the next call. Between two calls the interpreter sees Ctrl-C, and limits are judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from eventide.records import record

if TYPE_CHECKING:
    import numpy.typing as npt

SPENT = -1
"""The status of a kernel that has used up its slice; beside it there are done, and several kinds of missing room."""
SLICE_STEPS = 1 << 21
"""Some tens of milliseconds: short for a person, long against the cost of a call."""
MOST_CANDIDATES = 1 << 18
"""Where matches are capped, so are those that a selector compares: the few that it keeps may hide an explosion."""


class Resource(Enum):
    """What may run out."""

    MATCHES = auto()
    CANDIDATES = auto()
    """Matches that a selector has to compare."""
    STEPS = auto()
    PAIRS = auto()
    """Pairs of events of one window that conditions are judged for."""
    ALTERNATIVES = auto()
    """Ways in which one event can go on with a partial match."""


class Spent(Exception):  # noqa: N818 - the runtime turns it into an error that a user sees
    """A run needs more than it may spend; `amount` is the limit, or what would have been needed where no caller sets one."""

    def __init__(self, resource: Resource, amount: int) -> None:
        super().__init__(resource, amount)
        self.resource = resource
        self.amount = amount


@record
class Budget:
    """What a run may spend: steps of one kernel call, and of all calls and matches together unless they are None."""

    slice_steps: int | None = None
    """None: `SLICE_STEPS`."""
    steps: int | None = None
    matches: int | None = None


@dataclass
class Account:
    """What a matcher has spent of its budget.

    >>> account = Account(Budget(slice_steps=10, steps=15, matches=2))
    >>> left = account.slice()
    >>> left[0] -= 10
    >>> account.slice().tolist()
    [5]
    >>> account.take_matches(3)
    Traceback (most recent call last):
    eventide.match.budget.Spent: (<Resource.MATCHES: 1>, 2)
    """

    budget: Budget
    matches: int = 0
    _steps: int = 0
    _given: int = 0
    _left: npt.NDArray[np.int64] = field(default_factory=partial(np.array, [0], np.int64))

    def slice(self) -> npt.NDArray[np.int64]:
        """Return the steps of the next kernel call, which it counts down, and account for those of the call before."""
        self._steps += self._given - max(0, int(self._left[0]))
        self._given = self.budget.slice_steps or SLICE_STEPS
        if self.budget.steps is not None:
            if self._steps >= self.budget.steps:
                raise Spent(Resource.STEPS, self.budget.steps)
            self._given = min(self._given, self.budget.steps - self._steps)
        self._left[0] = self._given
        return self._left

    def take_matches(self, number: int) -> None:
        """Count matches."""
        self.matches += number
        self.allow_matches(self.matches)

    def allow_matches(self, number: int) -> None:
        """Refuse more matches than there may be in all."""
        if self.budget.matches is not None and number > self.budget.matches:
            raise Spent(Resource.MATCHES, self.budget.matches)

    def allow_candidates(self, number: int) -> None:
        """Refuse more matches to choose from than a capped run may hold."""
        if self.budget.matches is not None and number > max(MOST_CANDIDATES, self.budget.matches):
            raise Spent(Resource.CANDIDATES, max(MOST_CANDIDATES, self.budget.matches))
