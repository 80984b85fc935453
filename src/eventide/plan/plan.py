"""From a query and the schema of its events to a Plan: the chain of planning, one statement a step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eventide.errors import BindError, did_you_mean
from eventide.match.dag.kernel import CONSUME_ALL, CONSUME_NONE, CONSUME_SLOT
from eventide.match.dag.selection import Keep
from eventide.pattern import Consumption, Selector, Strategy, WindowUnit
from eventide.plan.expressions.evaluable import check_evaluable
from eventide.plan.expressions.operators import OpaqueCondition, ValueColumn
from eventide.plan.expressions.references import ALL_EVENTS, span_of
from eventide.plan.matchers.choice import RECOMPUTE, SHARED_DAG, Choice, choose_matcher, explodes, loops_freely, uses_strategy
from eventide.plan.matchers.recompute import preferred_choice, recompute_reason
from eventide.plan.rewrite import RULES
from eventide.plan.schema import Kind, StreamSchema
from eventide.plan.sequences.automaton import Automaton
from eventide.plan.sequences.binding import BoundPattern, bind_pattern, own_names
from eventide.plan.sequences.conditions import Compiled, ConditionCompiler
from eventide.plan.sequences.labelling import Labelling
from eventide.plan.sequences.predicates import Predicate, assign_predicates, check_untyped_streams, with_bits
from eventide.plan.sequences.windows import BoundWindow, bind_window, implied_window, reads_clock
from eventide.plan.totals.methods import Cost, Way, choose_way
from eventide.plan.totals.results import Best, Drawn, Groups, Results, bind_results, binder_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlglot import exp

    from eventide.pattern import Query
    from eventide.plan.sequences.output import OutputBinder, OutputPlan
    from eventide.plan.sequences.structure import Node

    Describe = Callable[[Sequence[exp.Expression]], list[Kind]]
    Rule = Callable[[Query, BoundPattern, StreamSchema | None], list[str]]

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


@dataclass(frozen=True)
class Plan:
    """All that a runtime needs to run a query, free of the engine that runs it."""

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
    conditions: tuple[Compiled, ...]
    refined: tuple[str, ...]
    absence_conditions: tuple[tuple[Compiled, ...], ...]
    checked_absences: tuple[int, ...]
    constants: tuple[int, ...]
    variables: tuple[str, ...]
    output: OutputPlan
    choice: Choice
    warnings: tuple[str, ...]
    results: Results | None = None

    @property
    def keep(self) -> Keep:
        """What the selector keeps."""
        return _KEEP[self.query.selector]

    @property
    def consume(self) -> int:
        """The kernel's number for CONSUME BY."""
        return _CONSUME[self.query.consumption]

    @property
    def checked(self) -> bool:
        """Whether matches must be judged while they are enumerated."""
        return bool(self.conditions or self.checked_absences)

    @property
    def leading(self) -> tuple[int, ...]:
        """Kernel numbers of the absences before the first event."""
        return tuple(self.checked_absences.index(index) for index in self.bound.leading)

    @property
    def trailing(self) -> tuple[int, ...]:
        """Kernel numbers of the absences after the last event."""
        return tuple(self.checked_absences.index(index) for index in self.bound.trailing)

    @property
    def certain_after(self) -> int:
        """How much later than its last event a match can become certain on a stream: the window, with NOT at the end."""
        return int(self.window.size) if self.trailing and self.window is not None else 0

    @property
    def gaps_checked(self) -> bool:
        """Whether absences between events are checked on found matches."""
        return bool(set(self.checked_absences) - set(self.bound.leading) - set(self.bound.trailing))

    @property
    def forbidden_bits(self) -> tuple[int, ...]:
        """The bit of each absence that is checked on matches."""
        return tuple(self.bound.absences[index].bit for index in self.checked_absences)

    @property
    def drops_irrelevant(self) -> bool:
        """Whether events that set no bit can be left out before matching: they break no contiguity and count for no window."""
        counts = self.window is not None and self.window.unit is WindowUnit.EVENTS
        strict = uses_strategy(self.root, Strategy.STRICT) or self.query.selector is Selector.STRICT
        return not counts and not strict

    @property
    def interleaved(self) -> bool:
        """Whether keys depend on each other, so that their events must be taken in the order of time."""
        return self.query.consumption is Consumption.ANY

    @property
    def explosive(self) -> bool:
        """Whether matches can outgrow the events exponentially."""
        return loops_freely(self.root)

    @property
    def most_rows(self) -> int | None:
        """How many rows the result has at most, where the query says so."""
        return self.results.size if isinstance(self.results, Drawn) else self.query.limit

    def way(self) -> Way:
        """Return how results over all matches are computed."""
        return choose_way(self)

    def told_apart(self) -> frozenset[str]:
        """Return the variables that labels must tell apart; forgetting the others shares their matches."""
        judged = (*self.conditions, *(condition for group in self.absence_conditions for condition in group))
        counts_all = any(variable == ALL_EVENTS for condition in judged for variable, _ in condition.sets)
        if self.keep is not Keep.ALL or self.choice.forward or self.gaps_checked or counts_all:
            # Between which events a gap lies, and how many COUNT(*) counts, must be seen, whether or not they are shown.
            return frozenset(v for occurrence in self.bound.occurrences for v in occurrence.variables)
        return frozenset(self.variables) | self.output.needs

    def occurrence_labels(self) -> list[tuple[str, ...]]:
        """Return the variables that each occurrence binds, of those told apart."""
        wanted = self.told_apart()
        return [tuple(sorted(wanted & frozenset(occurrence.variables))) for occurrence in self.bound.occurrences]

    def automaton(self) -> Automaton:
        """Make the automaton of the query."""
        return Automaton.build(
            self.root,
            [occurrence.bit for occurrence in self.bound.occurrences],
            self.occurrence_labels(),
            contiguous=self.query.selector is Selector.STRICT,
        )

    def labelling(self, automaton: Automaton) -> Labelling:
        """Lay the conditions out by the automaton's labels."""
        return Labelling(
            automaton,
            self.root,
            {name: number for number, name in enumerate(self.variables)},
            self.conditions,
            self.absence_conditions,
            self.leading,
            self.trailing,
            self.constants,
            self.output.kept,
            self.choice.forward,
            tuple(self.bound.absences[index].operand for index in self.checked_absences),
        )

    def with_small_windows(self) -> Plan:
        """Return the plan for windows that turned out to be small."""
        if self.choice.fallback is None:
            return self
        reason = "the windows hold few events"
        return replace(self, choice=Choice(self.choice.fallback, reason))

    @property
    def deduplicate(self) -> bool:
        """Whether different paths of the automaton can show the same match."""
        labels = set(self.occurrence_labels())
        shown = [self.output.kept & frozenset(label) for label in labels if label]
        return len(set(shown)) != len(shown) or frozenset() in shown or self.gaps_checked


