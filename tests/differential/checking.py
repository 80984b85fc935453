"""Running a trial on the local engine, comparing with the oracle, and making a failing trial small."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import eventide as et
from differential.queries import Trial, simpler
from differential.streams import Row, as_table, as_timestamp, in_time_order, make_stream
from eventide import pipeline
from eventide.errors import EventideError, EventideWarning
from eventide.pattern import Selector
from eventide.runtime.options import RunOptions
from eventide.runtime.stage.gathering import Cuts
from eventide_reference.sequences.oracle import Columns, Match, admissible, matches_by_end
from eventide_reference.sequences.output import output_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclass(frozen=True)
class Way:
    """How the engine runs: a forced matcher or None, the seed of random cuts of the prepared events or None, or counting."""

    matcher: str | None = None
    cuts: int | None = None
    counts: bool = False


def make_events(rng: Random, trial: Trial, streams: int) -> list[Row]:
    """Return the events of several streams, in random order of arrival."""
    rows: list[Row] = []
    for case in range(streams):
        longest = trial.longest_stream() + (0 if trial.by_case else 2)
        stream = make_stream(rng, trial.query.pattern, case, len(rows), longest)
        rng.shuffle(stream)
        rows += in_time_order(stream, tie_break=trial.tie_break)
    if trial.by_case and rng.random() < 0.5:
        # Streams interleaved; inside a stream the order of arrival stays.
        order = sorted(range(len(rows)), key=lambda index: (rng.random(), index))
        cases = [rows[index]["case_id"] for index in order]
        waiting = {case: iter([row for row in rows if row["case_id"] == case]) for case in set(cases)}
        rows = [next(waiting[case]) for case in cases]
    return rows


def events_of(trial: Trial, rows: list[Row], convert: Callable[[pa.Table], Any]) -> dict[str, et.Events]:
    """Return the trial's events by stream, in the form that the engine takes."""
    roles: dict[str, Any] = {"time": "time", "type": "type"}
    if trial.tie_break:
        roles["tie_break"] = "tie"
    if trial.seconds:
        roles["time_unit"] = "s"
    tables = {"events": rows}
    if trial.several_streams:
        tables = {name: [row for row in rows if row["stream"] == name] for name in ("S1", "S2")}
    return {name: et.events(convert(as_table(table, timestamps=trial.timestamps)), **roles) for name, table in tables.items()}


def find(trial: Trial, rows: list[Row], way: Way) -> pa.Table:
    """Run the trial's query on the local engine."""
    query = et.query(trial.query)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EventideWarning)
        given = events_of(trial, rows, lambda table: table)
        if way.counts:
            return query.count(matcher=way.matcher, **given)
        if way.cuts is None:
            return query.match(matcher=way.matcher, **given)
        return match_in_pieces(query, given, way.cuts, way.matcher)


