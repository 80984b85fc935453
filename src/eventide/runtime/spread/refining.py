"""Matches found in one task and judged in others (DCERE, Abella 2022, 4.2).

One task evaluates the unary part of the query and hands what it finds to workers, in batches of row numbers. Each worker is sent
the events once, judges the conditions between them on its share, and fills the slots of what is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.errors import LimitError
from eventide.match.budget import Account, Budget
from eventide.match.dag.enumeration import MatchBatch
from eventide.match.dag.matching.matcher import DagMatcher
from eventide.match.spread.assignment import Assigner, shares
from eventide.match.spread.maximal import (
    Maximal,
    configuration_count,
    cut_by_configuration,
    hand_out,
    maximal_matches,
)
from eventide.match.spread.refining import refined
from eventide.match.spread.tries import Parts
from eventide.match.state_bytes import pack_arrays, unpack_arrays
from eventide.match.transitions import SymbolTable
from eventide.plan.matchers.registry import make_matcher
from eventide.plan.matchers.slices import chain_steps
from eventide.runtime.budget.limits import StageLimits
from eventide.runtime.collect.matches import MatchRows
from eventide.runtime.spread.distribution import MAXIMAL
from eventide.runtime.spread.packing import gathered, pack_events, unpack_events
from eventide.runtime.stage.assembly import encoded_table, table_keys
from eventide.runtime.stage.encoding import EventEncoder
from eventide.runtime.stage.failures import errors_of_sequences
from eventide.runtime.stage.gathering import CHUNK_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eventide.match.protocol import EventBatch
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout

    Batches = Iterator[pa.RecordBatch]

WORKER = "__et_worker"
SEED = 17
MOST_MAXIMAL = 1 << 20
MOST_CONFIGURATIONS = 1 << 16
SENT = pa.schema([(WORKER, pa.int32()), ("number", pa.int32()), ("events", pa.binary()), ("found", pa.binary())])


def finding(plan: Plan, layout: Layout, strategy: str, workers: int) -> Callable[[Batches], Batches]:
    """Return the task that finds candidates and hands them out, together with the events."""

    def run(batches: Batches) -> Batches:
        table = gathered(batches)
        if table is None:
            return
        numbers = [0] * workers

        def sent(worker: int, *, events: bytes | None = None, found: bytes | None = None) -> pa.RecordBatch:
            columns = [pa.array([worker], pa.int32()), pa.array([numbers[worker]], pa.int32())]
            numbers[worker] += 1
            columns += [pa.array([events], pa.binary()), pa.array([found], pa.binary())]
            return pa.RecordBatch.from_arrays(columns, SENT.names)

        for pack in pack_events(table):
            for worker in range(workers):
                yield sent(worker, events=pack)
        handed = maximal_shares if strategy == MAXIMAL else match_shares
        with errors_of_sequences(plan):
            for worker, arrays in handed(plan, layout, table, strategy, workers):
                yield sent(worker, found=pack_arrays(arrays))

    return run


def match_shares(
    plan: Plan, layout: Layout, table: pa.Table, strategy: str, workers: int
) -> Iterator[tuple[int, dict[str, npt.NDArray[Any]]]]:
    """Find the matches of the unary part and yield each worker's shares of them, by row numbers of the table."""
    keys = table_keys(plan, layout)
    encoder = EventEncoder(plan, layout, keys)
    matcher, _ = make_matcher(plan, StageLimits().begun(), unjudged=True)
    assert isinstance(matcher, DagMatcher)
    assigner = Assigner(strategy, workers, SEED)
    held = np.empty(0, np.int32)

    def handed(found: MatchBatch, rows: npt.NDArray[np.int32]) -> Iterator[tuple[int, dict[str, npt.NDArray[Any]]]]:
        history = matcher.history()
        named = found._replace(start=rows[found.start], end=rows[found.end], row=rows[found.row])
        for worker, share in shares(named, assigner.assign(named), workers):
            yield worker, {"history": history, **share._asdict()}

    for begin in range(0, table.num_rows, CHUNK_ROWS):
        piece = table.slice(begin, CHUNK_ROWS)
        rows = np.concatenate([held, np.arange(begin, begin + piece.num_rows, dtype=np.int32)])
        for found in matcher.advance(encoder.encode(piece, keys.spans(piece))):
            yield from handed(found, rows)
        held = rows[matcher.keep()]
    for found in matcher.finish():
        yield from handed(found, held)


