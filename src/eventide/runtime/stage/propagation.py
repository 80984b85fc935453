"""What goes over whole keys without listing their matches: counters of paths, and aggregators that propagate totals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eventide.match.totals.counting import MatchCounter
from eventide.match.totals.exact import Aggregator, EventColumns, Sliding
from eventide.match.totals.neighbouring import FREE, Judging, Neighbouring
from eventide.plan.totals.methods import Growth
from eventide.plan.totals.neighbours import Near
from eventide.records import record
from eventide.runtime.relational.arrays import arrow_array
from eventide.runtime.relational.functions import take
from eventide.runtime.stage.keys import KeySpans

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt
    import pyarrow as pa

    from eventide.match.protocol import EventBatch
    from eventide.plan.labels.labelling import Labelling
    from eventide.plan.plan import Plan
    from eventide.plan.totals.methods import TotalsMethod
    from eventide.plan.totals.neighbours import JudgedCondition

    Integers = npt.NDArray[np.int64]


@record
class WholeKeys:
    """All events of some keys, and what tells totals of their matches; those of key k are offsets[k] to offsets[k + 1]."""

    masks: Integers
    clocks: Integers
    lows: Integers
    offsets: Integers
    values: Integers
    valid: npt.NDArray[np.uint8]
    aggregator: Aggregator
    rows: Integers | None = None
    """Their rows, where the payload holds others as well or in another order."""
    ends: npt.NDArray[np.bool_] | None = None
    """The events that matches must end at to count, where not all do."""

    def table(self, payload: pa.Table) -> pa.Table:
        """Return the payload of these events in their order."""
        return payload if self.rows is None else take(payload, arrow_array(self.rows))

    def events(self, group: Integers, groups: int) -> EventColumns:
        """Return the events as aggregators take them, with the group of matches that end there."""
        return EventColumns(self.masks, self.clocks, self.lows, self.offsets, group, groups, self.values, self.valid)


@record
class KeyCounts:
    """How many matches each key has; the events of key k begin at the row begins[k]."""

    begins: Integers
    matches: list[int]


class PathCounter:
    """Counts the paths through the automaton: the matches, where no condition relates events."""

    def __init__(self, plan: Plan) -> None:
        self._counter = MatchCounter(plan.automaton(), max(1, len(plan.predicates)))

    def advance(self, batch: EventBatch) -> Iterator[KeyCounts]:
        """Yield the counts of whole keys."""
        offsets = offsets_of(batch)
        yield KeyCounts(offsets[:-1], self._counter.count(batch.mask, batch.clock, batch.window_start, offsets))


class Propagation:
    """Hands whole keys to the collector, together with the aggregator that it asks for totals of its own."""

    def __init__(self, aggregator: Aggregator) -> None:
        self._aggregator = aggregator

    def advance(self, batch: EventBatch) -> Iterator[WholeKeys]:
        """Yield whole keys."""
        assert batch.values is not None and batch.valid is not None
        yield WholeKeys(
            batch.mask, batch.clock, batch.window_start, offsets_of(batch), batch.values, batch.valid, self._aggregator
        )


def offsets_of(batch: EventBatch) -> Integers:
    """Return the borders of the keys of a batch in which every key is complete."""
    return KeySpans(len(batch), restart=batch.restart).offsets()


def make_aggregator(plan: Plan) -> tuple[Aggregator, Labelling]:
    """Return the aggregator of a plan, and the labelling that explains its labels."""
    automaton = plan.automaton()
    labelling = plan.labelling(automaton)
    method = plan.totals_method
    if method.growth is Growth.LINEAR:
        return Aggregator(automaton, max(1, len(plan.predicates)), Sliding()), labelling
    by_first = any(judged.near is Near.START for judged in method.judged)
    propagation = Neighbouring(labelling.programs, lambda: judging_of(method, labelling), by_first)
    return Aggregator(automaton, max(1, len(plan.predicates)), propagation), labelling


def judging_of(method: TotalsMethod, labelling: Labelling) -> Judging:
    """Lay out by labels which conditions are judged when."""
    labels = [frozenset(label.variables) for label in labelling.automaton.labels]
    # The version of a condition that is judged on whole matches stands behind those for events that join.
    judged = [(number + len(method.judged), near) for number, near in enumerate(method.judged)]
    asked: list[tuple[int, int]] = []
    groups: list[list[int]] = []

    def number(earlier: int, later: int, conditions: list[int]) -> int:
        if not conditions:
            return FREE
        asked.append((earlier, later))
        groups.append(conditions)
        return len(groups) - 1

    pair = np.full((len(labels), len(labels)), FREE, np.int32)
    start = np.full((len(labels), len(labels)), FREE, np.int32)
    end = np.full(len(labels), FREE, np.int32)
    for later, variables in enumerate(labels):
        last = [condition for condition, near in judged if near.near is Near.AFTER and near.first in variables]
        end[later] = number(0, later, last)
        for earlier, before in enumerate(labels):
            pair[earlier, later] = number(earlier, later, [c for c, near in judged if _at_pair(near, before, variables)])
            first = [c for c, near in judged if near.near is Near.START and near.first in before and near.last in variables]
            start[earlier, later] = number(earlier, later, first)
    places = np.array(asked, np.int32).reshape(-1, 2)
    return Judging(*_listed(groups), pair, start, end, places)


def _at_pair(judged: JudgedCondition, earlier: frozenset[str], later: frozenset[str]) -> bool:
    match judged.near:
        case Near.BETWEEN:
            # One event may take both variables and be an instance by itself.
            return {judged.first, judged.last} <= earlier | later and bool({judged.first, judged.last} & later)
        case Near.BEFORE:
            return judged.last in later
        case Near.AFTER:
            return judged.first in earlier
        case Near.START:
            return False


def _listed(groups: list[list[int]]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    lengths = np.array([len(group) for group in groups], np.int32)
    first = np.concatenate([np.zeros(1, np.int32), np.cumsum(lengths, dtype=np.int32)]).astype(np.int32)
    return first, np.array([condition for group in groups for condition in group], np.int32)
