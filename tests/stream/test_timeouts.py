"""Time-outs on streams against the oracle, and when they come out."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import eventide as et
from eventide.plan.sequences.output import TIME_COLUMN
from eventide.plan.timeouts.plans import plan_timeouts
from eventide.plan.timeouts.queries import EXPIRED_AT, LAST_STEP_AT, MISSING, REACHED_STEPS, STEPS
from eventide.runtime.streams.planning.jobs import StreamOptions
from eventide.runtime.streams.planning.timeouts import timeout_work
from eventide.runtime.streams.planning.work import StreamWork
from eventide.runtime.streams.queries.timeouts import LAST_STEP, REACHED
from harness.checking import run_batch
from harness.comparison import difference
from harness.kinds.sequences.kind import SequenceCase, Sequences
from harness.kinds.sequences.totals import make_timeout_trial
from harness.seeds import seeds
from harness.stream_ways import fed, stream_options
from harness.ways import Way
from stream.driving import ENGINE, Run

BATCHES = 3
QUERIES_OF_A_BATCH = 12
FEWEST_TIMEOUTS = 100
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TOLD = (EXPIRED_AT, "reached", STEPS, REACHED_STEPS, MISSING, LAST_STEP_AT)


class TimeoutRun(Run):
    """A streaming run for the time-outs of a query."""

    def planned(self) -> StreamWork:
        [plan] = self.plans.values()
        time = ENGINE.schema(self.source.events).field(TIME_COLUMN).type
        planned = plan_timeouts(plan, self.source.kinds_of, streaming=True)
        return timeout_work(planned, ENGINE.dialect, self.options, time)

    def found_rows(self) -> list[tuple[Any, ...]]:
        """Return key, start, reached and the clock of the last step of all that came out."""
        tables = self.found.get("timeouts", [])
        if not tables:
            return []
        found = pa.concat_tables(tables)
        starts = self.work.queries["timeouts"].shown(found.schema, ENGINE.dialect)
        columns = [(name, sql) for name, sql in starts if name not in TOLD]
        columns += [("reached", REACHED), ("last_step", LAST_STEP)]
        return [tuple(row.values()) for row in ENGINE.result(ENGINE.select(ENGINE.read(found), columns)).to_pylist()]


def clock_of(moment: Any) -> int:
    return round((moment - EPOCH).total_seconds() * 1_000_000) if isinstance(moment, datetime) else moment


def run_timeouts(case: SequenceCase, rng: Random) -> Counter[tuple[Any, ...]]:
    run = TimeoutRun({"q": et.query(case.trial.query)}, case.events([]), stream_options(case, rng, "final"))
    return Counter(fed(run, case).found_rows())


def differ(case: SequenceCase, got: Counter[tuple[Any, ...]]) -> str | None:
    """Compare key, start, reached and the clock of the last step, which is what a bucket puts out."""
    wanted = Counter((*out.key, out.match_start, out.reached, clock_of(out.last_step_at)) for out in case.expected.timed_out)
    return difference("time-outs", wanted, got)


TIMED = Sequences(make_timeout_trial, streams=12, late=True)


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=1))
def test_time_outs_of_streams_agree_with_the_oracle(seed: int) -> None:
    ways = (Way("streamed", run_timeouts, judge=differ),)
    assert run_batch(TIMED, seed, ways, queries=QUERIES_OF_A_BATCH).found > FEWEST_TIMEOUTS


def test_a_start_times_out_when_the_watermark_has_passed_its_window() -> None:
    empty = pa.table({"ts": pa.array([], pa.int64()), "kind": pa.array([], pa.string())})
    query = et.query("SELECT * WHERE A AS a ; B AS b ; C AS c WITHIN 5")
    run = TimeoutRun({"q": query}, {"stream": et.events(empty, time="ts", type="kind")}, StreamOptions(2))
    told = []
    for ts, kind in ((1, "A"), (3, "B"), (4, "A"), (8, "X"), (9, "X"), (11, "C"), (12, "X"), (13, "X")):
        run.feed({"stream": pa.table({"ts": [ts], "kind": [kind]})})
        told.append(run.found_rows())
    # The window of the A at 1 ends with 6; at clock 9 the watermark is 7. The A at 4 ends with 9, at clock 12.
    assert told == [[], [], [], [], [(1, 2, 3)], [(1, 2, 3)], [(1, 2, 3), (4, 1, 4)], [(1, 2, 3), (4, 1, 4)]]
    assert sum(counters["timeouts"] for counters in run.counters) == 2
    run.advance_clock(100)
    assert sum(counters["held"] for counters in run.counters[-16:]) == 0


def test_a_start_whose_match_waits_for_a_not_at_the_end_does_not_time_out() -> None:
    empty = pa.table({"ts": pa.array([], pa.int64()), "kind": pa.array([], pa.string())})
    query = et.query("SELECT * WHERE A AS a ; B AS b ; NOT C WITHIN 20")
    run = TimeoutRun({"q": query}, {"stream": et.events(empty, time="ts", type="kind")}, StreamOptions(0))
    run.feed({"stream": pa.table({"ts": [1, 5, 8], "kind": ["A", "A", "B"]})})
    for clock in (22, 24, 26, 50):
        run.feed({"stream": pa.table({"ts": [clock], "kind": ["X"]})})
    assert run.found_rows() == []
