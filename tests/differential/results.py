"""Random queries for results over all matches, and how they compare with the listed matches."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import eventide as et
from differential.checking import Expected, events_of, make_events, match_in_pieces
from differential.patterns import bound_variables, several_events
from differential.queries import SECOND, Trial, make_trial, simpler
from differential.streams import EPOCH
from eventide import pipeline
from eventide.errors import BindError, EventideWarning
from eventide.language.reading.expressions import parse_condition, parse_expression
from eventide.pattern import (
    Consumption,
    Filtered,
    Grouping,
    GroupUnit,
    Ordering,
    OutputItem,
    Sample,
    Selector,
    Window,
    WindowUnit,
)
from eventide.pattern.sequence_printing import to_ceql
from eventide.plan.totals.methods import Growth
from eventide.runtime.options import RunOptions
from eventide_reference import group_rows, score
from eventide_reference.sequences.output import starred_variables

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    import pyarrow as pa

    from eventide.pattern import Pattern, Query
    from eventide_reference import Match

Row = dict[str, Any]


def make_plain_trial(rng: Random, *, keyed: bool | None = None) -> Trial:
    """Return a random query over all of its matches; most need no enumeration."""
    while True:
        trial = make_trial(rng)
        if not trial.countable or (keyed is not None and trial.by_case is not keyed):
            continue
        query = replace(trial.query, output=None, limit=None)
        if rng.random() < 0.85:
            query = replace(query, selector=rng.choice((Selector.ALL, Selector.ALL, Selector.STRICT)))
            query = replace(query, consumption=Consumption.NONE)
        if rng.random() < 0.8:
            query = replace(query, pattern=near_pattern(rng, query.pattern))
        return replace(trial, query=query)


def near_pattern(rng: Random, pattern: Pattern) -> Pattern:
    """Leave the conditions on the whole pattern out, or put some in their place that often relate neighbours."""
    while isinstance(pattern, Filtered):
        pattern = pattern.pattern
    variables = bound_variables(pattern)
    repeated = several_events(pattern)
    conditions = []
    for _ in range(rng.choice((0, 1, 1, 2))):
        x, y = rng.choice(variables), rng.choice(variables)
        choices = [f"{x}.v <= NEXT({x}.v)", f"{x}.v <> PREV({x}.v)", f"{x}.s = NEXT({x}.s)", f"{x}.v >= LAST({x}.v)"]
        if x != y:
            choices += [f"{x}.v <= {y}.v", f"{x}.v = {y}.v", f"{x}.s = {y}.s", f"{x}.w < {y}.w OR {x}.ok"]
            choices += [f"{y}.v >= LAST({x}.v)", f"{x}.v <= FIRST({y}.v)", f"{x}.v <> LAST({y}.v)", f"{y}.v > FIRST({x}.v)"]
        conditions.append(rng.choice(choices[:4] if x in repeated and rng.random() < 0.5 else choices))
    return Filtered(pattern, parse_condition(" AND ".join(f"({part})" for part in conditions))) if conditions else pattern


def make_group_trial(rng: Random, *, keyed: bool | None = None) -> Trial:
    """Return a random query with GROUP BY."""
    trial = make_plain_trial(rng, keyed=keyed)
    query = trial.query
    unit = rng.choice((GroupUnit.PARTITION, GroupUnit.END, GroupUnit.WINDOW))
    size = None
    if unit is GroupUnit.WINDOW:
        slides = query.window is not None and query.window.slide is not None
        if not slides or rng.random() < 0.5:
            duration = trial.timestamps or trial.seconds
            length = rng.randint(1, 5)
            size = Window(WindowUnit.DURATION, length * SECOND) if duration else Window(WindowUnit.TIME_UNITS, length)
    items = [name.text for name in query.partition_by]
    items += {
        GroupUnit.PARTITION: [],
        GroupUnit.END: ["match_end"],
        GroupUnit.WINDOW: ["window_start", "window_end"],
    }[unit]
    items.append("COUNT(*)")
    for _ in range(rng.choice((0, 1, 2, 4))):
        variable = rng.choice(bound_variables(query.pattern))
        choices = ["COUNT({x})", "COUNT({x}.v)", "SUM({x}.v)", "SUM({x}.w)", "AVG({x}.v)", "AVG({x}.f)", "SUM({x}.v - {x}.id)"]
        choices += ["MIN({x}.v)", "MAX({x}.w)", "MIN({x}.s)", "MAX({x}.id)", "MIN({x}.time)", "MAX({x}.ok)", "MIN({x}.w)"]
        items.append(rng.choice(choices).format(x=variable))
    output = tuple(OutputItem(parse_expression(item), f"c{number}") for number, item in enumerate(dict.fromkeys(items)))
    return replace(trial, query=replace(query, output=output, group_by=Grouping(unit, size)))


def run_quietly(query: Query, given: dict[str, et.Events]) -> pa.Table:
    """Return the result of a query, without the warning that it enumerates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EventideWarning)
        return et.query(query).match(**given)


