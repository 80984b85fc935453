"""Compiling a bound query: predicates, programs, output, and the facts that reasons and runtimes ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eventide.errors import BindError
from eventide.match.dag.kernel import CONSUME_ALL, CONSUME_NONE, CONSUME_SLOT
from eventide.match.protocol import Keep
from eventide.pattern import Consumption, Selector, Strategy, WindowUnit
from eventide.plan.expressions.evaluable import check_evaluable
from eventide.plan.expressions.operators import OpaqueCondition
from eventide.plan.expressions.references import span_of
from eventide.plan.recompute.searched_sequences import searched_or_reason
from eventide.plan.sequences.binding import own_names
from eventide.plan.sequences.conditions import ConditionCompiler
from eventide.plan.sequences.predicates import assign_predicates, with_bits
from eventide.plan.sequences.size import refuse_large
from eventide.plan.sequences.structure import loops_freely, uses_strategy
from eventide.plan.sequences.windows import reads_clock
from eventide.plan.totals.results import MatchSample, bind_results, binder_of
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlglot import exp

    from eventide.pattern import Query
    from eventide.plan.expressions.operators import ValueColumn
    from eventide.plan.expressions.schema import StreamSchema
    from eventide.plan.recompute.searched_sequences import SearchedSequence
    from eventide.plan.sequences.binding import BoundPattern
    from eventide.plan.sequences.bound_query import BoundQuery
    from eventide.plan.sequences.conditions import CompiledCondition
    from eventide.plan.sequences.output import OutputBinder, OutputPlan
    from eventide.plan.sequences.predicates import Predicate
    from eventide.plan.sequences.structure import Node
    from eventide.plan.sequences.windows import BoundWindow
    from eventide.plan.totals.results import Results

_KEEP = {
    Selector.ALL: Keep.ALL,
    Selector.STRICT: Keep.ALL,
    Selector.ANY: Keep.ANY,
    Selector.NEXT: Keep.NEXT,
    Selector.LAST: Keep.LAST,
    Selector.MAX: Keep.MAX,
}
_CONSUME = {
    Consumption.NONE: CONSUME_NONE,
    Consumption.PARTITION: CONSUME_SLOT,
    Consumption.ANY: CONSUME_ALL,
}


@record(kw_only=True)
class CompiledQuery:
    """A query as data for every matcher; a Plan says in addition which of them runs it."""

    query: Query
    streams: tuple[tuple[str, StreamSchema], ...]
    keys: tuple[str, ...]
    derived_keys: tuple[str, ...]
    window: BoundWindow | None
    bound: BoundPattern
    root: Node
    predicates: tuple[Predicate, ...]
    values: tuple[ValueColumn, ...]
    strings: tuple[str, ...]
    conditions: tuple[CompiledCondition, ...]
    refined: tuple[str, ...]
    absence_conditions: tuple[tuple[CompiledCondition, ...], ...]
    checked_absences: tuple[int, ...]
    constants: tuple[int, ...]
    variables: tuple[str, ...]
    output: OutputPlan
    results: Results | None

    keep: Keep
    """What the selector keeps."""
    consume: int
    """The kernel's number for CONSUME BY."""
    consumes: bool
    """Whether a match takes its events away from later ones."""
    compares_matches: bool
    """Whether the selector compares the matches that end at one event."""
    timed: bool
    """Whether the window is a length of time."""
    checked: bool
    """Whether matches must be judged while they are enumerated."""
    leading: tuple[int, ...]
    """Kernel numbers of the absences before the first event."""
    trailing: tuple[int, ...]
    """Kernel numbers of the absences after the last event."""
    hold: int
    """How much later than its last event a match can become certain on a stream: the window, with NOT at the end."""
    gaps_checked: bool
    """Whether absences between events are checked on found matches."""
    forbidden_bits: tuple[int, ...]
    """The bit of each absence that is checked on matches."""
    drops_irrelevant: bool
    """Whether events that set no bit can be left out before matching: they break no contiguity and count for no window."""
    interleaved: bool
    """Whether keys depend on each other, so that their events must be taken in the order of time."""
    explosive: bool
    """Whether matches can outgrow the events exponentially."""
    most_rows: int | None
    """How many rows the result has at most, where the query says so."""
    forgets: frozenset[int]
    """The occurrences of which the result shows nothing."""
    searched: tuple[SearchedSequence, ...] | str = ""
    """The sequences that recomputation would search, or why there are none."""


