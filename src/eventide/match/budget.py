"""What a run may spend, and how often a kernel looks up from its work.

A kernel that may run for long takes the steps of one *slice* and counts them down; when none are left it returns `SPENT` and goes
on where it was in the next call. Between two calls the interpreter sees Ctrl-C, and limits are judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from time import thread_time
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
PATIENCE = 1 << 24
"""Steps that find nothing. One that compares two events takes some nanoseconds, one that closes a match with three aggregates of
fifty events half a microsecond."""
SECONDS_OF_PATIENCE = 4.0
"""So long a batch goes on even if its steps are used up: where they are quick, they may well come to an end."""
STEPS_OF_AN_EVENT = 1 << 14
"""What each event may cost besides: so much is polynomial, and not hopeless."""
STEPS_OF_A_MATCH = 1 << 12
SHARE_OF_CANDIDATES = 8
"""Of the memory of a run, what the candidates of one end may take."""
MOST_OF_AN_END = 10**12
"""More matches that end at one event than anybody writes or reads, wherever they go."""


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
    MEMORY = auto()
    """Bytes of what was found, or is held."""
    ROOM = auto()
    """Bytes of the candidates of one end."""


class Spent(Exception):  # noqa: N818 - the runtime turns it into an error that a user sees
    """A run needs more than it may spend; `amount` is the limit, or what would have been needed where no caller sets one.

    `known` is how many matches there are at least, where that was counted.
    """

    def __init__(self, resource: Resource, amount: int, known: int | None = None) -> None:
        super().__init__(resource, amount)
        self.resource = resource
        self.amount = amount
        self.known = known


@dataclass
class Memory:
    """Bytes that a run may hold, and what its results take of them.

    >>> memory = Memory(1000)
    >>> memory.write(600, rows=3)
    >>> memory.fits(1), memory.fits(3)
    (True, False)
    >>> memory.allow(500)
    Traceback (most recent call last):
    eventide.match.budget.Spent: (<Resource.MEMORY: 6>, 1000)
    """

    limit: int
    written: int = 0
    rows: int = 0

    def begin(self) -> None:
        """Begin anew: what was written has left."""
        self.written = self.rows = 0

    def write(self, size: int, rows: int) -> None:
        """Count rows of the result that stay in memory."""
        self.written += size
        self.rows += rows
        self.allow(0)

    def allow(self, size: int) -> None:
        """Refuse to make an array of so many bytes where it does not fit beside the result."""
        if self.written + size > self.limit:
            raise Spent(Resource.MEMORY, self.limit)

    def allow_room(self, size: int) -> None:
        """Refuse room for the candidates of one end that takes a good part of all memory: there is no end of them."""
        if size > self.limit // SHARE_OF_CANDIDATES:
            raise Spent(Resource.ROOM, self.limit // SHARE_OF_CANDIDATES)
        self.allow(size)

    def fits(self, matches: int) -> bool:
        """Return whether so many further matches fit, given what those before took."""
        return self.rows == 0 or self.written + matches * self.written // self.rows <= self.limit


@record
class Budget:
    """What a run may spend: steps of one kernel call, and of all calls and matches together unless they are None."""

    slice_steps: int | None = None
    """None: `SLICE_STEPS`."""
    steps: int | None = None
    matches: int | None = None
    patience: int | None = None
    """Steps of one batch beside those that its events and its matches pay for."""
    matches_pay: bool = True
    """Whether a match is worth its steps: not where matches are only counted."""
    memory: Memory | None = None


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
    _of_batch: int = 0
    _begun: float = 0.0
    _allowed: int = 0
    _given: int = 0
    _left: npt.NDArray[np.int64] = field(default_factory=partial(np.array, [0], np.int64))

    def begin(self, events: int) -> None:
        """Begin a batch of events, each of which may cost some steps."""
        if self.budget.patience is not None:
            self._of_batch, self._allowed = 0, self.budget.patience + STEPS_OF_AN_EVENT * events
            self._begun = thread_time()

    def slice(self) -> npt.NDArray[np.int64]:
        """Return the steps of the next kernel call, which it counts down, and account for those of the call before."""
        used = self._given - max(0, int(self._left[0]))
        self._steps += used
        self._of_batch += used
        self._given = self.budget.slice_steps or SLICE_STEPS
        if self.budget.patience is not None and self._of_batch > self._allowed and self._is_over():
            raise Spent(Resource.STEPS, self._of_batch)
        if self.budget.steps is not None:
            if self._steps >= self.budget.steps:
                raise Spent(Resource.STEPS, self.budget.steps)
            self._given = min(self._given, self.budget.steps - self._steps)
        self._left[0] = self._given
        return self._left

    def _is_over(self) -> bool:
        return thread_time() - self._begun > SECONDS_OF_PATIENCE

    def take_matches(self, number: int) -> None:
        """Count matches."""
        self.matches += number
        if self.budget.matches_pay:
            self._allowed += STEPS_OF_A_MATCH * number
        self.allow_matches(self.matches)

    def allow_matches(self, number: int) -> None:
        """Refuse more matches than there may be in all."""
        if self.budget.matches is not None and number > self.budget.matches:
            raise Spent(Resource.MATCHES, self.budget.matches)

    def allow_candidates(self, number: int) -> None:
        """Refuse more matches to choose from than a capped run may hold."""
        if self.budget.matches is not None and number > max(MOST_CANDIDATES, self.budget.matches):
            raise Spent(Resource.CANDIDATES, max(MOST_CANDIDATES, self.budget.matches))

    def allow_bytes(self, size: int) -> None:
        """Refuse to make an array of so many bytes where memory is bounded and there is not as much left."""
        if self.budget.memory is not None:
            self.budget.memory.allow(size)

    def allow_room(self, size: int) -> None:
        """Refuse room for candidates that takes a good part of the memory."""
        if self.budget.memory is not None:
            self.budget.memory.allow_room(size)

    def expects(self, number: int) -> None:
        """Refuse matches that were counted and not yet found, where so many can never be written."""
        most, memory = self.budget.matches, self.budget.memory
        if most is not None and self.matches + number > most:
            raise Spent(Resource.MATCHES, most, self.matches + number)
        if number > MOST_OF_AN_END and self.budget.patience is not None:
            raise Spent(Resource.MATCHES, MOST_OF_AN_END, self.matches + number)
        if memory is not None and not memory.fits(number):
            raise Spent(Resource.MEMORY, memory.limit, self.matches + number)