def make_plan(
    query: Query,
    streams: Mapping[str, StreamSchema],
    describe: Describe,
    *,
    matcher: str | None = None,
    rules: Sequence[Rule] = RULES,
) -> Plan:
    """Plan a query for events of the given schemas; without streams the plan serves explanation only."""
    text = query.text or None
    chosen_streams = _choose_streams(query, streams)
    schema = merged_schema(chosen_streams)
    bound = bind_pattern(query)
    check_untyped_streams(bound, chosen_streams, text)
    keys = _partition_keys(query, schema)
    window = bind_window(query, schema) or implied_window(query, bound.root, schema)
    derived = [column for rule in rules for column in rule(query, bound, schema)]
    predicates = assign_predicates(bound, schema, chosen_streams, text)
    compiler = ConditionCompiler(schema, describe, text)
    output_binder = binder_of(query)(query, bound, schema)
    conditions, refined = _compile_conditions(query, bound, compiler, output_binder)
    checked = _checked_absences(bound)
    absence_conditions = _compile_absences(bound, checked, compiler, text)
    root = with_bits(bound.root, bound.absences, {index: number for number, index in enumerate(checked)})
    output, results = bind_results(query, output_binder)
    _refuse_consumed_trailing(query, bound)
    if schema is not None:
        check_evaluable(query, bound, schema, describe)
    plan = Plan(
        query,
        tuple(chosen_streams.items()),
        tuple(keys),
        tuple(derived),
        window,
        bound,
        root,
        tuple(predicates),
        tuple(compiler.columns),
        tuple(compiler.pool.strings),
        tuple(conditions),
        tuple(refined),
        absence_conditions,
        checked,
        tuple(compiler.pool.constants),
        tuple(compiler.variables),
        output,
        choose_matcher(query, root, conditions, matcher),
        explodes(query, root),
        results,
    )
    _refuse_recomputation(plan)
    if matcher is None and plan.choice.matcher == SHARED_DAG and conditions:
        plan = replace(plan, choice=preferred_choice(plan))
    return plan if results is None else replace(plan, warnings=_result_warnings(plan))


def _result_warnings(plan: Plan) -> tuple[str, ...]:
    """Return a warning where a result over all matches needs every match, before it runs."""
    if plan.way().cost is not Cost.ENUMERATION:
        return ()
    asked = "GROUP BY" if isinstance(plan.results, Groups) else "ORDER BY" if isinstance(plan.results, Best) else "SAMPLE"
    return (f"{asked} enumerates every match here, because {plan.way().reason}.", *plan.warnings)


