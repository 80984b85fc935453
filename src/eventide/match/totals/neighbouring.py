"""Vectors of all matches that end at each event, where conditions relate an event to the one before it, or to the first.

A partial match is remembered by its automaton state, the label of its last bound event (together a *memory*) and that event.
An event joins after a look at every event that partial matches end in: quadratic in the events of a window, once for each start
where a window or a condition on the first event tells starts apart. Which events may follow which is judged before, once a pair
and batch: the passes over the same events, and those over some of their keys, share the verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from eventide.compilation import inner_kernel, kernel
from eventide.match.budget import Account, Budget, Resource, Spent
from eventide.match.programs.programs import Programs, every_instance_holds, new_scratch
from eventide.match.totals.semiring import add, add_extended, clear, is_empty, make_one
from eventide.match.totals.sliding import NO_WINDOW
from eventide.match.windows import find_begins

if TYPE_CHECKING:
    from collections.abc import Callable

    from eventide.match.totals.exact import KeptEvents
    from eventide.match.totals.semiring import Weights
    from eventide.match.transitions import SymbolTable

FREE = -1
KEY, EVENT, MOVE, LATER = 0, 1, 2, 3
"""Where a pass over events is that goes on in the next call."""
MOST_PAIRS = 1 << 31
"""Bytes for judgements of pairs of events."""


class Judging(NamedTuple):
    """Sets of conditions that are judged on two events, or on one: `conditions[first[s]:first[s + 1]]` are those of set s."""

    first: npt.NDArray[np.int32]
    conditions: npt.NDArray[np.int32]
    pair: npt.NDArray[np.int32]
    """[earlier label, later label]: the set for neighbours, FREE for none; earlier label 0 is no bound event before."""
    start: npt.NDArray[np.int32]
    """[label of the first event, label]: the set for the first event of a match and another one."""
    end: npt.NDArray[np.int32]
    """[label]: the set for the last bound event of a whole match."""
    asked: npt.NDArray[np.int32]
    """[set, (earlier label, later label)]: the labels that the set is judged with."""


class Memories(NamedTuple):
    """The pairs of a state and the label of the last bound event; `number[state, label]` is -1 where they never meet."""

    number: npt.NDArray[np.int32]
    state: npt.NDArray[np.int32]
    label: npt.NDArray[np.int32]


class Verdicts(NamedTuple):
    """What is allowed: `allowed[set, offset[later event] + later - earlier]`; distance 0 is the event alone."""

    offset: npt.NDArray[np.int64]
    allowed: npt.NDArray[np.uint8]


@kernel
def judge_all(programs, judging, values, floats, valid, verdicts, place, steps):
    """Judge every set of conditions on all pairs of events that a window holds, from event place[EVENT] on."""
    rows = np.zeros(2, np.int64)
    labels = np.zeros(2, np.int64)
    scratch = new_scratch()
    while place[EVENT] < values.shape[1] and steps[0] > 0:
        event = place[EVENT]
        place[EVENT] += 1
        width = verdicts.offset[event + 1] - verdicts.offset[event]
        steps[0] -= (width + 1) * judging.asked.shape[0]
        for number in range(judging.asked.shape[0]):
            alone = judging.asked[number, 0] == 0
            for distance in range(1 if alone else width):
                if distance == 0 and not alone:
                    continue
                rows[0], rows[1] = event, event - distance
                labels[0], labels[1] = judging.asked[number, 1], judging.asked[number, 0]
                depth = np.int64(1 if alone else 2)
                holds = True
                for at in range(judging.first[number], judging.first[number + 1]):
                    condition = np.int64(judging.conditions[at])
                    if not every_instance_holds(programs, condition, rows, labels, depth, values, floats, valid, scratch):
                        holds = False
                        break
                verdicts.allowed[number, verdicts.offset[event] + distance] = holds


@inner_kernel
def may(verdicts, number, event, distance):
    """Return whether a set of conditions allows an event and the one so far before it."""
    return number == FREE or verdicts.allowed[number, verdicts.offset[event] + distance] == 1


@inner_kernel
def begin_move(tables, memories, judging, verdicts, move, symbol, event, held, at, ends, one, weights):
    """Begin a match at an event by a marked move, or (`move` -1) without binding it."""
    channels = weights.channels
    if move < 0:
        target = tables.unmarked[0, symbol]
        if target >= 0:
            add(held, at + memories.number[target, 0] * channels, one, 0, weights)
        if tables.unmarked_accepting[0, symbol]:
            add(ends, event * channels, one, 0, weights)
        return
    label = tables.label[move]
    if not may(verdicts, judging.pair[0, label], event, 0):
        return
    if tables.target[move] >= 0:
        add_extended(held, at + memories.number[tables.target[move], label] * channels, one, 0, event, label, weights)
    if tables.accepting[move] and may(verdicts, judging.end[label], event, 0):
        add_extended(ends, event * channels, one, 0, event, label, weights)


@inner_kernel
def advance(tables, memories, judging, verdicts, symbol, event, first, start_label, held, moved, ends, weights):
    """Take an event to all partial matches that begin at `first` or later and end before it."""
    channels = weights.channels
    count = memories.state.shape[0]
    width = count * channels
    fresh = (event - first) * width
    clear(held, fresh, fresh + width, weights)
    for earlier in range(first, event):
        clear(moved, 0, width, weights)
        alive = False
        for memory in range(count):
            at = (earlier - first) * width + memory * channels
            if is_empty(held, at, weights):
                continue
            alive = True
            state, last = memories.state[memory], memories.label[memory]
            begins = tables.first[state, symbol]
            for move in range(begins, begins + tables.moves[state, symbol]):
                label, target = tables.label[move], tables.target[move]
                # The first event of a match may have bound nothing that is remembered.
                before = event - earlier if last > 0 else 0
                if not may(verdicts, judging.pair[last, label], event, before):
                    continue
                if start_label > 0 and not may(verdicts, judging.start[start_label, label], event, event - first):
                    continue
                if target >= 0:
                    add_extended(held, fresh + memories.number[target, label] * channels, held, at, event, label, weights)
                if tables.accepting[move] and may(verdicts, judging.end[label], event, 0):
                    add_extended(ends, event * channels, held, at, event, label, weights)
            if tables.unmarked_accepting[state, symbol] and may(verdicts, judging.end[last], earlier, 0):
                add(ends, event * channels, held, at, weights)
            target = tables.unmarked[state, symbol]
            if target >= 0:
                add(moved, memories.number[target, last] * channels, held, at, weights)
        if alive:
            for place in range(width):
                held[(earlier - first) * width + place] = moved[place]


@inner_kernel
def sum_key(
    tables, memories, judging, verdicts, symbols, clocks, lows, offset, by_start, held, moved, ends, weights, place, steps
):
    """Write the vector of the matches that end at each event of one key, whose first event is number `offset`, to `ends`.

    Goes on from a place, and returns whether it has come to the end. `held` holds the partial matches: of all starts, or of one.
    """
    events = symbols.shape[0]
    count = memories.state.shape[0]
    width = count * weights.channels
    one = np.empty(weights.channels, np.int64)
    make_one(one, 0, weights)
    while place[EVENT] < events:
        if steps[0] <= 0:
            return False
        index = place[EVENT]
        symbol = symbols[index]
        begins = tables.first[0, symbol]
        start = offset + index
        if not by_start:
            steps[0] -= (index + 1) * width
            advance(tables, memories, judging, verdicts, symbol, start, offset, 0, held, moved, ends, weights)
        while place[MOVE] <= tables.moves[0, symbol]:
            marked = begins + place[MOVE] - 1 if place[MOVE] > 0 else np.int64(-1)
            later = place[LATER]
            if later == 0:
                at = np.int64(0) if by_start else index * width
                if by_start:
                    clear(held, 0, width, weights)
                begin_move(tables, memories, judging, verdicts, marked, symbol, start, held, at, ends, one, weights)
                later = events
                for memory in range(count if by_start else 0):
                    if not is_empty(held, memory * weights.channels, weights):
                        later = index + 1
            label = tables.label[marked] if marked >= 0 else 0
            while later < events and clocks[index] >= lows[later]:
                if steps[0] <= 0:
                    place[LATER] = later
                    return False
                steps[0] -= (later - index) * width
                advance(
                    tables, memories, judging, verdicts, symbols[later], offset + later, start, label, held, moved, ends, weights
                )
                later += 1
            place[LATER] = 0
            place[MOVE] += 1
        place[MOVE] = 0
        place[EVENT] += 1
        steps[0] -= 1
    return True


@kernel
def sum_keys(
    tables, memories, judging, verdicts, symbols, clocks, lows, offsets, by_start, held, moved, ends, weights, place, steps
):
    """Write the vectors of all keys from a place on; the events of key k are those from offsets[k] on."""
    if place[KEY] == 0 and place[EVENT] == 0 and place[MOVE] == 0 and place[LATER] == 0:
        clear(ends, 0, ends.shape[0], weights)
    while place[KEY] < offsets.shape[0] - 1:
        first, last = offsets[place[KEY]], offsets[place[KEY] + 1]
        if not sum_key(
            tables, memories, judging, verdicts, symbols[first:last], clocks[first:last], lows[first:last], first, by_start,
            held, moved, ends, weights, place, steps,
        ):  # fmt: skip
            return
        place[EVENT] = 0
        place[KEY] += 1


@dataclass
class Neighbouring:
    """Conditions relate neighbours: partial matches are told apart by their last event.

    `programs` and `judging` are asked when all labels are known; `by_first` says whether conditions read the first event.
    """

    programs: Callable[[], Programs]
    judging: Callable[[], Judging]
    by_first: bool
    _judged: WeakKeyDictionary[KeptEvents, Verdicts] = field(default_factory=WeakKeyDictionary)
    """What was judged of events that are still in use."""

    def run(self, symbols: SymbolTable, events: KeptEvents, weights: Weights, ends: npt.NDArray[np.int64]) -> None:
        """Write the vector of the matches that end at each event to `ends`."""
        memories, judging, verdicts = self.settled(symbols, events)
        by_start = self.by_first or bool((events.lows != NO_WINDOW).any())
        widths = _widths(events)
        held_events = int((widths if by_start else np.diff(events.offsets)).max(initial=0)) + 1
        width = len(memories.state) * weights.channels
        held, moved = np.empty(held_events * width, np.int64), np.empty(width, np.int64)
        place, account = np.zeros(4, np.int64), Account(Budget())
        while place[KEY] < len(events.offsets) - 1:
            sum_keys(
                symbols.tables, memories, judging, verdicts, events.symbols, events.clocks, events.lows, events.offsets, by_start,
                held, moved, ends, weights, place, account.slice(),
            )  # fmt: skip

    def settled(self, symbols: SymbolTable, events: KeptEvents) -> tuple[Memories, Judging, Verdicts]:
        """Return what tells partial matches of some events apart, and what may join them."""
        symbols.close()
        judging = self.judging()
        return _memories(symbols), judging, self._verdicts(judging, events)

    def _verdicts(self, judging: Judging, events: KeptEvents) -> Verdicts:
        if events.part_of is not None:
            whole, places = events.part_of
            verdicts = self._verdicts(judging, whole)
            # The events of a key stay together, so the distances of a part are those of the whole.
            return verdicts._replace(offset=verdicts.offset[places])
        known = self._judged.get(events)
        if known is None:
            known = self._judged[events] = self._judge(judging, events)
        return known

    def _judge(self, judging: Judging, events: KeptEvents) -> Verdicts:
        offset = np.concatenate([np.zeros(1, np.int64), np.cumsum(_widths(events))])
        if len(judging.asked) * int(offset[-1]) > MOST_PAIRS:
            raise Spent(Resource.PAIRS, int(offset[-1]))
        allowed = np.zeros((len(judging.asked), int(offset[-1])), np.uint8)
        verdicts = Verdicts(offset, allowed)
        values = np.ascontiguousarray(events.values)
        valid = np.ascontiguousarray(events.valid)
        programs, place, account = self.programs(), np.zeros(4, np.int64), Account(Budget())
        while place[EVENT] < values.shape[1]:
            judge_all(programs, judging, values, values.view(np.float64), valid, verdicts, place, account.slice())
        return verdicts


def _widths(events: KeptEvents) -> npt.NDArray[np.int64]:
    """Return how many events, itself included, the window of each event holds."""
    key = np.repeat(np.arange(len(events.offsets) - 1), np.diff(events.offsets))
    begin = np.empty(len(events.row), np.int32)
    find_begins(key, events.clocks, events.lows, begin)
    widths: npt.NDArray[np.int64] = np.maximum(np.arange(len(begin)) - begin, 0) + 1
    return widths


def _memories(symbols: SymbolTable) -> Memories:
    """Return the states with the labels that can be the last ones there."""
    tables = symbols.tables
    states, count = symbols.close(), symbols.symbol_count()
    labels = int(tables.label.max(initial=0)) + 1
    number = np.full((states, labels), -1, np.int32)
    found: list[tuple[int, int]] = []
    pending: list[tuple[int, int]] = []

    def reach(state: int, label: int) -> None:
        if state >= 0 and number[state, label] < 0:
            number[state, label] = len(found)
            found.append((state, label))
            pending.append((state, label))

    def expand(state: int, label: int) -> None:
        for symbol in range(count):
            reach(int(tables.unmarked[state, symbol]), label)
            first = int(tables.first[state, symbol])
            for move in range(first, first + int(tables.moves[state, symbol])):
                reach(int(tables.target[move]), int(tables.label[move]))

    expand(0, 0)
    while pending:
        expand(*pending.pop())
    pairs = np.array(found, np.int32).reshape(-1, 2)
    return Memories(number, np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]))
