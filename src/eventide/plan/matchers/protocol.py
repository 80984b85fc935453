"""What the registry knows of a matcher: what it takes, whether it can run a query, at what cost, and how it is made."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Protocol

from eventide.records import record

if TYPE_CHECKING:
    from eventide.match.budget import Budget
    from eventide.match.protocol import Matcher
    from eventide.plan.compiled import CompiledQuery
    from eventide.plan.labels.labelling import Labelling
    from eventide.plan.matchers.sample import Sample
    from eventide.plan.plan import Plan

DAG = "automaton"
"""The public name of the matcher that shares partial matches in a DAG."""
RUNS = "runs"
RECOMPUTE = "recompute"
DISORDER = "disorder"
ROW_PATTERN = "row pattern"


class Takes(Enum):
    """The order in which a matcher takes its input."""

    ORDERED = "events in order"
    ARRIVAL = "events as they arrive"
    PARTITIONS = "whole partitions of rows"


@record
class Cost:
    """What a matcher is expected to cost: microseconds for an event where a sample was seen, else a rank; and why."""

    work: float
    reason: str


@record
class Description:
    """What there is to say of a matcher that runs a plan; `conditions` says what it makes of each condition between events."""

    matcher: str
    reason: str
    conditions: tuple[str, ...] = ()


class RunSettings(Protocol):
    """What a run may set: what it may spend, and which slice of the matches to enumerate."""

    @property
    def budget(self) -> Budget:
        """What it may spend."""
        ...

    @property
    def slices(self) -> int:
        """Into how many slices the matches are cut."""
        ...

    @property
    def slice_index(self) -> int:
        """Which of them is found."""
        ...


class RowSettings(Protocol):
    """What a run of a row pattern may set: caps on matches, and on the steps of a search."""

    @property
    def max_matches(self) -> int | None:
        """The most matches that a run may find."""
        ...

    @property
    def steps(self) -> int:
        """The most steps that a batch of rows may take."""
        ...


class OrderedMatcher(Protocol):
    """A registered matcher of events in order."""

    name: str
    takes: Takes
    forward: bool
    """Whether a match grows from its first event on, so that conditions are judged as events arrive."""
    sliceable: bool
    """Whether it enumerates paths, which have the same numbers in all tasks."""
    instead: str
    """What a user who asked for it in vain can do."""

    def why_not(self, query: CompiledQuery) -> str | None:
        """Return why it cannot run a query, as users are told, or None where it can."""
        ...

    def cost(self, query: CompiledQuery, sample: Sample | None) -> Cost:
        """Return what a run is expected to cost; without a sample by the query alone."""
        ...

    def make(self, plan: Plan, settings: RunSettings, *, unjudged: bool = False) -> tuple[Matcher, Labelling]:
        """Return a running matcher and the labelling that explains its labels; `unjudged` leaves the conditions to others."""
        ...

    def explain(self, plan: Plan) -> Description:
        """Return what there is to say of it."""
        ...
