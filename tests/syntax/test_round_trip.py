"""Every query that CEQL can express reads back from its printed form."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from eventide.language import parse
from eventide.language.reading.expressions import parse_condition, parse_expression
from eventide.pattern.sequence_printing import to_ceql
from eventide.pattern.sequences import (
    Absence,
    Both,
    Consumption,
    Either,
    Event,
    Filtered,
    Gap,
    Grouping,
    GroupUnit,
    Name,
    Named,
    Ordering,
    OutputItem,
    Pattern,
    Query,
    Repeat,
    Sample,
    Selector,
    Sequence,
    Strategy,
    Window,
    WindowUnit,
)

NAMES = st.sampled_from(["A", "B", "x", "y1", "filter", "Limit", "and", "NEXT", "events", "odd name", "tick`ed", "été", "1st"])
# Negated events have names of their own: a condition that mentions them would move to their NOT.
ABSENT_NAMES = st.sampled_from(["none", "no one"])
CONDITIONS = st.sampled_from(
    [
        "A.x > 3",
        "A.x < NEXT(B.x) OR B.x = 'a; b : c ~> FILTER ('",
        "x[price < 3] AND NOT y1.z IN (1, 2)",
        "A.x IS DISTINCT FROM B.x",
        "CASE WHEN A.x AND B.y THEN A.z ELSE B.z END > COUNT(x)",
        "`odd name`.`tick``ed` = `filter`.limit",
        "CAST(A.x AS DECIMAL(10, 2)) BETWEEN -1 AND LAST(B.x)",
    ]
).map(parse_condition)
ABSENT_CONDITIONS = st.sampled_from(["none.x > A.x", "`no one`.y = 1"]).map(parse_condition)
STRATEGIES = st.sampled_from(Strategy)
EVENTS = st.builds(Event, NAMES, st.none() | NAMES)
ABSENCES = st.builds(
    Absence, st.builds(Event, ABSENT_NAMES, st.none() | NAMES), st.none() | ABSENT_NAMES, st.none() | ABSENT_CONDITIONS
)
BOUNDS = st.tuples(st.integers(0, 5), st.none() | st.integers(1, 5)).map(
    lambda bounds: bounds if bounds[1] is None or bounds[0] <= bounds[1] else (bounds[1], bounds[0])
)


def composed(inner: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
    parts = st.lists(inner, min_size=2, max_size=4).map(tuple)
    gaps = st.lists(st.builds(Gap, STRATEGIES, st.lists(ABSENCES, max_size=2).map(tuple)), min_size=3, max_size=3)
    return st.one_of(
        st.builds(Named, inner, NAMES),
        st.builds(Filtered, inner, CONDITIONS),
        st.builds(Either, parts),
        st.builds(Both, parts, STRATEGIES),
        st.builds(lambda part, bounds, strategy: Repeat(part, *bounds, strategy), inner, BOUNDS, STRATEGIES),
        st.builds(lambda part, between: Sequence(part, tuple(between[: len(part) - 1])), parts, gaps),
    )


PATTERNS: st.SearchStrategy[Pattern] = st.recursive(EVENTS, composed, max_leaves=8)
WINDOWS = st.one_of(
    st.builds(Window, st.just(WindowUnit.EVENTS), st.integers(0, 10**9)),
    st.builds(Window, st.just(WindowUnit.DURATION), st.integers(0, 10**15), st.none() | st.integers(1, 10**12)),
    st.builds(Window, st.just(WindowUnit.TIME_UNITS), st.integers(0, 10**12), st.none() | st.integers(1, 10**9)),
    st.builds(
        Window,
        st.just(WindowUnit.ATTRIBUTE),
        st.integers(0, 10**9) | st.floats(0, 1e9, allow_subnormal=False).filter(lambda size: size == 0 or size > 1e-20),
        st.none(),
        NAMES,
    ),
)
SCORES = st.sampled_from(["SUM(A.x)", "2 * COUNT(x) - y1.z"]).map(parse_expression)
GROUPINGS = st.sampled_from(GroupUnit).map(Grouping) | st.builds(
    Grouping,
    st.just(GroupUnit.WINDOW),
    st.builds(Window, st.sampled_from([WindowUnit.DURATION, WindowUnit.TIME_UNITS]), st.integers(1, 10**12)),
)
STEP_WINDOWS = st.builds(Window, st.sampled_from([WindowUnit.DURATION, WindowUnit.TIME_UNITS]), st.integers(0, 10**15))
ITEMS = st.builds(
    OutputItem,
    st.sampled_from(["A", "x.price", "COUNT(*)", "MAX(B.x)", "`next`", "LAST(A.x) - 1", "A.x IS DISTINCT FROM B.x"]).map(
        parse_expression
    ),
    st.none() | NAMES,
)
NAME_LISTS = st.lists(NAMES.map(Name), max_size=3).map(tuple)
QUERIES = st.builds(
    Query,
    pattern=PATTERNS,
    output=st.none() | st.lists(ITEMS, min_size=1, max_size=3).map(tuple),
    selector=st.sampled_from(Selector),
    streams=NAME_LISTS,
    partition_by=NAME_LISTS,
    window=st.none() | WINDOWS,
    step_window=st.none() | STEP_WINDOWS,
    consumption=st.sampled_from(Consumption),
    limit=st.none() | st.integers(0, 10**9),
    group_by=st.none() | GROUPINGS,
    order_by=st.none() | st.builds(Ordering, SCORES, st.booleans()),
    sample=st.none() | st.builds(Sample, st.integers(0, 10**9), st.none() | st.integers(0, 10**9)),
)


@given(QUERIES)
def test_a_printed_query_reads_back_equal(query: Query) -> None:
    assert parse(to_ceql(query)) == query


@given(st.lists(ABSENCES, max_size=2).map(tuple), st.lists(ABSENCES, max_size=2).map(tuple), PATTERNS, PATTERNS, WINDOWS)
def test_absences_at_the_edges_read_back_equal(
    leading: tuple[Absence, ...], trailing: tuple[Absence, ...], first: Pattern, second: Pattern, window: Window
) -> None:
    sequence = Sequence((first, second), (Gap(),), leading, trailing)
    query = Query(pattern=sequence, window=window)
    assert parse(to_ceql(query)) == query
    named = replace(query, pattern=Named(sequence, "whole"))
    assert parse(to_ceql(named)) == named


@given(QUERIES)
def test_printing_is_stable(query: Query) -> None:
    assert to_ceql(parse(to_ceql(query))) == to_ceql(query)
