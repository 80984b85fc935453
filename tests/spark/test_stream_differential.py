"""Streams on Spark against the oracle: random queries and clauses over many random streams in one table, cut at random."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random
from typing import Any

import pytest

import eventide as et
from differential.checking import Expected, Way, described, events_of, make_events
from differential.queries import Trial, make_trial
from differential.streams import Row, as_table
from eventide.pattern import Event, Window, WindowUnit, walk
from row_differential.checking import Expected as ExpectedRows
from row_differential.checking import by_partition
from row_differential.tables import as_table as as_rows
from spark.streaming import FileStream, Sink, quiet
from stream.test_event_engine import disordered
from stream_rows.checking import BLANK, assert_same, make_stream, make_stream_trial
from stream_rows.running import plan_of

OUTPUTS = ("final", "ordered", "early")
TRIALS = 3
CLAUSES = 2
STREAMS_OF_A_TABLE = 25
PIECES = 3
FEWEST_ROWS = 10
FAR = 1_000_000_000
NOBODY = -1
"""The case of the event that ends a stream: it has a partition of its own."""


def shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the results that are left when corrections are added up."""
    if not rows or "change" not in rows[0]:
        return rows
    values = {row["match_id"]: {name: value for name, value in row.items() if name not in ("change", "match_id")} for row in rows}
    left = dict.fromkeys(values, 0)
    for row in rows:
        left[row["match_id"]] += 1 if row["change"] == "+" else -1
    assert set(left.values()) <= {0, 1}, "shown twice, or taken back without being shown"
    return [row for match, row in values.items() if left[match]]


def pieces(rng: Random, rows: list[Row]) -> list[list[Row]]:
    """Cut rows at random places."""
    places = sorted(rng.randint(0, len(rows)) for _ in range(PIECES - 1))
    return [rows[begin:end] for begin, end in zip([0, *places], [*places, len(rows)], strict=True)]


# Event queries -------------------------------------------------------------------------------------------------------


def streamable_trial(rng: Random) -> Trial:
    """Return a random query over streams that do not depend on each other, all of its events with a type."""
    while True:
        trial = make_trial(rng)
        typed = all(part.type is not None for part in walk(trial.query.pattern) if isinstance(part, Event))
        if typed and not trial.is_shared:
            return trial


def decided_by_time(window: Window | None) -> bool:
    return window is not None and window.unit in (WindowUnit.TIME_UNITS, WindowUnit.DURATION)


def end_of(rows: list[Row], stream: str, number: int) -> Row:
    return {**rows[0], "id": number, "case_id": NOBODY, "time": FAR, "stream": stream, "type": "END"}


def run_trial(spark: Any, folder: Any, rng: Random, trial: Trial, output: str) -> None:
    rows = make_events(rng, trial, STREAMS_OF_A_TABLE)
    bound = rng.choice((0, 1, 3, 8))
    arrived = disordered(rng, rows, bound, tie_break=trial.tie_break)
    batches = [*pieces(rng, arrived), [end_of(rows, name, len(rows) + place) for place, name in enumerate(("S1", "S2"))]]
    names = ("S1", "S2") if trial.several_streams else ("events",)
    streams = {}
    for name in names:
        streams[name] = FileStream(spark, folder / name, as_table([], timestamps=trial.timestamps).schema)
        for batch in batches:
            own = [row for row in batch if name in (row["stream"], "events")]
            streams[name].add(as_table(own, timestamps=trial.timestamps))
    given = iter(streams.values())
    lateness = f"{bound} seconds" if trial.timestamps else bound
    with quiet():
        events = events_of(trial, [], lambda _: next(given).frame())
        found = et.query(trial.query).match(**events, lateness=lateness, output=output, buckets=rng.choice((1, 3)))
        sink = Sink(spark, folder / "sink").run(found)
    assert not sum(sink.counted("late"))
    wrong = Expected(trial, arrived).disagreement(Rows(shown(sink.frame().toArrow().to_pylist())))
    assert wrong is None, f"{output}, bound {bound}\n{described(trial, arrived, Way(), wrong)}"


class Rows(list):
    """Rows in the form in which results are compared."""

    def to_pylist(self) -> list[dict[str, Any]]:
        return self


@pytest.mark.parametrize("seed", range(7000, 7000 + TRIALS))
def test_a_stream_agrees_with_the_oracle(spark, tmp_path, seed):
    rng = Random(seed)
    output = OUTPUTS[seed % len(OUTPUTS)]
    trial = streamable_trial(rng)
    while output != "early" and not decided_by_time(trial.query.window):
        trial = streamable_trial(rng)
    run_trial(spark, tmp_path, rng, trial, output)


# Row patterns --------------------------------------------------------------------------------------------------------


def make_case(rng: Random, output: str) -> tuple[Any, list[Row], int, ExpectedRows]:
    """Return a clause that finds something, its rows, how late they are, and what the oracle says."""
    while True:
        trial = make_stream_trial(rng)
        # A skip that fails as long as rows are missing stops early output; without a bound only early output has everything.
        fails_early = trial.skip not in ("", "PAST LAST ROW", "TO NEXT ROW")
        if not trial.by_case or (fails_early if output == "early" else plan_of(trial.text, BLANK).hold is None):
            continue
        rows, slack = make_stream(rng, trial, STREAMS_OF_A_TABLE)
        expected = ExpectedRows(trial)
        for case in sorted({row["case_id"] for row in rows}):
            expected.add(case, [row for row in rows if row["case_id"] == case])
        if sum(len(part) for parts in expected.parts.values() for part in parts.values()) > FEWEST_ROWS:
            return trial, rows, slack, expected


def run_clause(spark: Any, folder: Any, rng: Random, output: str) -> None:
    trial, rows, slack, expected = make_case(rng, output)
    kept = [row for row in rows if row["case_id"] in expected.parts]
    last = {**rows[0], "case_id": NOBODY, "id": 0, "ts": rows[0]["ts"] + timedelta(days=9999), "day": date(2090, 1, 1)}
    stream = FileStream(spark, folder / "input", BLANK.schema).add(*map(as_rows, pieces(rng, kept)), as_rows([last]))
    with quiet():
        found = et.sql(trial.text, input=stream.frame(), lateness=f"{slack // 1_000_000} seconds", output=output, buckets=3)
        sink = Sink(spark, folder / "sink").run(found)
    assert not sum(sink.counted("late"))
    mine = [tuple(row.values()) for row in shown(sink.frame().toArrow().to_pylist()) if row["case_id"] != NOBODY]
    right = {key: part for parts in expected.parts.values() for key, part in parts.items()}
    assert_same(trial, right, by_partition(trial, mine), output)


@pytest.mark.parametrize("seed", range(8000, 8000 + CLAUSES))
def test_a_stream_of_rows_agrees_with_the_oracle(spark, tmp_path, seed):
    run_clause(spark, tmp_path, Random(seed), OUTPUTS[seed % len(OUTPUTS)])
