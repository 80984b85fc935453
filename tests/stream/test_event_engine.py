"""Event queries on streams against the oracle: random queries, random disorder within the bound, random micro-batches."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import eventide as et
from differential.checking import Expected, Way, described, events_of, make_events
from differential.queries import Trial, make_trial
from differential.streams import Row, in_time_order
from eventide.errors import BindError
from eventide.pattern import WindowUnit
from eventide.plan.matchers.protocol import DAG, RECOMPUTE, RUNS
from eventide.runtime.streams.output import CORRECTNESS
from eventide.runtime.streams.planning.jobs import StreamOptions, reorder_reason
from seeds import seeds
from stream.driving import Run

BATCHES = 18
CASES_OF_A_BATCH = 500
"""With two batches that are matched as they arrive: 10,000 cases, most of them in CI."""
STREAMS_OF_A_TABLE = 25
FEWEST_MATCHES = 50


def disordered(rng: Random, rows: list[Row], bound: int, *, tie_break: bool) -> list[Row]:
    """Return rows in an order of arrival in which none is later than the bound."""
    delayed = [(0 if row["time"] is None else row["time"] + rng.randint(0, bound), rng.random(), row) for row in rows]
    arrived = [row for _, _, row in sorted(delayed, key=lambda item: item[:2])]
    # The attributes that windows measure by must not decrease, also not between events of one time that changed places.
    for case in {row["case_id"] for row in rows}:
        places = [place for place, row in enumerate(arrived) if row["case_id"] == case]
        for place, row in zip(places, in_time_order([arrived[place] for place in places], tie_break=tie_break), strict=True):
            arrived[place] = row
    return arrived


def pieces(rng: Random, rows: list[Row]) -> list[list[Row]]:
    size = rng.choice((1, 3, 10, 40, len(rows)))
    size = max(size, len(rows) // 12)
    return [rows[begin : begin + size] for begin in range(0, len(rows), size)]


def stream_of(rng: Random, trial: Trial, output: str, bound: int) -> Run:
    unit = 1_000_000 if trial.timestamps else 1
    options = StreamOptions(bound * unit, output, rng.choice((1, 2, 3)))
    # Half of the runs put the events in order first, whatever the planner would do.
    force = None if rng.random() < 0.5 else rng.choice((RUNS, RECOMPUTE, DAG))
    events = events_of(trial, [], lambda table: table)
    try:
        return Run({"q": et.query(trial.query)}, events, options, force=force)
    except BindError as refusal:
        if refusal.condition != "MATCHER_NOT_SOUND":
            raise
        return Run({"q": et.query(trial.query)}, events, options)


def tables_of(trial: Trial, rows: list[Row]) -> Any:
    return {name: events.relation.table for name, events in events_of(trial, rows, lambda table: table).items()}


def never_certain(run: Run) -> bool:
    """Return whether matches wait for events that never come: NOT at the end in a window that time does not end."""
    plan = run.plans["q"]
    return bool(plan.trailing) and plan.window.unit not in (WindowUnit.DURATION, WindowUnit.TIME_UNITS)


def check(rng: Random, trial: Trial, streams: int) -> int:
    rows = make_events(rng, trial, streams)
    bound = rng.choice((0, 1, 3, 8))
    arrived = disordered(rng, rows, bound, tie_break=trial.tie_break)
    for output in rng.sample(CORRECTNESS, 2):
        try:
            run = stream_of(rng, trial, output, bound)
        except BindError as refusal:
            assert refusal.condition in {"LIMIT_UNDECIDED", "ORDER_WITHOUT_TIME"}  # noqa: PT017
            continue
        if output != "early" and never_certain(run):
            continue
        expected = Expected(trial, arrived)
        for piece in pieces(rng, arrived):
            run.feed(tables_of(trial, piece))
        run.advance_clock()
        assert not sum(counters["late"] for counters in run.counters)
        wrong = expected.disagreement(run.result("q"))
        if wrong is not None:
            raise AssertionError(f"{output}, bound {bound}\n{described(trial, arrived, Way(), wrong)}")
    return len(Expected(trial, arrived).matches)


def arrives(trial: Trial) -> bool:
    """Return whether the planner takes the events of a trial as they arrive."""
    if trial.query.limit is not None:
        return False
    return reorder_reason(Run({"q": et.query(trial.query)}, events_of(trial, [], lambda table: table)).plans["q"]) is None


def run_batch(seed: int, cases: int, *, as_they_arrive: bool = False) -> int:
    rng = Random(seed)
    done = matches = 0
    while done < cases:
        trial = make_trial(rng)
        if as_they_arrive and not arrives(trial):
            continue
        streams = (4 if trial.by_case else 1) if trial.is_shared else STREAMS_OF_A_TABLE
        matches += check(rng, trial, streams)
        done += 1 if trial.is_shared else streams
    return matches


@pytest.mark.parametrize("seed", seeds(2, quick=1))
def test_streams_that_are_matched_as_they_arrive_agree_with_the_oracle(seed: int) -> None:
    assert run_batch(seed, CASES_OF_A_BATCH, as_they_arrive=True) > FEWEST_MATCHES


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=2))
def test_streams_agree_with_the_oracle(seed: int) -> None:
    assert run_batch(seed, CASES_OF_A_BATCH) > FEWEST_MATCHES


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1040))
def test_streams_agree_with_the_oracle_on_many_more(seed: int) -> None:
    assert run_batch(seed, CASES_OF_A_BATCH, as_they_arrive=seed % 4 == 0) > FEWEST_MATCHES
