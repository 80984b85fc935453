"""Trellises where conditions relate neighbours: a node is an event that has just joined, with the memory that it leaves.

What becomes of partial matches while events pass that bind nothing is not stored: each state goes to one other at most, so the
steps to an event are found by going back over the events before it. A trellis is then linear in the events of a window, and
its steps cost as much as one of its events. Where conditions read the first event of a match, every start has its own trellis.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import inner_kernel, kernel
from eventide.match.budget import Account, Budget
from eventide.match.totals.counting import PRIME_BITS, SAFE_BITS, primes
from eventide.match.totals.exact import Remainders
from eventide.match.totals.neighbouring import advance, begin_move, may
from eventide.match.totals.semiring import NO_MATCH, NOTHING, ROUGH, clear, is_empty, make_one
from eventide.match.totals.trellis import BEGIN, Span, Steps, window_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from eventide.match.totals.exact import KeptEvents
    from eventide.match.totals.neighbouring import Neighbouring
    from eventide.match.totals.semiring import Weights
    from eventide.match.transitions import SymbolTable

    Integers = npt.NDArray[np.int64]
    Run = Callable[[Weights], Integers]

EVERY_START = -2
"""In place of the move by which matches begin: any, at any event."""
UNBOUND = -1
"""Matches begin without binding their first event."""
WHOLE = -1
"""In place of a memory: the matches that end at an event."""
MOST_STARTS = 64
"""Starts of an end whose trellises are held at once."""
MOST_TOTALS = 1 << 20
"""Totals of pairs of a start and an end that are held at once."""


@kernel
def unfold(
    tables, memories, judging, verdicts, symbols, first, last, move, held, moved, ends, rows, weights, event, steps
):
    """Write the partial matches that each of the events first..last has just joined or begun to `rows`.

    With EVERY_START they begin at any of the events, else at the first by the move. It begins at `event`, and returns the one
    to go on with.
    """
    width = memories.state.shape[0] * weights.channels
    one = np.empty(weights.channels, np.int64)
    make_one(one, 0, weights)
    if event == first:
        clear(rows, 0, (last - first) * width, weights)
        clear(ends, first * weights.channels, last * weights.channels, weights)
    start_label = np.int64(0)
    if move >= 0:
        start_label = np.int64(tables.label[move])
    while event < last and steps[0] > 0:
        symbol = symbols[event]
        at = (event - first) * width
        steps[0] -= at + 1
        advance(tables, memories, judging, verdicts, symbol, event, first, start_label, held, moved, ends, weights)
        if move == EVERY_START:
            begins = tables.first[0, symbol]
            for begun in range(begins - 1, begins + tables.moves[0, symbol]):
                marked = begun if begun >= begins else UNBOUND
                begin_move(tables, memories, judging, verdicts, marked, symbol, event, held, at, ends, one, weights)
        elif event == first:
            begin_move(tables, memories, judging, verdicts, move, symbol, event, held, at, ends, one, weights)
            alive = False
            for memory in range(memories.state.shape[0]):
                alive = alive or not is_empty(held, memory * weights.channels, weights)
            if not alive:
                return last
        for place in range(at, at + width):
            rows[place] = held[place]
        event += 1
    return event


@kernel
def sum_starts(
    tables, memories, judging, verdicts, symbols, starts, moves, reach, asked, begun, offsets, held, moved, ends, rows, totals,
    weights, place, steps,
):  # fmt: skip
    """Write what the matches from each start by its move bring to each of the asked ends that it reaches.

    The totals of asked end j lie from offsets[j] on, one for each beginning from number begun[j] on. It goes on from `place`: the
    number of a start, and (unless it is -1) the event that its matches have come to.
    """
    low = 0
    while place[0] < starts.shape[0] and steps[0] > 0:
        number = place[0]
        start = starts[number]
        if reach[number] < start:
            place[0] += 1
            continue
        last = reach[number] + 1
        event = place[1] if place[1] >= 0 else start
        event = unfold(
            tables, memories, judging, verdicts, symbols, start, last, moves[number], held, moved, ends, rows, weights, event,
            steps,
        )  # fmt: skip
        if event < last:
            place[1] = event
            return
        place[0] += 1
        place[1] = -1
        while asked[low] < start:
            low += 1
        at = low
        while at < asked.shape[0] and asked[at] < last:
            totals[offsets[at] + number - begun[at]] = ends[asked[at]]
            at += 1


@inner_kernel
def begins_at(tables, memories, judging, verdicts, symbol, event, target, move, labels):
    """Find the moves that begin a match at an event and leave a memory (or complete it); returns how many."""
    found = 0
    any_move = move == EVERY_START
    begins = tables.first[0, symbol]
    for begun in range(begins - 1, begins + tables.moves[0, symbol]):
        marked = begun if begun >= begins else UNBOUND
        if not any_move and move != marked:
            continue
        label, state = np.int64(0), tables.unmarked[0, symbol]
        accepting = tables.unmarked_accepting[0, symbol]
        if marked >= 0:
            label, state = np.int64(tables.label[marked]), tables.target[marked]
            accepting = tables.accepting[marked]
            if not may(verdicts, judging.pair[0, label], event, 0):
                continue
        if target == WHOLE:
            reached = accepting == 1 and may(verdicts, judging.end[label], event, 0)
        else:
            reached = state >= 0 and memories.number[state, label] == target
        if reached:
            labels[found] = label
            found += 1
    return found


@kernel
def steps_into(tables, memories, judging, verdicts, symbols, first, event, target, move, alive, carried, nodes, labels):
    """Find all steps by an event that leave the memory `target`, or complete matches; returns how many.

    `alive[node]` says where there are partial matches; `carried` is work space for a state each, twice.
    """
    symbol = symbols[event]
    found = 0
    if move == EVERY_START or event == first:
        found = begins_at(tables, memories, judging, verdicts, symbol, event, target, move, labels)
        for number in range(found):
            nodes[number] = BEGIN
    start_label = np.int64(0)
    if move >= 0:
        start_label = np.int64(tables.label[move])
    count = memories.state.shape[0]
    states = carried.shape[1]
    for state in range(states):
        carried[0, state] = state
    for earlier in range(event - 1, first - 1, -1):
        for memory in range(count):
            node = (earlier - first) * (count + 1) + memory
            state = carried[0, memories.state[memory]]
            if alive[node] == 0 or state < 0:
                continue
            last = memories.label[memory]
            begins = tables.first[state, symbol]
            for taken in range(begins, begins + tables.moves[state, symbol]):
                label = tables.label[taken]
                if target == WHOLE:
                    reached = tables.accepting[taken] == 1 and may(verdicts, judging.end[label], event, 0)
                else:
                    reached = tables.target[taken] >= 0 and memories.number[tables.target[taken], label] == target
                # As when the event joined.
                before = event - earlier if last > 0 else 0
                if not reached or not may(verdicts, judging.pair[last, label], event, before):
                    continue
                if start_label == 0 or may(verdicts, judging.start[start_label, label], event, event - first):
                    nodes[found], labels[found] = node, label
                    found += 1
            if target == WHOLE and tables.unmarked_accepting[state, symbol] and may(verdicts, judging.end[last], earlier, 0):
                nodes[found], labels[found] = node, 0
                found += 1
        # What a state before this event has become behind it.
        some = False
        for state in range(states):
            passed = tables.unmarked[state, symbols[earlier]]
            carried[1, state] = carried[0, passed] if passed >= 0 else -1
            some = some or carried[1, state] >= 0
        if not some:
            break
        for state in range(states):
            carried[0, state] = carried[1, state]
    return found


class Known(NamedTuple):
    """What is known of sets of partial matches: the amounts, and which sets are not empty."""

    amounts: npt.NDArray[Any]
    alive: npt.NDArray[np.bool_]


class NeighbourTrellis:
    """Nodes are numbered by event, then by memory; the one behind the last memory stands for the matches that end there."""

    def __init__(self, paths: NeighbourPaths, first: int, move: int, known: Known, one: Any) -> None:
        self._paths = paths
        self._first = first
        self._move = move
        memories = paths.memory_count
        events = len(known.amounts) // memories if memories else 0
        nodes = (events, memories + 1)
        alive = np.zeros(nodes, np.uint8)
        alive[:, :memories] = known.alive.reshape(events, memories)
        self._alive = alive.reshape(-1)
        # Behind all nodes, which BEGIN as an index names too.
        self._amounts = np.zeros(self._alive.size + 1, known.amounts.dtype)
        self._amounts[:-1].reshape(nodes)[:, :memories] = known.amounts.reshape(events, memories)
        self._amounts[BEGIN] = one

    def ending(self, end: int) -> int:
        """Return the node of the matches that end at an event."""
        return (end - self._first + 1) * (self._paths.memory_count + 1) - 1

    def event(self, node: int) -> int:
        """Return the event that the steps to a node take."""
        return self._first + node // (self._paths.memory_count + 1)

    def steps(self, node: int) -> Steps:
        """Return the steps that lead to a node."""
        memories = self._paths.memory_count
        memory = node % (memories + 1)
        target = memory if memory < memories else WHOLE
        nodes, labels = self._paths.steps_into(self._first, self.event(node), target, self._move, self._alive)
        return Steps(nodes.tolist(), labels.tolist(), self._amounts[nodes].tolist())


class StartTrellis:
    """The matches of one end by how they begin; node 0 stands for all of them, the nodes of each beginning follow."""

    def __init__(
        self, end: int, starts: Integers, known: Known, width: int, unfolded: Callable[[int], NeighbourTrellis]
    ) -> None:
        self._end = end
        self._starts = starts
        self._known = known
        self._width = width
        self._size = (end - int(starts[0]) + 1) * width
        self._unfolded = unfolded
        self._held: dict[int, NeighbourTrellis] = {}

    def ending(self, end: int) -> int:  # noqa: ARG002 - it has one end
        """Return the node of the matches that end at an event."""
        return 0

    def event(self, node: int) -> int:
        """Return the event that the steps to a node take."""
        return int(self._starts[node // self._size - 1]) + node % self._size // self._width if node >= self._size else self._end

    def steps(self, node: int) -> Steps:
        """Return the steps that lead to a node."""
        if node == 0:
            alive = np.flatnonzero(self._known.alive)
            whole = (alive + 1) * self._size + (self._end - self._starts[alive] + 1) * self._width - 1
            return Steps(whole.tolist(), [0] * len(whole), self._known.amounts[alive].tolist())
        number, inside = divmod(node, self._size)
        steps = self._start(number - 1).steps(inside)
        before = number * self._size
        return steps._replace(nodes=[origin if origin == BEGIN else before + origin for origin in steps.nodes])

    def _start(self, number: int) -> NeighbourTrellis:
        known = self._held.get(number)
        if known is None:
            if len(self._held) >= MOST_STARTS:
                del self._held[next(iter(self._held))]
            known = self._held[number] = self._unfolded(number)
        return known


class Beginnings(NamedTuple):
    """All ways in which matches of some ends can begin, by event and move, and what is known of those to each end."""

    ends: Integers
    starts: Integers
    moves: Integers
    begun: Integers
    """[end]: the first beginning inside its window."""
    offsets: Integers
    """[end]: where what is known of its beginnings stands, one after the other."""
    known: Known


class NeighbourPaths:
    """Makes trellises of events that have just joined."""

    def __init__(self, propagation: Neighbouring, symbols: SymbolTable, kept: KeptEvents) -> None:
        self._memories, self._judging, self._verdicts = propagation.settled(symbols, kept)
        self._by_first = propagation.by_first
        self._tables = symbols.tables
        self._kept = kept
        self.memory_count = len(self._memories.state)
        self._most_moves = int(self._tables.moves.max(initial=0))
        self._carried = np.zeros((2, symbols.close()), np.int64)
        self._moved = np.empty(self.memory_count, np.int64)
        self._ends = np.empty(len(kept.row), np.int64)
        self._nodes = np.empty(0, np.int64)
        self._labels = np.empty(0, np.int64)
        self._beginnings: dict[int, Beginnings] = {}
        self._account = Account(Budget())

    def expect(self, ends: Integers) -> None:
        """Say from which ends walks will begin: one run from a start then tells what it brings to many of them."""
        self._expected = np.unique(ends)
        self._beginnings = {}
        if self._by_first:
            self._firsts = np.array([self.span(end).first for end in self._expected.tolist()], np.int64)
            self._part = np.cumsum(self._expected - self._firsts + 1) // MOST_TOTALS

    def span(self, end: int) -> Span:
        """Return the events of the trellis that an end belongs to."""
        return window_of(self._kept, end, shared=not self._by_first)

    def counts(self, span: Span) -> NeighbourTrellis | StartTrellis:
        """Return how many partial matches there are, exactly."""
        # Every event multiplies partial matches by its moves at most, and begins as many.
        bits = (span.last - span.first + 2) * math.log2(self._most_moves + 1) + 2
        return self._trellis(span, lambda run: _counted(run, bits), 1)

    def weights(self, span: Span, weights: Weights) -> NeighbourTrellis | StartTrellis:
        """Return the weights of the best partial matches."""
        return self._trellis(span, lambda run: _weighed(run(weights)), 0.0)

    def steps_into(
        self, first: int, event: int, target: int, move: int, alive: npt.NDArray[np.uint8]
    ) -> tuple[Integers, Integers]:
        """Return the nodes and labels of all steps by an event that leave a memory, or complete matches."""
        most = (self._most_moves + 1) * ((event - first) * self.memory_count + 1)
        if len(self._nodes) < most:
            self._nodes, self._labels = np.empty(2 * most, np.int64), np.empty(2 * most, np.int64)
        found = steps_into(
            self._tables, self._memories, self._judging, self._verdicts, self._kept.symbols, first, event, target, move, alive,
            self._carried, self._nodes, self._labels,
        )  # fmt: skip
        return self._nodes[:found], self._labels[:found]

    def _trellis(self, span: Span, measured: Callable[[Run], Known], one: Any) -> NeighbourTrellis | StartTrellis:
        def unfolded(first: int, move: int) -> NeighbourTrellis:
            known = measured(lambda weights: self._unfolded(first, span.last, move, weights))
            return NeighbourTrellis(self, first, move, known, one)

        if not self._by_first:
            return unfolded(span.first, EVERY_START)
        beginnings = self._beginnings_of(span.last, measured)
        place = int(np.searchsorted(beginnings.ends, span.last))
        inside = slice(int(beginnings.offsets[place]), int(beginnings.offsets[place + 1]))
        begun = int(beginnings.begun[place])
        starts, moves = (column[begun : begun + inside.stop - inside.start] for column in (beginnings.starts, beginnings.moves))
        return StartTrellis(
            span.last,
            starts,
            Known(*(column[inside] for column in beginnings.known)),
            self.memory_count + 1,
            lambda number: unfolded(int(starts[number]), int(moves[number])),
        )

    def _beginnings_of(self, end: int, measured: Callable[[Run], Known]) -> Beginnings:
        """Return what is known of the beginnings of an end, and of those that are expected with it."""
        part = int(self._part[np.searchsorted(self._expected, end)])
        known = self._beginnings.get(part)
        if known is None:
            taken = self._part == part
            known = self._summed(self._expected[taken], self._firsts[taken], measured)
            self._beginnings = {part: known}
        return known

    def _summed(self, ends: Integers, firsts: Integers, measured: Callable[[Run], Known]) -> Beginnings:
        low = int(firsts[0])
        symbols = self._kept.symbols[low : int(ends[-1]) + 1]
        counts = self._tables.moves[0, symbols].astype(np.int64) + 1
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        number = np.arange(before[-1]) - np.repeat(before[:-1], counts)
        moves = np.where(number == 0, UNBOUND, np.repeat(self._tables.first[0, symbols], counts) + number - 1).astype(np.int64)
        begun = before[firsts - low]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(before[ends + 1 - low] - begun)])
        reach = np.full(len(symbols), -1, np.int64)
        for first, end in zip((firsts - low).tolist(), ends.tolist(), strict=True):
            reach[first : end + 1 - low] = end
        starts = np.repeat(np.arange(low, low + len(symbols)), counts)
        known = measured(lambda weights: self._totals(starts, moves, np.repeat(reach, counts), ends, begun, offsets, weights))
        return Beginnings(ends, starts, moves, begun, offsets, known)

    def _unfolded(self, first: int, last: int, move: int, weights: Weights) -> Integers:
        rows = np.empty((last - first) * self.memory_count, np.int64)
        held = np.empty_like(rows)
        # What is counted beside the rows may wrap around; nobody reads it.
        with np.errstate(over="ignore"):
            event = first
            while event < last:
                event = unfold(
                    self._tables, self._memories, self._judging, self._verdicts, self._kept.symbols, first, last, move, held,
                    self._moved, self._ends, rows, weights, event, self._account.slice(),
                )  # fmt: skip
        return rows

    def _totals(
        self,
        starts: Integers,
        moves: Integers,
        reach: Integers,
        ends: Integers,
        begun: Integers,
        offsets: Integers,
        weights: Weights,
    ) -> Integers:
        rows = np.empty(int((reach - starts + 1).max(initial=0)) * self.memory_count, np.int64)
        held, totals = np.empty_like(rows), np.empty(int(offsets[-1]), np.int64)
        with np.errstate(over="ignore"):
            place = np.array([0, -1], np.int64)
            while place[0] < len(starts):
                sum_starts(
                    self._tables, self._memories, self._judging, self._verdicts, self._kept.symbols, starts, moves, reach, ends,
                    begun, offsets, held, self._moved, self._ends, rows, totals, weights, place, self._account.slice(),
                )  # fmt: skip
        return totals


def _counted(run: Run, most_bits: float) -> Known:
    """Count exactly: a run with doubles tells whether 64 bits suffice, or else how many primes."""
    rough = run(NOTHING._replace(kind=ROUGH)).view(np.float64)
    if float(rough.max(initial=0.0)) < 2.0**SAFE_BITS:
        counts = run(NOTHING)
        return Known(counts, counts != 0)
    with np.errstate(divide="ignore"):
        bits = np.where(np.isfinite(rough), np.log2(rough) + 2, most_bits)
    needed = np.ceil(np.maximum(bits, 1) / (PRIME_BITS - 1)).astype(np.int64) + 1
    moduli = primes(int(needed.max()))
    known = Remainders(moduli)
    rows = np.stack([run(NOTHING._replace(modulus=prime)) for prime in moduli], axis=1).tolist()
    exact = np.zeros(len(rows), object)
    for place in np.flatnonzero(rough).tolist():
        exact[place] = known.number(rows[place][: needed[place]])
    return Known(exact, rough > 0)


def _weighed(rows: Integers) -> Known:
    return Known(rows.view(np.float64), rows != NO_MATCH)