def match_in_pieces(query: et.Query, given: dict[str, et.Events], seed: int, matcher: str | None = None) -> pa.Table:
    """Run a query over prepared events in small pieces."""
    source = query.input_of(None, given)
    options = RunOptions(matcher=matcher, cuts=SmallPieces(rows=1, seed=seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EventideWarning)
        return source.engine.result(pipeline.run(query.model, source, options))


@dataclass(frozen=True)
class SmallPieces(Cuts):
    """Cuts prepared events into small pieces at random."""

    seed: int = 0

    def chunks(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        return super().chunks(self._pieces(batches))

    def whole_keys(self, batches: Iterator[pa.RecordBatch], keys: Sequence[str]) -> Iterator[pa.Table]:
        return super().whole_keys(self._pieces(batches), keys)

    def _pieces(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rng = Random(self.seed)
        sizes = rng.choice(((1,), (2,), (3,), (7,), (1, 2, 3, 7, 20)))
        for batch in batches:
            begin = 0
            while begin < batch.num_rows:
                size = rng.choice(sizes)
                yield batch.slice(begin, size)
                begin += size


class Expected:
    """What the oracle says of a trial."""

    def __init__(self, trial: Trial, rows: list[Row]) -> None:
        self.trial = trial
        self.rows = [{**row, "time": as_timestamp(row["time"])} for row in rows] if trial.timestamps else rows
        self.columns = Columns(
            stream="stream" if trial.several_streams else None,
            tie_break="tie" if trial.tie_break else None,
            time_scale=1_000_000 if trial.seconds else 1,
        )
        self.groups = matches_by_end(trial.query, self.rows, self.columns)
        self.matches = [match for group in self.groups for match in group]

    def disagreement(self, produced: pa.Table) -> str | None:
        """Say how a result differs from what the oracle allows, or return None."""
        query = self.trial.query
        if query.output is not None:
            return self._rows_differ(produced)
        matches = self._matches_of(produced)
        if isinstance(matches, str):
            return matches
        columns = {"stream": self.columns.stream, "tie_break": self.columns.tie_break, "time_scale": self.columns.time_scale}
        if query.selector is Selector.ANY or query.limit is not None:
            return admissible(query, self.rows, matches, **columns)
        expected = Counter(map(_shown, self.matches))
        got = Counter(map(_shown, matches))
        return None if expected == got else _difference(expected, got)

    def miscount(self, counted: pa.Table) -> str | None:
        """Say how the number of matches of each key differs, or return None."""
        keys = [name.text for name in self.trial.query.partition_by]
        got = Counter({tuple(row[key] for key in keys): int(row["matches"]) for row in counted.to_pylist()})
        kept = [group[:1] if self.trial.query.selector is Selector.ANY else group for group in self.groups]
        expected = Counter(match.key for group in kept for match in group)
        return None if +expected == +got else f"the counts differ: {dict(expected)} should be, {dict(got)} is"

    def _matches_of(self, produced: pa.Table) -> list[Match] | str:
        place = {row["id"]: index for index, row in enumerate(self.rows)}
        rank = {row["id"]: self._order(index) for index, row in enumerate(self.rows) if row["time"] is not None}
        keys = [name.text for name in self.trial.query.partition_by]
        matches = []
        for row in produced.to_pylist():
            bound = {
                name: tuple(place[event["id"]] for event in events)
                for name, events in row.items()
                if name not in (*keys, "match_start", "match_end")
            }
            support = sorted({index for indices in bound.values() for index in indices}, key=lambda i: rank[self.rows[i]["id"]])
            if not support:
                return f"a match without events: {row}"
            if (row["match_start"], row["match_end"]) != (self.rows[support[0]]["time"], self.rows[support[-1]]["time"]):
                return f"match_start or match_end is wrong: {row}"
            matches.append(Match(tuple(row[key] for key in keys), support[0], support[-1], bound))
        return matches

    def _order(self, index: int) -> tuple[Any, ...]:
        row = self.rows[index]
        tie = (row["tie"] is not None, row["tie"] or 0) if self.trial.tie_break else ()
        return (row["time"], tie, row["stream"] if self.trial.several_streams else "", index)

    def _rows_differ(self, produced: pa.Table) -> str | None:
        query = self.trial.query
        allowed = Counter(map(_values, output_rows(query, self.rows, self.matches)))
        got = Counter(map(_values, produced.to_pylist()))
        if query.selector is not Selector.ANY and query.limit is None:
            return None if allowed == got else _difference(allowed, got)
        # Which match is kept is not defined; how many are, is.
        number = len(self.groups) if query.selector is Selector.ANY else len(self.matches)
        number = number if query.limit is None else min(number, query.limit)
        if got.total() != number or got - allowed:
            return (
                f"{number} rows of {sorted(allowed, key=repr)} should be there, but there are {sorted(got.elements(), key=repr)}"
            )
        return None


def _shown(match: Match) -> tuple[object, ...]:
    return (match.key, *match.identity())


def _values(row: Row) -> tuple[object, ...]:
    """Return the values of a result row in a form that compares: events by their ids, numbers rounded."""
    return tuple(_value(value) for value in row.values())


def _value(value: Any) -> object:
    if isinstance(value, list):
        return tuple(event["id"] for event in value)
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else round(value, 9) + 0.0
    return value


def _difference(expected: Counter[Any], got: Counter[Any]) -> str:
    lines = [f"  missing: {item}" for item in sorted((expected - got).elements(), key=repr)[:8]]
    lines += [f"  too many: {item}" for item in sorted((got - expected).elements(), key=repr)[:8]]
    return "\n".join(("the matches differ", *lines))


def ways_of(rng: Random, trial: Trial) -> list[Way]:
    """Return the ways in which a trial is run: as planned, cut in pieces, by runs, by recomputation, and counting only."""
    ways = [Way(), Way(None, rng.randrange(1 << 30))]
    ways.append(Way("runs", rng.randrange(1 << 30) if rng.random() < 0.5 else None))
    if rng.random() < 0.5:
        ways.append(Way("recompute", rng.randrange(1 << 30) if rng.random() < 0.5 else None))
    if trial.countable and trial.query.limit is None and rng.random() < 0.3:
        ways.append(Way(counts=True))
    return ways


def outcome(trial: Trial, rows: list[Row], way: Way, expected: Expected | None = None) -> str | None:
    """Return what is wrong with one run, or None."""
    expected = expected or Expected(trial, rows)
    try:
        produced = find(trial, rows, way)
    except EventideError as error:
        refused = way.matcher == "recompute" and error.condition == "MATCHER_NOT_SOUND"
        return None if refused else f"{type(error).__name__}: {error}"
    except Exception as error:  # noqa: BLE001 - any crash is a finding that wants its query and events
        return f"crash, {type(error).__name__}: {error}"
    return expected.miscount(produced) if way.counts else expected.disagreement(produced)


def check(rng: Random, trial: Trial, streams: int) -> int:
    """Compare the engine with the oracle; returns the number of matches, raises AssertionError with a small example."""
    rows = make_events(rng, trial, streams)
    expected = Expected(trial, rows)
    for way in ways_of(rng, trial):
        wrong = outcome(trial, rows, way, expected)
        if wrong is not None:
            raise AssertionError(shrunk(trial, rows, way, wrong))
    return len(expected.matches)


# Small examples ------------------------------------------------------------------------------------------------------


def shrunk(trial: Trial, rows: list[Row], way: Way, wrong: str) -> str:
    """Make the trial and its events small as long as it fails, and describe what is left."""
    first = wrong
    tries = 0

    def fails(candidate: Trial, left: list[Row]) -> str | None:
        nonlocal tries
        tries += 1
        if tries > 400 or not left:
            return None
        try:
            found = outcome(candidate, left, way)
        except (EventideError, LookupError):
            return None
        return None if found is None or found.partition(":")[0] != wrong.partition(":")[0] else found

    cases = sorted({row["case_id"] for row in rows})
    for case in cases if len(cases) > 1 else ():
        found = fails(trial, [row for row in rows if row["case_id"] == case])
        if found:
            rows, wrong = [row for row in rows if row["case_id"] == case], found
            break
    progress = True
    while progress:
        progress = False
        for query in simpler(trial.query):
            found = fails(replace(trial, query=query), rows)
            if found:
                trial, wrong, progress = replace(trial, query=query), found, True
                break
        index = 0
        while index < len(rows):
            less = rows[:index] + rows[index + 1 :]
            found = fails(trial, less)
            if found:
                rows, wrong, progress = less, found, True
            else:
                index += 1
    return described(trial, rows, way, wrong if tries > 1 else first)


def described(trial: Trial, rows: list[Row], way: Way, wrong: str) -> str:
    """Return a failing trial as text: query, events, expected and what is wrong."""
    mentioned = trial.text + repr(trial.query.window)
    attributes = [name for name in ("k", "v", "w", "s", "ok", "m", "f") if f".{name}" in mentioned or f"[{name}" in mentioned]
    shown = ["id", "case_id", "time", "tie", "stream", "type", *attributes]
    lines = ["", trial.text, f"-- {way}, {replace(trial, query=None)}", "  ".join(f"{name:>4}" for name in shown)]  # type: ignore[arg-type]
    lines += ["  ".join(f"{row[name]!s:>4}" for name in shown) for row in rows]
    expected = Expected(trial, rows)
    lines.append("expected (by place of the events above):")
    lines += [f"  {_shown(match)}" for match in expected.matches[:12]]
    lines.append(f"wrong: {wrong}")
    return "\n".join(lines)
