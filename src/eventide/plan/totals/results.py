"""Results over all matches: aggregates of groups, the best matches by a score, and samples."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.errors import BindError
from eventide.pattern import GroupUnit, Window
from eventide.plan.expressions.references import ALL_EVENTS, function_kind, only_bare, references, span_of
from eventide.plan.sequences.output import MATCH_END, TIME_COLUMN, OutputBinder
from eventide.plan.sequences.windows import bind_group_window
from eventide.records import record

if TYPE_CHECKING:
    from eventide.pattern import OutputItem, Query
    from eventide.plan.sequences.output import OutputPlan

WINDOW_START = "window_start"
WINDOW_END = "window_end"
APPROXIMATE = "_approx"
"""What the name of the double beside an exact number ends in."""


class AggregateKind(Enum):
    """What a column of a group holds."""

    KEY = "key"
    END = "end"
    WINDOW_START = "window start"
    WINDOW_END = "window end"
    MATCHES = "matches"
    COUNT = "count"
    COUNT_VALUE = "count value"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"


@record
class Aggregate:
    """A column of a group; `payload` is the number of the payload column that it reads, or of the key."""

    name: str
    kind: AggregateKind
    variable: str | None = None
    payload: int | None = None


@record
class Groups:
    """GROUP BY: `size` is the length of a window in units of the clock, `time` the payload column with the event time."""

    unit: GroupUnit
    size: int | None
    columns: tuple[Aggregate, ...]
    time: int | None


@record
class Term:
    """A part of a score: what each event of the variable adds, the factor times its value (1 where there is no payload)."""

    factor: float
    variable: str
    payload: int | None


@record
class Best:
    """ORDER BY with LIMIT: the matches with the largest (or smallest) sum of terms over their events."""

    terms: tuple[Term, ...]
    descending: bool
    limit: int


@record
class MatchSample:
    """SAMPLE: so many matches; without a seed each run draws others."""

    size: int
    seed: int | None


Results = Groups | Best | MatchSample


def binder_of(query: Query) -> type[OutputBinder]:
    """Return what binds the output of a query, after refusing clauses that exclude each other."""
    text = query.text or None
    if query.order_by is not None and query.limit is None:
        raise BindError(
            "ORDER_WITHOUT_LIMIT",
            "ORDER BY chooses the matches that LIMIT keeps, and there is no LIMIT.",
            text=text,
            span=query.order_by.span,
            hint="Add LIMIT 10, or sort the result itself.",
        )
    clauses = [
        ("GROUP BY", query.group_by),
        ("ORDER BY", query.order_by),
        ("LIMIT", query.limit if query.order_by is None else None),
        ("SAMPLE", query.sample),
    ]
    given = [name for name, clause in clauses if clause is not None]
    if len(given) > 1:
        place = query.sample or query.order_by or query.group_by
        raise BindError(
            "RESULTS_EXCLUDE",
            f"{given[0]} and {given[1]} ask for different results.",
            text=text,
            span=None if place is None else place.span,
            hint=f"Leave {given[0]} or {given[1]} out.",
        )
    return GroupBinder if query.group_by is not None else OutputBinder


def bind_results(query: Query, binder: OutputBinder) -> tuple[OutputPlan, Results | None]:
    """Return the plan of the output and what is asked of all matches."""
    binder.bind()
    results: Results | None = None
    if isinstance(binder, GroupBinder):
        results = binder.groups()
    elif query.order_by is not None:
        assert query.limit is not None
        results = Best(_ScoreBinder(query, binder).terms(), query.order_by.descending, query.limit)
    elif query.sample is not None:
        results = MatchSample(query.sample.size, query.sample.seed)
    return binder.output(), results


class GroupBinder(OutputBinder):
    """Binds the SELECT list of a query with GROUP BY."""

    def bind(self) -> None:
        """Bind the aggregates and the payload that they read; all shown variables tell matches apart."""
        self._aggregates: list[Aggregate] = []
        self._taken: set[str] = set()
        self._kept = frozenset(self.bound.variables)
        self._needs |= self._kept
        grouping = self.query.group_by
        assert grouping is not None
        if self.query.output is None:
            raise BindError(
                "GROUP_WITHOUT_AGGREGATES",
                "GROUP BY gives one row for many matches, so SELECT must say what to compute of them.",
                text=self.text,
                span=grouping.span,
                hint="Write SELECT COUNT(*) AS matches, SUM(b.x) AS total ...",
            )
        self._time_payload = None
        if grouping.unit is not GroupUnit.PARTITION:
            self._time_payload = self._raw_payload(TIME_COLUMN)
        self._size = self._window_size() if grouping.unit is GroupUnit.WINDOW else None
        for item in self.query.output:
            self._add(item)

    def groups(self) -> Groups:
        """Return what was bound."""
        assert self.query.group_by is not None
        return Groups(self.query.group_by.unit, self._size, tuple(self._aggregates), self._time_payload)

    def _window_size(self) -> int:
        grouping = self.query.group_by
        assert grouping is not None
        size, window = grouping.size, self.query.window
        if size is None and window is not None and window.slide is not None:
            size = Window(window.unit, window.slide, span=grouping.span)
        if size is None:
            raise BindError(
                "GROUP_WINDOW_WITHOUT_SIZE",
                "GROUP BY WINDOW has no length, and WITHIN has no SLIDE to take it from.",
                text=self.text,
                span=grouping.span,
                hint="Write GROUP BY WINDOW 5 minutes, or WITHIN 30 minutes SLIDE 5 minutes.",
            )
        return bind_group_window(replace(size, span=size.span or grouping.span), self.query, self.schema)

    def _add(self, item: OutputItem) -> None:
        aggregate = self._aggregate(item)
        name = item.alias or aggregate.name
        names = [name]
        if aggregate.kind in (AggregateKind.MATCHES, AggregateKind.COUNT, AggregateKind.COUNT_VALUE, AggregateKind.SUM):
            names.append(f"{name}{APPROXIMATE}")
        for one in names:
            if one.lower() in self._taken:
                raise BindError(
                    "DUPLICATE_COLUMN",
                    f"Two columns of the result are called {one}.",
                    text=self.text,
                    span=item.span,
                    hint=f"Name one of them: ... AS other_{name}.",
                )
            self._taken.add(one.lower())
        self._column(name, exp.column(exp.to_identifier(name, quoted=True)))
        self._aggregates.append(replace(aggregate, name=name))

    def _aggregate(self, item: OutputItem) -> Aggregate:
        tree = item.expression.tree
        grouping = self.query.group_by
        assert grouping is not None
        if isinstance(tree, exp.Column) and not tree.table:
            name = tree.name.lower()
            if name in self._keys:
                return Aggregate(tree.name, AggregateKind.KEY, None, self._keys[name])
            if name == MATCH_END and grouping.unit is GroupUnit.END:
                return Aggregate(MATCH_END, AggregateKind.END, None, self._time_payload)
            if name in (WINDOW_START, WINDOW_END) and grouping.unit is GroupUnit.WINDOW:
                kind = AggregateKind.WINDOW_START if name == WINDOW_START else AggregateKind.WINDOW_END
                return Aggregate(name, kind, None, self._time_payload)
        function = function_kind(tree)
        if function not in ("count", "sum", "avg", "min", "max"):
            raise self._not_of_a_group(item)
        if isinstance(tree.this, exp.Distinct):
            raise BindError(
                "DISTINCT_NEEDS_MATCHES",
                f"{tree.sql(dialect='spark')} would have to look at the matches one by one, and GROUP BY never lists them.",
                text=self.text,
                span=span_of(tree),
                hint="Count the distinct values of the rows that the query without GROUP BY gives.",
            )
        reference = references(tree, self.text)[0]
        if reference.variable == ALL_EVENTS:
            return Aggregate("count", AggregateKind.MATCHES)
        if reference.variable not in self._known:
            raise self._unknown_variable(reference)
        self._needs |= {reference.variable}
        if reference.argument is None:
            return Aggregate(f"count_{reference.variable}", AggregateKind.COUNT, reference.variable)
        self._check_argument(tree)
        column = reference.argument
        plain = column.name if isinstance(column, exp.Column) else "value"
        payload = self._payload_column(reference.argument)
        chosen = AggregateKind.COUNT_VALUE if function == "count" else AggregateKind(function)
        return Aggregate(f"{function}_{reference.variable}_{plain}", chosen, reference.variable, payload)

    def _not_of_a_group(self, item: OutputItem) -> BindError:
        assert self.query.group_by is not None
        columns = {
            GroupUnit.PARTITION: [],
            GroupUnit.END: [MATCH_END],
            GroupUnit.WINDOW: [WINDOW_START, WINDOW_END],
        }[self.query.group_by.unit]
        plain = [name.text for name in self.query.partition_by] + columns
        listed = f"{', '.join(plain)}, " if plain else ""
        return BindError(
            "NOT_OF_A_GROUP",
            f"{item.expression.sql} is not one value for all matches of a group.",
            text=self.text,
            span=span_of(item.expression.tree) or item.span,
            hint=f"With GROUP BY {self.query.group_by.unit.name} SELECT may hold {listed}COUNT(*), and COUNT, SUM, AVG, MIN, MAX "
            "of a variable's events.",
        )


class _ScoreBinder:
    """Takes a score apart into what each event adds to it."""

    def __init__(self, query: Query, binder: OutputBinder) -> None:
        assert query.order_by is not None
        self._query = query
        self._binder = binder
        self._tree = query.order_by.score.tree
        self._found: list[Term] = []

    def terms(self) -> tuple[Term, ...]:
        self._take(self._tree, 1.0)
        if not self._found:
            raise self._refused(self._tree, "reads no event")
        self._binder.keep_variables({term.variable for term in self._found})
        return tuple(self._found)

    def _take(self, node: exp.Expression, factor: float) -> None:
        match node:
            case exp.Paren():
                self._take(node.this, factor)
            case exp.Neg():
                self._take(node.this, -factor)
            case exp.Add() | exp.Sub() if only_bare(node) is None:
                self._take(node.this, factor)
                self._take(node.expression, factor if isinstance(node, exp.Add) else -factor)
            case exp.Mul() if _constant(node.this) is not None:
                self._take(node.expression, factor * (_constant(node.this) or 0.0))
            case exp.Mul() if _constant(node.expression) is not None:
                self._take(node.this, factor * (_constant(node.expression) or 0.0))
            case exp.Div() if _constant(node.expression):
                self._take(node.this, factor / (_constant(node.expression) or 1.0))
            case exp.Literal() if _constant(node) is not None:
                pass  # the same for all matches
            case _:
                self._leaf(node, factor)

    def _leaf(self, node: exp.Expression, factor: float) -> None:
        kind = function_kind(node)
        if kind not in (None, "sum", "count"):
            raise self._refused(node, "does not add up over events")
        if kind is None and only_bare(node) is None:
            raise self._refused(node, "relates several events")
        variable, payload = self._binder.score_column(node)
        self._found.append(Term(factor, variable, payload))

    def _refused(self, node: exp.Expression, why: str) -> BindError:
        assert self._query.order_by is not None
        return BindError(
            "SCORE_DOES_NOT_ADD_UP",
            f"The best matches are found without listing all only by a score that adds up over their events; "
            f"{node.sql(dialect='spark')} {why}.",
            text=self._query.text or None,
            span=span_of(node) or self._query.order_by.span,
            hint="Write sums and differences of SUM(b.x), COUNT(b) and a.x (of a single event), with constant factors.",
        )


def _constant(node: exp.Expression) -> float | None:
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Neg):
        inner = _constant(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Literal) and not node.is_string:
        return float(node.this)
    return None


def describe_unit(groups: Groups) -> str:
    """Return in words what a row stands for.

    >>> describe_unit(Groups(GroupUnit.END, None, (), 0))
    'one row for each key and event at which matches end'
    """
    if groups.unit is GroupUnit.PARTITION:
        return "one row for each key"
    if groups.unit is GroupUnit.END:
        return "one row for each key and event at which matches end"
    return "one row for each key and window in which matches end"


def describe_leaving(groups: Groups) -> str:
    """Return in words when a row leaves on a stream.

    >>> describe_leaving(Groups(GroupUnit.PARTITION, None, (), None))
    'on a stream: refused, the matches of a key are never complete there'
    """
    if groups.unit is GroupUnit.PARTITION:
        return "on a stream: refused, the matches of a key are never complete there"
    passed = "its end event" if groups.unit is GroupUnit.END else "its window"
    return f"on a stream: a row leaves when the watermark has passed {passed}; what new events can reach is held, and open totals"