def maximal_shares(
    plan: Plan, layout: Layout, table: pa.Table, strategy: str, workers: int  # noqa: ARG001 - the face of match_shares
) -> Iterator[tuple[int, dict[str, npt.NDArray[Any]]]]:
    """Find the maximal matches and yield who makes which of their parts: a configuration, and the matches that have it."""
    found, labels, history = maximal_of(plan, encoded_table(plan, layout, table))
    if configuration_count(found) > MOST_CONFIGURATIONS:
        raise _too_many(f"their parts have more than {MOST_CONFIGURATIONS:,} different sizes")
    work = cut_by_configuration(found)
    for share, worker in zip(work, hand_out(work, workers), strict=True):
        lengths = np.diff(found.offset)[share.matches]
        offset = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        positions = np.repeat(found.offset[:-1][share.matches] - offset[:-1], lengths) + np.arange(offset[-1])
        yield (
            worker,
            {
                "history": history,
                "offset": offset,
                "row": found.row[positions],
                "size": found.size[share.matches],
                "configuration": np.array(share.configuration, np.int32),
                "label": labels,
            },
        )


def maximal_of(plan: Plan, batch: EventBatch) -> tuple[Maximal, npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Return the maximal matches, the label of each step, and how the labels got their numbers."""
    steps = chain_steps(plan.root)
    assert steps is not None and batch.restart is not None
    step_of = np.full(len(batch), -1, np.int8)
    for number, (occurrence, _) in enumerate(steps):
        step_of[batch.mask >> plan.bound.occurrences[occurrence].bit & 1 == 1] = number
    repeats = np.array([repeated for _, repeated in steps], np.uint8)
    found = maximal_matches(step_of, batch.restart, repeats, batch.clock, batch.window_start, MOST_MAXIMAL)
    if found is None:
        raise _too_many(f"there are more than {MOST_MAXIMAL:,} of them")
    automaton = plan.automaton()
    symbols = SymbolTable(automaton, max(1, len(plan.predicates)))
    symbols.symbols(batch.mask)
    symbols.close()
    known = [label.variables for label in automaton.labels]
    wanted = plan.occurrence_labels
    # A step whose label was never met has no events, and then there is no match.
    labels = [known.index(wanted[occurrence]) if wanted[occurrence] in known else 0 for occurrence, _ in steps]
    return found, np.array(labels, np.int32), symbols.history()


def _too_many(reason: str) -> LimitError:
    return LimitError(
        "TOO_MANY_MAXIMAL", f"Maximal matches do not cut this work: {reason}.", hint='Use distribution="slices".'
    )


def judging(plan: Plan, layout: Layout, max_matches: int | None) -> Callable[[Batches], Batches]:
    """Return the tasks that judge their shares of the candidates."""

    def run(batches: Batches) -> Batches:
        packs: list[bytes] = []
        worker: Worker | None = None
        for batch in batches:
            for pack, found in zip(batch["events"].to_pylist(), batch["found"].to_pylist(), strict=True):
                if pack is not None:
                    packs.append(pack)
                    continue
                if worker is None:
                    worker = Worker(plan, layout, pa.Table.from_batches(unpack_events(packs)).combine_chunks(), max_matches)
                    packs = []
                with errors_of_sequences(plan):
                    yield from worker.judged(unpack_arrays(found))

    return run


class Worker:
    """Judges shares of matches over events that it holds."""

    def __init__(self, plan: Plan, layout: Layout, table: pa.Table, max_matches: int | None = None) -> None:
        batch = encoded_table(plan, layout, table)
        assert batch.values is not None and batch.valid is not None
        self._table = table
        self._values, self._valid = np.ascontiguousarray(batch.values), np.ascontiguousarray(batch.valid)
        self._labelling = plan.labelling(plan.automaton())
        self._symbols = SymbolTable(self._labelling.automaton, max(1, len(plan.predicates)))
        self._known = 0
        self._rows = MatchRows(plan, layout, self._labelling)
        self._judges = bool(plan.conditions)
        self._account = Account(Budget(matches=max_matches))

    def judged(self, share: dict[str, npt.NDArray[Any]]) -> Iterator[pa.RecordBatch]:
        """Yield the matches of a share for which all conditions hold, with their slots filled."""
        for found in self.kept(share):
            yield self._rows.fill(found, self._table)

    def kept(self, share: dict[str, npt.NDArray[Any]]) -> Iterator[MatchBatch]:
        """Yield the matches of a share for which all conditions hold."""
        history = share["history"]
        # Labels are numbered in the order in which they are met, so they are met here in the same order.
        self._symbols.replay(history[self._known :])
        self._known = max(self._known, len(history))
        if "configuration" in share:
            candidates: Iterator[MatchBatch] = iter(
                Parts(*(share[name] for name in ("offset", "row", "size", "configuration", "label")))
            )
        else:
            candidates = iter([MatchBatch(*(share[name] for name in MatchBatch._fields))])
        for found in candidates:
            kept = refined(found, self._labelling.programs(), self._values, self._valid) if self._judges else found
            self._account.take_matches(len(kept.start))
            if len(kept.start):
                yield kept
