"""The ways to run a case as a stream without Spark: the buckets of a real run, in micro-batches, dumped and loaded after each."""

from __future__ import annotations

import warnings
from collections import Counter
from contextlib import nullcontext
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

import eventide as et
from eventide.errors import BindError, DataError, EventideWarning
from eventide.pattern import WindowUnit
from eventide.plan.expressions.schema import CLOCK_COLUMN
from eventide.plan.matchers.protocol import DAG, RECOMPUTE, RUNS
from eventide.runtime.streams.output import CORRECTNESS
from eventide.runtime.streams.planning.jobs import StreamOptions, reorder_reason
from eventide.runtime.streams.queries.row_patterns import check_streamable
from harness.comparison import bag, difference
from harness.kinds.row_patterns.kind import RowPatternCase
from harness.kinds.row_patterns.queries import Trial
from harness.kinds.row_patterns.tables import as_table
from harness.kinds.sequences.kind import SequenceCase
from harness.tight_places import little_room, pieces
from harness.ways import Unable, Way
from stream.driving import Run
from stream_rows.running import FAR, Stream, identities, once, plan_of, rows_of_table, stream_of

REFUSALS = frozenset({"LIMIT_UNDECIDED", "ORDER_WITHOUT_TIME", "RESULTS_ON_STREAM"})
MOST_PIECES = 12
"""Of a table of many streams: a micro-batch loads and dumps the state of every bucket."""


# Sequences -----------------------------------------------------------------------------------------------------------


def stream_options(case: SequenceCase, rng: Random, output: str, **more: Any) -> StreamOptions:
    """Return the options of a stream in which no event of the case is late."""
    return StreamOptions(case.lateness * (1_000_000 if case.trial.timestamps else 1), output, rng.choice((1, 2, 3)), **more)


def run_of(case: SequenceCase, options: StreamOptions, force: str | None = None) -> Run:
    """Return a run that has taken nothing yet."""
    return Run({"q": et.query(case.trial.query)}, case.events([]), options, force=force)


def fed(run: Run, case: SequenceCase) -> Run:
    """Hand all events over in micro-batches, and let time come to its end."""
    for piece in micro_batches(case):
        run.feed(case.tables(piece))
    run.advance_clock()
    assert not sum(counters["late"] for counters in run.counters), "events are late"
    return run


