"""Time-outs on streams against the oracle, and when they come out."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import eventide as et
from differential.checking import Expected, events_of, make_events
from differential.queries import Trial, make_trial
from differential.streams import Row
from differential.test_timeouts import is_sequence, timed
from eventide.plan.sequences.output import TIME_COLUMN
from eventide.plan.timeouts.queries import EXPIRED_AT, LAST_STEP_AT, MISSING, REACHED_STEPS, STEPS
from eventide.runtime.streams.planning.jobs import StreamOptions
from eventide.runtime.streams.planning.timeouts import timeout_work
from eventide.runtime.streams.planning.work import StreamWork
from eventide.runtime.streams.queries.timeouts import LAST_STEP, REACHED
from eventide_reference import timeouts
from seeds import seeds
from stream.driving import ENGINE, Run
from stream.test_event_engine import disordered, pieces, tables_of

BATCHES = 3
QUERIES_OF_A_BATCH = 12
STREAMS_OF_A_TABLE = 12
FEWEST_TIMEOUTS = 100
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TOLD = (EXPIRED_AT, "reached", STEPS, REACHED_STEPS, MISSING, LAST_STEP_AT)


class TimeoutRun(Run):
    """A streaming run for the time-outs of a query."""

    def planned(self) -> StreamWork:
        [plan] = self.plans.values()
        time = ENGINE.schema(self.source.events).field(TIME_COLUMN).type
        return timeout_work(plan.query, dict(plan.streams), self.source.kinds_of, ENGINE.dialect, self.options, time)

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


def check(rng: Random, trial: Trial, rows: list[Row]) -> int:
    bound = rng.choice((0, 1, 3, 8))
    arrived = disordered(rng, rows, bound, tie_break=trial.tie_break)
    options = StreamOptions(bound * (1_000_000 if trial.timestamps else 1), buckets=rng.choice((1, 2, 3)))
    run = TimeoutRun({"q": et.query(trial.query)}, events_of(trial, [], lambda table: table), options)
    for piece in pieces(rng, arrived):
        run.feed(tables_of(trial, piece))
    run.advance_clock()
    expected = Expected(trial, arrived)
    columns = {"stream": expected.columns.stream, "tie_break": expected.columns.tie_break}
    outs = timeouts(trial.query, expected.rows, time_scale=expected.columns.time_scale, **columns)
    wanted = Counter((*out.key, out.match_start, out.reached, clock_of(out.last_step_at)) for out in outs)
    got = Counter(run.found_rows())
    assert got == wanted, (trial.text, bound, list((wanted - got).elements())[:5], list((got - wanted).elements())[:5])
    return len(outs)


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=1))
def test_time_outs_of_streams_agree_with_the_oracle(seed: int) -> None:
    rng = Random(seed)
    done = outs = 0
    while done < QUERIES_OF_A_BATCH:
        trial = timed(rng, make_trial(rng))
        if not trial.countable or (not is_sequence(trial) and rng.random() < 0.8):
            continue
        outs += check(rng, trial, make_events(rng, trial, STREAMS_OF_A_TABLE if trial.by_case else 1))
        done += 1
    assert outs > FEWEST_TIMEOUTS


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