def compile_query(bound: BoundQuery) -> CompiledQuery:
    """Compile a bound query."""
    query, schema, window, text = bound.query, bound.schema, bound.window, bound.query.text or None
    refuse_large(bound.pattern, text)
    pattern, predicates = assign_predicates(bound.pattern, schema, dict(bound.streams), text)
    compiler = ConditionCompiler(schema, bound.kinds_of, text)
    output_binder = binder_of(query)(query, pattern, schema)
    conditions, refined = _compile_conditions(query, pattern, compiler, output_binder)
    checked = _checked_absences(pattern)
    absence_conditions = _compile_absences(pattern, checked, compiler, text)
    output, results = bind_results(query, output_binder)
    _refuse_consumed_trailing(query, pattern)
    if schema is not None:
        check_evaluable(_expressions(query, pattern), schema, bound.kinds_of, text)
    root = with_bits(pattern.root, pattern.absences, {index: number for number, index in enumerate(checked)})
    trailing = tuple(checked.index(index) for index in pattern.trailing)
    strict = uses_strategy(root, Strategy.STRICT) or query.selector is Selector.STRICT
    keep, consume = _KEEP[query.selector], _CONSUME[query.consumption]
    compiled = CompiledQuery(
        query=query,
        streams=bound.streams,
        keys=bound.keys,
        derived_keys=bound.derived_keys,
        window=window,
        bound=pattern,
        root=root,
        predicates=predicates,
        values=tuple(compiler.columns),
        strings=tuple(compiler.pool.strings),
        conditions=conditions,
        refined=refined,
        absence_conditions=absence_conditions,
        checked_absences=checked,
        constants=tuple(compiler.pool.constants),
        variables=tuple(compiler.variables),
        output=output,
        results=results,
        keep=keep,
        consume=consume,
        consumes=consume != CONSUME_NONE,
        compares_matches=keep is not Keep.ALL,
        timed=window is not None and window.unit.timed,
        checked=bool(conditions or checked),
        leading=tuple(checked.index(index) for index in pattern.leading),
        trailing=trailing,
        hold=int(window.size) if trailing and window is not None else 0,
        gaps_checked=bool({*checked} - {*pattern.leading} - {*pattern.trailing}),
        forbidden_bits=tuple(pattern.absences[index].bit for index in checked),
        drops_irrelevant=not strict and (window is None or window.unit is not WindowUnit.EVENTS),
        interleaved=query.consumption is Consumption.ANY,
        explosive=loops_freely(root),
        most_rows=results.size if isinstance(results, MatchSample) else query.limit,
        forgets=forgotten(pattern, output),
    )
    return replace(compiled, searched=searched_or_reason(compiled))


def forgotten(pattern: BoundPattern, output: OutputPlan) -> frozenset[int]:
    """Return the occurrences of which a result shows nothing."""
    return frozenset(one.index for one in pattern.occurrences if not output.kept & frozenset(one.variables))


def _compile_conditions(
    query: Query, bound: BoundPattern, compiler: ConditionCompiler, output: OutputBinder
) -> tuple[tuple[CompiledCondition, ...], tuple[str, ...]]:
    compiled: list[CompiledCondition] = []
    refined: list[str] = []
    for condition in bound.conditions:
        try:
            judged = compiler.reading_clock() if reads_clock(condition) else compiler
            compiled.append(judged.compile(condition.tree, scope=condition.scope, source=condition.source))
        except OpaqueCondition as opaque:
            chosen = query.limit is not None or query.sample is not None or query.group_by is not None
            if condition.scope is not None or _KEEP[query.selector] is not Keep.ALL or query.consumes or chosen:
                where = "with a selector, CONSUME BY, GROUP BY, LIMIT, SAMPLE or inside a nested FILTER"
                raise _opaque_error(opaque, query, where) from None
            if uses_strategy(bound.root, Strategy.NEXT):
                raise _opaque_error(opaque, query, "under skip-till-next, where it says which events may be skipped") from None
            single = {reference.variable for reference in condition.references if reference.kind == "bare"}
            if any(reference.variable in single for reference in condition.references if reference.kind != "bare"):
                raise _opaque_error(opaque, query, "with an aggregate so far") from None
            output.refine(condition.tree, single)
            refined.append(condition.source)
    return tuple(compiled), tuple(refined)


def _opaque_error(opaque: OpaqueCondition, query: Query, where: str) -> BindError:
    return BindError(
        "OPAQUE_CONDITION",
        f"{opaque} compares events with a function the matcher cannot evaluate, which is not supported {where}.",
        text=query.text or None,
        span=span_of(opaque.node),
        hint="Compute the values in columns of the events first and compare those.",
    )


def _checked_absences(bound: BoundPattern) -> tuple[int, ...]:
    around = {*bound.leading, *bound.trailing}
    # Under next, a NOT with conditions on other variables is judged on whole matches, also when a key makes them true.
    tied = {absence.index for absence in bound.absences if absence.tied} if uses_strategy(bound.root, Strategy.NEXT) else set()
    return tuple(a.index for a in bound.absences if a.correlated or a.index in around or a.index in tied)


def _compile_absences(
    bound: BoundPattern, checked: tuple[int, ...], compiler: ConditionCompiler, text: str | None
) -> tuple[tuple[CompiledCondition, ...], ...]:
    groups = []
    bound_names = {variable for occurrence in bound.occurrences for variable in occurrence.variables}
    for index in checked:
        absence = bound.absences[index]
        group = []
        for tree in absence.correlated:
            try:
                names = tuple(sorted(own_names(absence, bound_names)))
                group.append(compiler.compile(tree, scope=None, source=tree.sql(dialect="spark"), outside=names))
            except OpaqueCondition as opaque:
                raise BindError(
                    "OPAQUE_CONDITION",
                    f"{opaque} compares a negated event with a function the matcher cannot evaluate.",
                    text=text,
                    span=span_of(opaque.node),
                    hint="Compute the values in columns of the events first and compare those.",
                ) from None
        groups.append(tuple(group))
    return tuple(groups)


def _refuse_consumed_trailing(query: Query, bound: BoundPattern) -> None:
    if bound.trailing and query.consumes:
        raise BindError(
            "CONSUME_WITH_TRAILING_NOT",
            "With NOT at the end a match is known only later, when its events would already have been consumed.",
            text=query.text or None,
            span=bound.absences[bound.trailing[0]].span,
            hint="Leave CONSUME BY out, or end the pattern with an event.",
        )


def _expressions(query: Query, bound: BoundPattern) -> Iterator[exp.Expression]:
    for occurrence in bound.occurrences:
        yield from occurrence.conditions
    for absence in bound.absences:
        yield from absence.conditions
        yield from absence.correlated
    for condition in bound.conditions:
        yield condition.tree
    for item in query.output or ():
        yield item.expression.tree
    if query.order_by is not None:
        yield query.order_by.score.tree
