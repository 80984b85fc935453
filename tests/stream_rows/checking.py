"""Random clauses over random streams: what an engine returns batch by batch against the oracle on all rows."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from unittest import mock

from eventide.errors import BindError, DataError, EventideWarning
from eventide.runtime.streams.queries.row_patterns import check_streamable
from row_differential.checking import Expected, Parts, by_partition
from row_differential.queries import Trial, make_trial
from row_differential.tables import EPOCH, Row, as_table, make_rows
from stream_rows.running import FAR, Stream, cuts, identities, once, plan_of, rows_of_table, stream_of

ORDERS = (
    ("ts",),
    ("ts",),
    ("ts", "id"),
    ("ts", "id DESC"),
    ("ts NULLS LAST", "u DESC"),
    ("ts", "s", "w DESC NULLS FIRST"),
    ("ts", "w", "ok DESC"),
    ("ts", "g DESC NULLS LAST", "d"),
    ("ts", "k", "t NULLS LAST"),
    ("day", "id"),
    ("day", "ts DESC"),
)
BLANK = as_table([])


@dataclass
class Tally:
    """How much was compared."""

    cases: int = 0
    rows: int = 0
    early: int = 0
    """Rows that were certain before the last one came."""
    skipped: int = 0
    looks: int = 0
    """Times that what would follow was compared as well."""
    failures: int = 0


def make_stream_trial(rng: Random) -> Trial:
    """Return a random clause that a stream can run."""
    while True:
        trial = make_trial(rng)
        order = rng.choice(ORDERS)
        unit = "DAY" if order[0] == "day" else "SECOND"
        within = rng.choice((f"INTERVAL '3' {unit}", f"{rng.randint(0, 6)} {unit}S", f"1 {unit}")) if rng.random() < 0.5 else ""
        trial = replace(trial, order_by=order, within=within)
        try:
            check_streamable(plan_of(trial.text, BLANK))
        except BindError:
            continue
        return trial


def make_stream(rng: Random, trial: Trial, tables: int) -> tuple[list[Row], int]:
    """Return rows in the order of arrival, and by how many microseconds they may be late."""
    days = trial.order_by[0] == "day"
    slack = rng.choice((0, 0, 1, 2, 4, 8))
    arrivals: list[tuple[float, int, Row]] = []
    for case in range(tables):
        shift = rng.randint(0, 20)
        previous = 0
        for row in make_rows(rng, case, trial.longest_table()):
            seconds = previous if row["ts"] is None else int((row["ts"] - EPOCH).total_seconds()) + shift
            previous = seconds
            timed = {**row, "ts": EPOCH + timedelta(seconds=seconds), "day": (EPOCH + timedelta(days=seconds)).date()}
            arrivals.append((seconds + rng.random() * slack, len(arrivals), timed))
    ordered = [row for _, _, row in sorted(arrivals, key=lambda item: item[:2])]
    return ordered, slack * (86_400_000_000 if days else 1_000_000)


def check(rng: Random, trial: Trial, tables: int, tally: Tally) -> None:
    """Compare a run in batches with the oracle; raises AssertionError with the clause."""
    rows, slack = make_stream(rng, trial, tables if trial.by_case else 1)
    expected = Expected(trial)
    cases = sorted({row["case_id"] for row in rows}) if trial.by_case else [0]
    of_case = {case: [row for row in rows if row["case_id"] == case or not trial.by_case] for case in cases}
    for case in cases:
        expected.add(case, of_case[case])
    kept = [row for row in rows if not trial.by_case or row["case_id"] in expected.parts]
    if expected.parts:
        run_and_compare(rng, trial, kept, slack, expected, tally)
    for case in list(expected.errors)[:1]:
        tally.failures += 1
        condition = failure_of(rng, trial, of_case[case], slack)
        assert condition in expected.errors[case], f"{trial.text}\n{condition} is none of {expected.errors[case]}"
    tally.cases += len(expected.parts)
    tally.skipped += len(expected.skipped)


def run_and_compare(
    rng: Random, trial: Trial, rows: list[Row], slack: int, expected: Expected, tally: Tally
) -> None:
    """Run one stream and compare its results with those of all tables."""
    stream = stream_of(plan_of(trial.text, BLANK), as_table(rows))
    with little_room(1 << rng.randrange(4)) if rng.random() < 0.2 else nullcontext():
        watermark = feed(rng, trial, stream, rows, slack, tally)
    tally.early += sum(table.num_rows for table in stream.certain)
    for final in (watermark, watermark + rng.randint(0, 5) * 1_000_000, FAR):
        stream.advance(0, final)
        if rng.random() < 0.3:
            stream.restart()
    rest = stream.speculate()
    if stream.plan.hold is not None:
        assert not rest and not stream.engine.held().partial, f"{trial.text}\nnothing can come any more, but something waits"
    everything = [*stream.certain, *rest]
    assert once(everything), f"{trial.text}\na result came twice"
    right = {key: part for parts in expected.parts.values() for key, part in parts.items()}
    assert_same(trial, right, by_partition(trial, stream.finished(everything)), "in the end")
    tally.rows += sum(table.num_rows for table in everything)


@contextmanager
def little_room(size: int) -> Iterator[None]:
    """Let the matcher begin with room for a few rows, so that it has to stop and go on inside partitions."""
    with ExitStack() as rooms:
        for name in ("ROOM_ROWS", "ROOM_MATCHES", "ROOM_DEPTH"):
            rooms.enter_context(mock.patch(f"eventide.match.row_pattern.matcher.{name}", size))
        rooms.enter_context(mock.patch("eventide.match.row_pattern.matcher.SMALLEST_MEMORY", max(2, size)))
        yield


def feed(rng: Random, trial: Trial, stream: Stream, rows: list[Row], slack: int, tally: Tally) -> int:
    """Hand all rows over in batches and look now and then at what would follow."""
    lowest = int(stream.clock.min(initial=0)) - 1
    watermark = lowest
    shown: dict[tuple[int, int], tuple[object, ...]] = {}
    for size in cuts(rng, len(rows)):
        seen = stream.clock[: stream.taken + size]
        if rng.random() < 0.8:
            watermark = max(watermark, int(seen.max(initial=lowest)) - slack)
        stream.advance(size, watermark)
        if rng.random() < 0.3:
            stream.restart()
        if rng.random() < 0.12:
            look(trial, stream, rows[: stream.taken], shown)
            tally.looks += 1
    return watermark


def look(trial: Trial, stream: Stream, rows: list[Row], shown: dict[tuple[int, int], tuple[object, ...]]) -> None:
    """Compare what was returned and what would follow with the batch engine on all rows so far."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EventideWarning)
            whole = rows_of_table(stream.plan, as_table(rows))
    except DataError:
        # Rows that are still to come may mend it.
        return
    everything = [*stream.certain, *stream.speculate()]
    assert once(everything)
    found = stream.finished(everything)
    right = list(zip(*(column.to_pylist() for column in whole.columns), strict=True))
    assert_same(trial, by_partition(trial, right), by_partition(trial, found), f"after {len(rows)} rows")
    for name, values in zip(identities(everything), found, strict=True):
        assert repr(shown.setdefault(name, values)) == repr(values), f"{trial.text}\ntwo results with one identity"


def assert_same(trial: Trial, right: Parts, found: Parts, when: str) -> None:
    """Compare results by partition, in any order."""
    expected = {key: Counter(part) for key, part in right.items() if part}
    got = {key: Counter(part) for key, part in found.items() if part}
    if expected == got:
        return
    lines = [trial.text, f"different {when}"]
    for key in {**expected, **got}:
        mine, theirs = got.get(key, Counter()), expected.get(key, Counter())
        if mine != theirs:
            lines.append(f"partition {key}: missing {list(theirs - mine)[:5]}, too many {list(mine - theirs)[:5]}")
    raise AssertionError("\n".join(lines))


def failure_of(rng: Random, trial: Trial, rows: list[Row], slack: int) -> str | None:
    """Return the condition of the error that a stream ends with, or None."""
    stream = stream_of(plan_of(trial.text, BLANK), as_table(rows))
    try:
        watermark = feed(rng, trial, stream, rows, slack, Tally())
        stream.advance(0, max(watermark, FAR))
        stream.speculate()
    except DataError as error:
        return error.condition
    return None
