"""The render model of a plan: what every format shows, free of how it looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eventide.explain.kinds.sequence_states import AutomatonView, shown_variable, view_automaton
from eventide.pattern import Strategy, Window, WindowUnit
from eventide.pattern.sequence_printing import quote_name, to_ceql, window_to_ceql
from eventide.plan.matchers.recompute import condition_kinds
from eventide.plan.sequences.structure import BoundAbsence, uses_strategy
from eventide.plan.sequences.windows import most_events
from eventide.plan.totals.methods import Growth
from eventide.plan.totals.results import Best, Groups, describe_leaving, describe_unit

if TYPE_CHECKING:
    from eventide.plan.plan import Plan
    from eventide.plan.sequences.structure import Occurrence

LOCAL = "local"
CORRELATED = "correlated"
OPAQUE = "opaque"
PAIR_BY_PAIR = "the events of a window are compared pair by pair, once for each start where starts must be told apart"


@dataclass(frozen=True)
class StreamView:
    """A stream and the columns that have a role."""

    name: str
    roles: tuple[tuple[str, str], ...]
    columns: int


@dataclass(frozen=True)
class KeyView:
    """A partition key; `derived` when equalities between events made it one."""

    column: str
    derived: bool


@dataclass(frozen=True)
class PredicateView:
    """A condition with its class; `bit` is its place in the symbol mask where it has one."""

    bit: int | None
    kind: str
    text: str
    used_by: tuple[str, ...]
    use: str = ""
    """What recomputation makes of it."""


@dataclass(frozen=True)
class AbsenceView:
    """An event that must not occur, where, and who checks it."""

    text: str
    place: str
    bit: int
    on_matches: bool


@dataclass(frozen=True)
class ColumnView:
    """A column of the result and what it holds."""

    name: str
    content: str


@dataclass(frozen=True)
class Explanation:
    """A whole plan, ready to be drawn."""

    query: str
    streams: tuple[StreamView, ...]
    keys: tuple[KeyView, ...]
    window: str
    step_window: str | None
    strategy: str
    selector: str
    consumption: str
    limit: int | None
    predicates: tuple[PredicateView, ...]
    absences: tuple[AbsenceView, ...]
    automaton: AutomatonView
    matcher: str
    reason: str
    results: tuple[str, ...]
    warnings: tuple[str, ...]
    drops_irrelevant: bool
    columns: tuple[ColumnView, ...]
    physical: str | None


def explanation_of(plan: Plan, physical: str | None = None) -> Explanation:
    """Return what a plan has to show."""
    query = plan.query
    return Explanation(
        to_ceql(query),
        _streams(plan),
        tuple(KeyView(key, derived=False) for key in plan.keys)
        + tuple(KeyView(key, derived=True) for key in plan.derived_keys),
        _window(plan),
        _step_window(plan),
        _strategy(plan),
        query.selector.name,
        query.consumption.name,
        query.limit,
        tuple(_predicates(plan)),
        tuple(_absence(plan, absence) for absence in plan.bound.absences),
        view_automaton(plan.automaton(), predicate_names(plan), _absence_names(plan), no_bit_seen=not plan.drops_irrelevant),
        plan.choice.matcher,
        plan.choice.reason,
        _results(plan),
        plan.warnings,
        plan.drops_irrelevant,
        tuple(_columns(plan)),
        physical,
    )


def predicate_names(plan: Plan) -> list[str]:
    """Return a short name for each bit: the type, and the conditions where there are some."""
    names = []
    for bit in range(len(plan.predicates)):
        member = _members(plan, bit)[0]
        conditions = " AND ".join(condition.sql(dialect="spark") for condition in member.conditions)
        names.append(f"{_event_name(member)} [{conditions}]" if conditions else _event_name(member))
    return names


def _members(plan: Plan, bit: int) -> list[Occurrence | BoundAbsence]:
    return [member for member in plan.bound.members if member.bit == bit]


def _event_name(member: Occurrence | BoundAbsence) -> str:
    prefix = f"{quote_name(member.stream)}>" if member.stream is not None else ""
    return prefix + (quote_name(member.type) if member.type is not None else "any event")


def _streams(plan: Plan) -> tuple[StreamView, ...]:
    views = []
    for name, schema in plan.streams:
        roles = [("time", f"{schema.time} ({schema.columns[schema.time].value})")]
        if schema.time_unit is not None:
            roles.append(("time unit", schema.time_unit))
        if schema.type is not None:
            roles.append(("type", schema.type))
        if schema.tie_break is not None:
            roles.append(("tie-break", schema.tie_break))
        views.append(StreamView(name, tuple(roles), len(schema.columns)))
    return tuple(views)


def _window(plan: Plan) -> str:
    window = plan.query.window
    if window is None:
        step, most = plan.query.step_window, most_events(plan.root)
        if step is not None and most is not None:
            return f"none: with {most} events at most, the steps bound a match to {_times(step, most - 1)}"
        return "none: a match may be as long as the stream"
    text = window_to_ceql(window)
    if window.slide is not None:
        return f"{text}: first and last event lie in one of the sliding windows"
    if window.unit is WindowUnit.EVENTS:
        return f"{text}: positions of first and last event differ by at most {window.size}"
    if window.unit is WindowUnit.ATTRIBUTE:
        return f"{text}: {window.attribute} grows by at most {window.size} from first to last event"
    counted = ""
    if plan.window is not None and plan.window.size != window.size:
        counted = f" ({plan.window.size} units of the time column)"
    return f"{text}{counted}: from first to last event, inclusive"


def _times(window: Window, count: int) -> str:
    return window_to_ceql(Window(window.unit, window.size * count))


def _step_window(plan: Plan) -> str | None:
    window = plan.query.step_window
    return None if window is None else f"{window_to_ceql(window)} between steps: from each event to the next one, inclusive"


def _strategy(plan: Plan) -> str:
    used = [strategy.value for strategy in Strategy if uses_strategy(plan.root, strategy)]
    if not used:
        return "none: the pattern has neither gaps nor loops"
    return used[0] if len(used) == 1 else f"{', '.join(used)}: each gap and loop has its own"


def _predicates(plan: Plan) -> list[PredicateView]:
    views = []
    for bit, name in enumerate(predicate_names(plan)):
        users = dict.fromkeys(_user(member) for member in _members(plan, bit))
        views.append(PredicateView(bit, LOCAL, name, tuple(user for user in users if user)))
    uses = condition_kinds(plan) if plan.choice.recomputes else ("",) * len(plan.conditions)
    views.extend(
        PredicateView(None, CORRELATED, condition.source, _variables(condition.slots, condition.sets), use)
        for condition, use in zip(plan.conditions, uses, strict=True)
    )
    views.extend(
        PredicateView(None, CORRELATED, condition.source, ("NOT", *_variables(condition.slots, condition.sets)))
        for group in plan.absence_conditions
        for condition in group
    )
    views.extend(PredicateView(None, OPAQUE, source, ()) for source in plan.refined)
    return views


def _user(member: Occurrence | BoundAbsence) -> str:
    if isinstance(member, BoundAbsence):
        return "NOT"
    # A type is a variable of its own; it is worth showing where the user gave no other name.
    named = [variable for variable in member.variables[1:] if shown_variable(variable)]
    return " ".join(named or [variable for variable in member.variables if shown_variable(variable)])


def _variables(slots: tuple[str, ...], sets: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    # A nested FILTER gives its variables a suffix of their own: b@0 is b inside that FILTER.
    names = (name.partition("@")[0] for name in (*slots, *(variable for variable, _ in sets)))
    return tuple(dict.fromkeys(name for name in names if name))


def _absence(plan: Plan, absence: BoundAbsence) -> AbsenceView:
    event = _event_name(absence)
    text = event if absence.variable in (absence.type, "event") else f"{event} AS {quote_name(absence.variable)}"
    conditions = [condition.sql(dialect="spark") for condition in (*absence.conditions, *absence.correlated)]
    if conditions:
        text += f" FILTER {' AND '.join(conditions)}"
    place = "between two steps"
    if absence.index in plan.bound.leading:
        place = "before the first event, inside the window"
    elif absence.index in plan.bound.trailing:
        place = "after the last event, inside the window"
    return AbsenceView(f"NOT {text}", place, absence.bit, absence.index in plan.checked_absences)


def _absence_names(plan: Plan) -> list[str]:
    return [plan.bound.absences[index].variable for index in plan.checked_absences]


def _results(plan: Plan) -> tuple[str, ...]:
    """Say what is asked of all matches, and how it is computed."""
    if plan.results is None:
        return ()
    method = plan.totals_method
    listed = f"enumeration: {method.reason}"
    if isinstance(plan.results, Groups):
        lines = [describe_unit(plan.results)]
        propagated_as = f"{method.growth.value}: {method.reason}; no match is listed"
        lines.append(listed if method.growth is Growth.ENUMERATION else propagated_as)
        if method.growth is Growth.POLYNOMIAL:
            lines.append(PAIR_BY_PAIR)
        lines.append("exact: whole numbers of 64 bits where they suffice, else remainders by as many 31-bit primes as needed")
        lines.append(describe_leaving(plan.results))
        return tuple(lines)
    propagated = method.growth is not Growth.ENUMERATION
    lines = []
    if isinstance(plan.results, Best):
        order = "largest" if plan.results.descending else "smallest"
        lines.append(f"the {plan.results.limit} matches with the {order} score")
        walk = "k-best: the best score of every end is propagated, then walked back from the best ends; no other match is listed"
        lines.append(walk if propagated else f"{listed}; the best are kept")
    else:
        lines.append(f"{plan.results.size} matches drawn at random")
        draw = "path sampling: matches are numbered by exact path counts, drawn by number, walked back; no other match is listed"
        lines.append(draw if propagated else f"{listed}; the lowest random ranks are kept")
    if propagated:
        lines.append(f"{method.growth.value}: {method.reason}")
    if method.growth is Growth.POLYNOMIAL:
        lines.append(PAIR_BY_PAIR)
    return tuple(lines)


def _columns(plan: Plan) -> list[ColumnView]:
    query = plan.query
    names = [column.name for column in plan.output.columns]
    if query.output is not None:
        return [ColumnView(name, _content(plan, item.expression.sql)) for name, item in zip(names, query.output, strict=True)]
    keys = [ColumnView(name, "partition key") for name in names[: len(query.partition_by)]]
    first, last, *variables = names[len(query.partition_by) :]
    times = [ColumnView(first, "time of the first event"), ColumnView(last, "time of the last event")]
    return [*keys, *times, *(ColumnView(name, _events_of(name)) for name in variables)]


def _content(plan: Plan, sql: str) -> str:
    return _events_of(sql) if any(sql == quote_name(v) for o in plan.bound.occurrences for v in o.variables) else sql


def _events_of(variable: str) -> str:
    return f"list of the events of {variable}"