def expected_groups(trial: Trial, rows: list[Row]) -> Counter[tuple[object, ...]]:
    """Return the rows that GROUP BY must give, as the listed matches say."""
    expected = Expected(trial, rows)
    duration = trial.timestamps or trial.seconds
    if trial.query.group_by is not None and trial.query.group_by.size is not None:
        duration = trial.query.group_by.size.unit is WindowUnit.DURATION
    elif trial.query.window is not None and trial.query.window.slide is not None:
        duration = trial.query.window.unit is WindowUnit.DURATION

    def clock(time: Any) -> int:
        if trial.timestamps:
            return round((time - EPOCH) / timedelta(microseconds=1))
        return time * SECOND if duration else time

    kept = [group[:1] if trial.query.selector is Selector.ANY else group for group in expected.groups]
    matches = [match for group in kept for match in group]
    found = group_rows(trial.query, expected.rows, matches, time="time", clock=clock)
    edges = [
        item.alias
        for item in trial.query.output or ()
        if item.expression.sql in ("window_start", "window_end") and item.alias is not None
    ]
    for row in found:
        for name in edges:
            row[name] = _edge(trial, row[name], duration=duration)
    return Counter(tuple(_comparable(value) for value in row.values()) for row in found)


def _edge(trial: Trial, edge: int, *, duration: bool) -> object:
    if trial.timestamps:
        return EPOCH + timedelta(microseconds=edge)
    return edge // SECOND if duration else edge


def _comparable(value: object) -> object:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def produced_groups(trial: Trial, table: pa.Table) -> Counter[tuple[object, ...]]:
    """Return the rows of a result that have matches; exact numbers are read back from their digits."""
    items = trial.query.output or ()
    rows = []
    for row in table.to_pylist():
        values = []
        for item in items:
            value = row[item.alias]
            if f"{item.alias}_approx" in row:
                value = None if value is None else int(value)
                rough = row[f"{item.alias}_approx"]
                assert rough == (None if value is None else float(value))
            values.append(_comparable(value))
        counted = next(number for number, item in enumerate(items) if item.expression.sql == "COUNT(*)")
        if values[counted]:
            rows.append(tuple(values))
        else:
            assert trial.query.group_by is not None and trial.query.group_by.unit is GroupUnit.PARTITION
            aggregated = [
                value
                for item, value in zip(items, values, strict=True)
                if "(" in item.expression.sql and not item.expression.sql.startswith("COUNT")
            ]
            assert aggregated == [None] * len(aggregated)
    return Counter(rows)


def group_difference(trial: Trial, rows: list[Row]) -> str | None:
    """Return how a result differs from the listed matches, or None."""
    expected = expected_groups(trial, rows)
    got = produced_groups(trial, run_quietly(trial.query, events_of(trial, rows, lambda table: table)))
    if expected == got:
        return None
    return f"missing: {list((expected - got).elements())[:4]}\ntoo many: {list((got - expected).elements())[:4]}"


def check_groups(rng: Random, trial: Trial, streams: int) -> Growth:
    """Compare a query with GROUP BY with the listed matches; returns the way it took."""
    rows = make_events(rng, trial, streams)
    wrong = group_difference(trial, rows)
    if wrong is not None:
        raise AssertionError(_smaller(trial, rows, wrong))
    return cost_of(trial, rows)


def cost_of(trial: Trial, rows: list[Row]) -> Growth:
    """Return the way that a query takes."""
    given = events_of(trial, rows, lambda table: table)
    source = et.query(trial.query).input_of(None, given)
    plan = pipeline.plan(trial.query, source, RunOptions())
    return plan.totals_method.growth


def _smaller(trial: Trial, rows: list[Row], wrong: str) -> str:
    tries = 0

    def fails(candidate: Trial, left: list[Row]) -> str | None:
        nonlocal tries
        tries += 1
        if tries > 300:
            return None
        try:
            return group_difference(candidate, left) if left else None
        except (BindError, LookupError):
            return None

    progress = True
    while progress:
        progress = False
        for query in simpler(trial.query):
            if query.output is None:
                continue
            found = fails(replace(trial, query=query), rows)
            if found:
                trial, wrong, progress = replace(trial, query=query), found, True
                break
        for index in range(len(rows) - 1, -1, -1):
            found = fails(trial, rows[:index] + rows[index + 1 :])
            if found:
                rows, wrong, progress = rows[:index] + rows[index + 1 :], found, True
    shown = ("id", "case_id", "time", "tie", "type", "k", "v", "w", "s", "ok", "m", "f")
    lines = [to_ceql(trial.query), f"-- {cost_of(trial, rows)} {replace(trial, query=None)}"]  # type: ignore[arg-type]
    lines += ["  ".join(f"{row[name]!s:>5}" for name in shown) for row in rows]
    return "\n".join((*lines, wrong))


