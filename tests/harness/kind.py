"""What a kind of pattern brings to the tests: a generator, an oracle and a shrinker. Everything else is shared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

Row = dict[str, Any]


class Expected(Protocol):
    """What the oracle says of a case."""

    errors: set[str]
    """Conditions of errors of which an engine must raise one; empty where there is an answer."""
    found: int
    """How much there is to find."""

    def disagreement(self, produced: Any) -> str | None:
        """Say how a result, an Arrow table, differs from what the oracle allows, or return None."""


class Case(Protocol):
    """A query and its events, and everything else that a run depends on; frozen, so that a run can be repeated.

    A case is made of `size` cases that do not depend on each other: the streams or tables of a `case_id` each.
    """

    rows: list[Row]
    """In the order of arrival."""
    cuts: tuple[int, ...]
    """Sizes of pieces, taken in turn, for ways that cut the input; empty: one piece."""
    seed: int
    """What a way draws begins with it."""
    size: int
    skipped: int
    """Streams or tables drawn beside these that were too much for the oracle."""

    @property
    def text(self) -> str:
        """The query, and how its events are given."""

    @property
    def label(self) -> str:
        """What a tally counts the case under."""

    @property
    def columns(self) -> list[str]:
        """The columns that a reader wants to see."""

    @property
    def expected(self) -> Expected:
        """What the oracle says; raises LimitError where that takes too long."""

    def ask(self, given: Callable[..., Any], **options: Any) -> Any:
        """Ask the public interface, with the input as `given` makes it from an Arrow table."""

    def carried_out(self, options: Any) -> Any:
        """Run the query embedded, below the public interface, with settings that are for tests."""


class Kind(Protocol):
    """A generator and a shrinker."""

    def draw(self, rng: Random) -> Iterator[Case]:
        """Yield the cases of one random query."""

    def simpler(self, case: Any) -> Iterator[Case]:
        """Yield cases that ask for less; some may be refused."""


@dataclass
class Tally:
    """How much was compared."""

    queries: int = 0
    cases: int = 0
    found: int = 0
    skipped: int = 0
    errors: int = 0
    """Cases on which both sides raised an error."""
    labels: Counter[str] = field(default_factory=Counter)
    ways: Counter[str] = field(default_factory=Counter)
    """How many cases each way has answered."""
    refused: Counter[str] = field(default_factory=Counter)
    """How many it had a reason not to."""