def merged_schema(streams: Mapping[str, StreamSchema]) -> StreamSchema | None:
    """Return the columns of all streams together, or None when there are none."""
    if not streams:
        return None
    columns: dict[str, Kind] = {}
    for name, schema in streams.items():
        for column, kind in schema.columns.items():
            if columns.setdefault(column, kind) is not kind:
                raise BindError(
                    "COLUMN_KINDS_DIFFER",
                    f"The column {column} is a {columns[column].value} in one stream and a {kind.value} in {name}.",
                    hint="Convert or rename the column in one of the streams.",
                )
    first = next(iter(streams.values()))
    for name, schema in streams.items():
        counts = schema.columns[schema.time] is Kind.INTEGER
        units = {schema.time_unit, first.time_unit} - {None}
        if counts != (first.columns[first.time] is Kind.INTEGER) or (counts and len(units) > 1):
            raise BindError(
                "TIMES_DIFFER",
                f"The times of {name} are not counted as those of {next(iter(streams))}.",
                hint="Give all streams timestamps, or whole numbers with the same time_unit.",
            )
    return StreamSchema(columns, first.time, first.type, first.tie_break, None, first.time_unit)


def _choose_streams(query: Query, streams: Mapping[str, StreamSchema]) -> dict[str, StreamSchema]:
    if not streams:
        return {}
    if not query.streams:
        return dict(streams)
    names = [name.text for name in query.streams]
    if len(names) == 1 and len(streams) == 1:
        # One stream needs no name: q.match(events) runs whatever FROM calls it.
        return {names[0]: next(iter(streams.values()))}
    for name in query.streams:
        if name.text not in streams:
            raise BindError(
                "UNKNOWN_STREAM",
                f"No events were given for the stream {name.text}.",
                text=query.text or None,
                span=name.span,
                hint=f"Give them by name: q.match({name.text}=et.events(...)). {did_you_mean(name.text, streams)}",
            )
    return {name: streams[name] for name in names}


def _partition_keys(query: Query, schema: StreamSchema | None) -> list[str]:
    keys = []
    for name in query.partition_by:
        resolved = name.text if schema is None else schema.resolve(name.text)
        if resolved is None:
            assert schema is not None
            raise BindError(
                "UNKNOWN_ATTRIBUTE",
                f"The events have no attribute {name.text} to partition by.",
                text=query.text or None,
                span=name.span,
                hint=did_you_mean(name.text, schema.columns),
            )
        keys.append(resolved)
    return keys


def _compile_conditions(
    query: Query, bound: BoundPattern, compiler: ConditionCompiler, output: OutputBinder
) -> tuple[list[Compiled], list[str]]:
    compiled: list[Compiled] = []
    refined: list[str] = []
    for condition in bound.conditions:
        try:
            judged = compiler.reading_clock() if reads_clock(condition) else compiler
            compiled.append(judged.compile(condition.tree, scope=condition.scope, source=condition.source))
        except OpaqueCondition as opaque:
            simple = condition.scope is None and query.selector in (Selector.ALL, Selector.STRICT)
            chosen = query.limit is not None or query.sample is not None or query.group_by is not None
            if not simple or query.consumption is not Consumption.NONE or chosen:
                where = "with a selector, CONSUME BY, GROUP BY, LIMIT, SAMPLE or inside a nested FILTER"
                raise _opaque_error(opaque, query, where) from None
            if uses_strategy(bound.root, Strategy.NEXT):
                raise _opaque_error(opaque, query, "under skip-till-next, where it says which events may be skipped") from None
            single = {reference.variable for reference in condition.references if reference.kind == "bare"}
            if any(reference.variable in single for reference in condition.references if reference.kind != "bare"):
                raise _opaque_error(opaque, query, "with an aggregate so far") from None
            output.refine(condition.tree, single)
            refined.append(condition.source)
    return compiled, refined


def _opaque_error(opaque: OpaqueCondition, query: Query, where: str) -> BindError:
    return BindError(
        "OPAQUE_CONDITION",
        f"{opaque} relates events by a function that matching does not know, which does not work {where}.",
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
) -> tuple[tuple[Compiled, ...], ...]:
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
                    f"{opaque} relates a negated event by a function that matching does not know.",
                    text=text,
                    span=span_of(opaque.node),
                    hint="Compute the values in columns of the events first and compare those.",
                ) from None
        groups.append(tuple(group))
    return tuple(groups)


def _refuse_recomputation(plan: Plan) -> None:
    reason = recompute_reason(plan) if plan.choice.matcher == RECOMPUTE else None
    if reason is not None:
        raise BindError(
            "MATCHER_NOT_SOUND",
            f"Recomputation cannot run the query: {reason}.",
            text=plan.query.text or None,
            hint="Leave the choice to the planner, or ask for a sequence of events and loops of one event with SELECT ALL.",
        )


def _refuse_consumed_trailing(query: Query, bound: BoundPattern) -> None:
    if bound.trailing and query.consumption is not Consumption.NONE:
        raise BindError(
            "CONSUME_WITH_TRAILING_NOT",
            "With NOT at the end a match is known only later, when its events would already have been consumed.",
            text=query.text or None,
            span=bound.absences[bound.trailing[0]].span,
            hint="Leave CONSUME BY out, or end the pattern with an event.",
        )