def make_best_trial(rng: Random) -> Trial:
    """Return a random query with ORDER BY and LIMIT."""
    trial = make_plain_trial(rng)
    query = trial.query
    variables = bound_variables(query.pattern)
    single = [variable for variable in variables if variable not in several_events(query.pattern)]
    terms = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        x = rng.choice(variables)
        choices = [f"SUM({x}.v)", f"SUM({x}.f)", f"COUNT({x})", f"2 * SUM({x}.v - {x}.id % 3)", f"COUNT({x}.v)", "COUNT(*)"]
        if single:
            choices += [f"{rng.choice(single)}.v", f"3 * {rng.choice(single)}.m"]
        terms.append(rng.choice(choices))
    score = parse_expression("".join(f" {rng.choice('+-')} {term}" for term in terms).removeprefix(" + ").strip())
    ordering = Ordering(score, rng.random() < 0.5)
    return replace(trial, query=replace(query, order_by=ordering, limit=rng.choice((1, 2, 3, 5, 20))))


def check_best(rng: Random, trial: Trial, streams: int) -> Growth:
    """Compare the best matches with all matches, sorted."""
    rows = make_events(rng, trial, streams)
    query = trial.query
    assert query.order_by is not None
    expected = Expected(replace(trial, query=replace(query, limit=None)), rows)
    sign = -1 if query.order_by.descending else 1
    kept = [group[:1] if query.selector is Selector.ANY else group for group in expected.groups]
    # Groups stand in the order of their ends.
    ranked = sorted(
        (sign * score(query, expected.rows, match), place) for place, group in enumerate(kept) for match in group
    )
    end_place = {group[0].end: place for place, group in enumerate(expected.groups)}
    produced = expected._matches_of(run_quietly(query, events_of(trial, rows, lambda table: table)))
    assert not isinstance(produced, str), produced
    text = to_ceql(query)
    # The score may read types that the result does not show.
    shown = starred_variables(query.pattern)
    known = {_shown_identity(match, shown): match for match in expected.matches}
    identities = [_shown_identity(match, shown) for match in produced]
    assert len(set(identities)) == len(produced), text
    assert set(identities) <= set(known), text
    if query.selector is not Selector.ANY:
        found = [known[identity] for identity in identities]
        got = [(sign * score(query, expected.rows, match), end_place[match.end]) for match in found]
        assert got == ranked[: query.limit], f"{text}\n{got}\n{ranked[: query.limit]}"
    return cost_of(trial, rows)


def _shown_identity(match: Match, shown: frozenset[str]) -> tuple[object, ...]:
    bound = tuple(sorted((name, indices) for name, indices in match.bindings.items() if name in shown))
    return (match.key, match.start, match.end, bound)


def check_sample(rng: Random, trial: Trial, streams: int) -> Growth:
    """Compare a sample with all matches: it holds some of them, each once, as many as asked for, the same for the same seed."""
    rows = make_events(rng, trial, streams)
    expected = Expected(trial, rows)
    size = rng.choice((0, 1, 2, 5, 1000))
    query = replace(trial.query, sample=Sample(size, rng.randrange(1 << 20)))
    given = events_of(trial, rows, lambda table: table)
    first = run_quietly(query, given)
    # As text, where NaN equals itself.
    assert repr(first.to_pylist()) == repr(run_quietly(query, given).to_pylist()), to_ceql(query)
    produced = expected._matches_of(first)
    assert not isinstance(produced, str), produced
    identities = {(match.key, *match.identity()) for match in produced}
    number = len(expected.groups) if query.selector is Selector.ANY else len(expected.matches)
    assert len(identities) == len(produced) == min(size, number), to_ceql(query)
    assert identities <= {(match.key, *match.identity()) for match in expected.matches}, to_ceql(query)
    return cost_of(trial, rows)


def make_near(rng: Random, make: Callable[[Random], Trial]) -> Trial:
    """Return a random query of a kind whose conditions relate neighbours, so that no match is listed."""
    while True:
        trial = make(rng)
        if cost_of(trial, make_events(rng, trial, 1)) is Growth.POLYNOMIAL:
            return trial


def check_sample_again(rng: Random, trial: Trial, streams: int) -> Growth:
    """Check a sample, and that it stays the same however the events are cut, and in whatever order the keys come."""
    rows = make_events(rng, trial, streams)
    query = replace(trial.query, sample=Sample(rng.choice((1, 3, 8)), rng.randrange(1 << 20)))
    drawn = _texts(run_quietly(query, events_of(trial, rows, lambda table: table)))
    again = match_in_pieces(et.query(query), events_of(trial, rows, lambda table: table), rng.randrange(1 << 20))
    assert drawn == _texts(again), to_ceql(query)
    if trial.by_case:
        # Inside a key the order of arrival stays.
        moved = sorted(rows, key=lambda row: -row["case_id"])
        assert drawn == _texts(run_quietly(query, events_of(trial, moved, lambda table: table))), to_ceql(query)
    return cost_of(trial, rows)


def _texts(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))
