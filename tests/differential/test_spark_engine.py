"""Spark against the oracle on random queries and clauses: tables, slices and streams, each over many random streams at once."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest

from eventide.pattern import Event, Window, WindowUnit, walk
from harness.checking import check
from harness.kind import Kind, Tally
from harness.kinds.row_patterns.kind import RowPatterns
from harness.kinds.row_patterns.queries import Trial, make_stream_trial, make_trial
from harness.kinds.sequences.kind import SequenceCase, Sequences
from harness.seeds import at_once
from harness.shrinking import described
from harness.spark_ways import on_spark, rows_streamed_on_spark, sliced_on_spark, streamed_on_spark
from harness.stream_ways import BLANK, streamable
from harness.ways import Way
from stream_rows.running import plan_of

OUTPUTS = ("final", "ordered", "early")
FEWEST_ROWS = 10
DIVIDED = partial(make_trial, zero_division=False)
"""Division by zero is an error on Spark."""


def check_one(kind: Kind, seed: int, way: Way, fewest: int = 0) -> None:
    """Check one random query that finds enough; a failing one is shown whole, since each run on Spark takes seconds."""
    rng = Random(seed)
    while True:
        for case in kind.draw(rng):
            if case.expected.errors or case.expected.found <= fewest:
                continue
            wrong = way.outcome(case)
            assert wrong is None, described(case, way, wrong)
            return


@pytest.mark.parametrize("seed", at_once(range(5000, 5012), range(5000, 5004)))
def test_a_table_of_events_on_spark_agrees_with_the_oracle(spark, seed):
    # Three trials of four hold forty cases each, one a result that all its streams share.
    check_one(Sequences(accepts=lambda case: not (seed % 4 and case.trial.is_shared)), seed, on_spark(spark), -1)


@pytest.mark.parametrize("seed", at_once(range(5000, 5020), range(5000, 5005)))
def test_a_table_of_rows_on_spark_agrees_with_the_oracle(spark, seed):
    check_one(RowPatterns(DIVIDED, tables=14, accepts=lambda trial: trial.by_case), seed, on_spark(spark), -1)


@pytest.mark.ci
def test_slices_of_matches_on_spark_agree_with_the_oracle(spark):
    kind, way, tally, rng = Sequences(), sliced_on_spark(spark), Tally(), Random(5100)
    while tally.ways[way.name] < 4:
        for case in kind.draw(rng):
            check(kind, case, (way,), tally)


def streams(output: str) -> Sequences:
    """Return queries whose streams do not depend on each other, all of their events with a type."""

    def accepts(case: SequenceCase) -> bool:
        query = case.trial.query
        typed = all(part.type is not None for part in walk(query.pattern) if isinstance(part, Event))
        return typed and not case.trial.is_shared and (output == "early" or decided_by_time(query.window))

    return Sequences(streams=25, late=True, accepts=accepts)


def decided_by_time(window: Window | None) -> bool:
    return window is not None and window.unit in (WindowUnit.TIME_UNITS, WindowUnit.DURATION)


@pytest.mark.parametrize("seed", at_once(range(7000, 7003), [7000]))
def test_a_stream_of_events_on_spark_agrees_with_the_oracle(spark, tmp_path, seed):
    output = OUTPUTS[seed % len(OUTPUTS)]
    check_one(streams(output), seed, streamed_on_spark(spark, tmp_path, output))


def row_streams(output: str) -> RowPatterns:
    """Return clauses that a stream can run and decide."""

    def accepts(trial: Trial) -> bool:
        # A skip that fails as long as rows are missing stops early output; without a bound only early output has everything.
        fails_early = trial.skip not in ("", "PAST LAST ROW", "TO NEXT ROW")
        if not trial.by_case or not streamable(trial):
            return False
        return not fails_early if output == "early" else plan_of(trial.text, BLANK).hold is not None

    return RowPatterns(make_stream_trial, tables=25, late=True, accepts=accepts)


@pytest.mark.parametrize("seed", at_once(range(8000, 8002), [8000]))
def test_a_stream_of_rows_on_spark_agrees_with_the_oracle(spark, tmp_path, seed):
    output = OUTPUTS[seed % len(OUTPUTS)]
    check_one(row_streams(output), seed, rows_streamed_on_spark(spark, tmp_path, output), FEWEST_ROWS)