def micro_batches(case: SequenceCase) -> Any:
    """Return the events of each micro-batch."""
    return pieces(case.rows, tuple(max(size, len(case.rows) // MOST_PIECES) for size in case.cuts))


def never_certain(run: Run) -> bool:
    """Return whether matches wait for events that never come: NOT at the end in a window that time does not end."""
    plan = run.plans["q"]
    return bool(plan.trailing) and plan.window.unit not in (WindowUnit.DURATION, WindowUnit.TIME_UNITS)


def arrives(case: SequenceCase) -> bool:
    """Return whether the planner takes the events of a case as they arrive."""
    return case.trial.query.limit is None and reorder_reason(run_of(case, StreamOptions()).plans["q"]) is None


def _streamed(output: str) -> Way:
    def run(case: SequenceCase, rng: Random) -> pa.Table:
        options = stream_options(case, rng, output)
        # Half of the runs put the events in order first, whatever the planner would do.
        force = None if rng.random() < 0.5 else rng.choice((RUNS, RECOMPUTE, DAG))
        try:
            running = run_of(case, options, force)
        except BindError as refusal:
            if refusal.condition != "MATCHER_NOT_SOUND":
                raise
            running = run_of(case, options)
        if output != "early" and never_certain(running):
            raise Unable
        return fed(running, case).result("q")

    return Way(f"streamed, {output}", run, 2 / 3, REFUSALS)


STREAMED = tuple(map(_streamed, CORRECTNESS))


def run_opened(case: SequenceCase, rng: Random) -> pa.Table:
    """Push all events to an open stream, which is now and then dumped and resumed, and finish it."""
    query = et.query(case.trial.query)
    output = rng.choice(CORRECTNESS)
    lateness = f"{case.lateness} seconds" if case.trial.timestamps else case.lateness
    buckets = rng.choice((None, None, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EventideWarning)
        live = query.open(lateness=lateness, output=output, buckets=buckets, **case.events([]))
        found = []
        for piece in micro_batches(case):
            found.append(live.push(**case.tables(piece)))
            if rng.random() < 0.3:
                state = live.dump()
                live = et.resume(state, query)
                assert live.dump() == state, "a stream that was resumed is another one"
    found.append(live.finish())
    assert not live.progress.late, "events are late"
    whole = pa.concat_tables(found)
    return standing(whole) if output == "early" else whole


def standing(changes: pa.Table) -> pa.Table:
    """Return what is left of early results: each must have been shown once more than taken back, or as often."""
    shown: dict[str, int] = {}
    for row, (change, identity) in enumerate(zip(changes["change"].to_pylist(), changes["match_id"].to_pylist(), strict=True)):
        if change == "+":
            assert identity not in shown, "shown twice"
            shown[identity] = row
        else:
            assert shown.pop(identity, None) is not None, "taken back without being shown"
    return changes.take(pa.array(sorted(shown.values()), pa.int64())).drop_columns(["change", "match_id"])


OPENED = Way("opened", run_opened, refusals=REFUSALS)


def run_opened_timeouts(case: SequenceCase, rng: Random) -> pa.Table:
    """Return what times out in an open stream, which is now and then dumped and resumed."""
    query = et.query(case.trial.query)
    lateness = f"{case.lateness} seconds" if case.trial.timestamps else case.lateness
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EventideWarning)
        live = query.open(lateness=lateness, timeouts=True, **case.events([]))
        found = []
        for piece in micro_batches(case):
            live.push(**case.tables(piece))
            found.append(live.timeouts)
            if rng.random() < 0.3:
                live = et.resume(live.dump(), query)
    live.finish()
    found.append(live.timeouts)
    assert live.progress.timeouts == sum(table.num_rows for table in found), "time-outs are miscounted"
    return pa.concat_tables(found)


OPENED_TIMEOUTS = Way("opened", run_opened_timeouts, refusals=REFUSALS)


# Row patterns --------------------------------------------------------------------------------------------------------

MOST_ROW_PIECES = 40
BLANK = as_table([])
Rows = list[tuple[Any, ...]]


def streamable(trial: Trial) -> bool:
    """Return whether a stream can run a clause."""
    try:
        check_streamable(plan_of(trial.text, BLANK))
    except BindError:
        return False
    return True


def streamed_rows(notes: Counter[str]) -> Way:
    """Return the way as a stream of rows; notes how many results were certain before the last row came, and what else was seen."""

    def run(case: RowPatternCase, rng: Random) -> Rows:
        plan = plan_of(case.sql, case.table([]))
        try:
            check_streamable(plan)
        except BindError as refusal:
            raise Unable from refusal
        stream = stream_of(plan, case.table(case.rows))
        if stream.prepared.column(CLOCK_COLUMN).null_count:
            # A stream leaves rows without a time out and counts them.
            raise Unable
        with little_room(1 << rng.randrange(4)) if rng.random() < 0.2 else nullcontext():
            watermark = _feed(rng, case, stream, notes)
        early = sum(table.num_rows for table in stream.certain)
        for final in (watermark, watermark + rng.randint(0, 5) * 1_000_000, FAR):
            stream.advance(0, final)
            if rng.random() < 0.3:
                stream.restart()
        rest = stream.speculate()
        if stream.plan.hold is not None:
            assert not rest and not stream.engine.held().partial, "nothing can come any more, but something waits"
        everything = [*stream.certain, *rest]
        assert once(everything), "a result came twice"
        notes["early"] += early
        return stream.finished(everything)

    return Way("streamed", run, judge=lambda case, rows: case.expected.rows_differ(rows, ordered=False))


def _feed(rng: Random, case: RowPatternCase, stream: Stream, notes: Counter[str]) -> int:
    """Hand all rows over in batches and look now and then at what would follow."""
    lowest = int(stream.clock.min(initial=0)) - 1
    watermark = lowest
    shown: dict[tuple[int, int], tuple[object, ...]] = {}
    # Written rows stand in any order.
    lateness = max(case.lateness, int((np.maximum.accumulate(stream.clock) - stream.clock).max(initial=0)))
    least = len(case.rows) // MOST_ROW_PIECES
    for piece in pieces(case.rows, tuple(size and max(size, least) for size in case.cuts)):
        seen = stream.clock[: stream.taken + len(piece)]
        if rng.random() < 0.8:
            watermark = max(watermark, int(seen.max(initial=lowest)) - lateness)
        stream.advance(len(piece), watermark)
        if rng.random() < 0.3:
            stream.restart()
        if rng.random() < 0.12:
            _look(case, stream, shown)
            notes["looks"] += 1
    return watermark


def _look(case: RowPatternCase, stream: Stream, shown: dict[tuple[int, int], tuple[object, ...]]) -> None:
    """Compare what was returned and what would follow with the embedded engine on all rows so far."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EventideWarning)
            whole = rows_of_table(stream.plan, case.table(case.rows[: stream.taken]))
    except DataError:
        # Rows that are still to come may mend it.
        return
    everything = [*stream.certain, *stream.speculate()]
    assert once(everything), "a result came twice"
    found = stream.finished(everything)
    wrong = difference("rows so far", bag(zip(*(column.to_pylist() for column in whole.columns), strict=True)), bag(found))
    assert wrong is None, f"after {stream.taken} rows {wrong}"
    for name, values in zip(identities(everything), found, strict=True):
        assert repr(shown.setdefault(name, values)) == repr(values), "two results with one identity"


def run_opened_rows(case: RowPatternCase, rng: Random) -> Rows:
    """Push all rows to an open stream, which is now and then dumped and resumed, and finish it."""
    plan = plan_of(case.sql, case.table([]))
    try:
        check_streamable(plan)
    except BindError as refusal:
        raise Unable from refusal
    stream = stream_of(plan, case.table(case.rows))
    if stream.prepared.column(CLOCK_COLUMN).null_count:
        # A stream leaves rows without a time out and counts them.
        raise Unable
    late = int((np.maximum.accumulate(stream.clock) - stream.clock).max(initial=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EventideWarning)
        live = et.statement(case.sql).open(case.table([]).schema, lateness=f"{max(case.lateness, late)} microseconds")
        found = []
        least = len(case.rows) // MOST_ROW_PIECES
        for piece in pieces(case.rows, tuple(size and max(size, least) for size in case.cuts)):
            found.append(live.push(case.table(piece)))
            if rng.random() < 0.3:
                live = et.resume(live.dump())
    found.append(live.finish())
    assert not live.progress.late, "rows are late"
    return list(zip(*(column.to_pylist() for column in pa.concat_tables(found).columns), strict=True))


OPENED_ROWS = Way(
    "opened",
    run_opened_rows,
    0.3,
    refusals=frozenset({"STATEMENT_ON_STREAM"}),
    judge=lambda case, rows: case.expected.rows_differ(rows, ordered=False),
)
