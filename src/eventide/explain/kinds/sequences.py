"""What the plan of a sequence tells: the query, its predicates, its automaton and how matches are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.explain.kinds.sequence_predicates import absence_rows, predicate_names, predicate_rows
from eventide.explain.kinds.sequence_states import sequence_states
from eventide.explain.rendering.model import Description, Section
from eventide.pattern import Consumption, Selector, Strategy, Window, WindowUnit
from eventide.pattern.sequence_printing import quote_name, to_ceql, window_to_ceql
from eventide.plan.sequences.structure import uses_strategy
from eventide.plan.sequences.windows import most_events
from eventide.plan.totals.methods import Growth
from eventide.plan.totals.results import Best, Groups, describe_leaving, describe_unit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.explain.rendering.model import Row
    from eventide.plan.plan import Plan


def describe_sequence(plan: Plan, physical: str | None = None) -> Description:
    """Return how a query over events is run; `physical` is the relational engine's own plan.

    >>> from eventide.plan.matchers.registry import make_plan
    >>> from eventide.language import parse
    >>> describe_sequence(make_plan(parse("SELECT * WHERE A ; B"), {}, lambda trees: [])).parts[2].rows
    (('none: a match may be as long as the stream',),)
    """
    query = plan.query
    predicates = predicate_names(plan)
    absences = [plan.bound.absences[index].variable for index in plan.checked_absences]
    no_bit_seen = not plan.drops_irrelevant
    irrelevant = "dropped before the shuffle: an event that sets no bit changes no match"
    if no_bit_seen:
        irrelevant = "kept: events that set no bit count for contiguity or for the window"
    return Description(
        "query",
        to_ceql(query),
        (
            Section.of("streams", *_streams(plan)),
            Section("partition keys", tuple(_keys(plan))),
            Section.of("window", _window(plan), _step_window(plan)),
            Section.of("strategy", _strategy(plan)),
            Section.of("selector", None if query.selector is Selector.ALL else query.selector.name),
            Section.of("consume by", None if query.consumption is Consumption.NONE else query.consumption.name),
            Section.of("limit", None if query.limit is None else str(query.limit)),
            Section("predicates", tuple(predicate_rows(plan, predicates))),
            Section("absences", tuple(absence_rows(plan))),
            sequence_states(plan.automaton(), predicates, absences, no_bit_seen=no_bit_seen),
            Section.of("matcher", f"{plan.choice.matcher}: {plan.choice.reason}"),
            Section.of("results over all matches", *_results(plan)),
            Section.of("irrelevant events", irrelevant),
            Section("output", tuple(_columns(plan))),
        ),
        plan.warnings,
        physical,
    )


def _streams(plan: Plan) -> Iterator[str]:
    if not plan.streams:
        yield "not given: attributes and their types were not checked"
    for name, schema in plan.streams:
        roles = {
            "time": f"{schema.time} ({schema.columns[schema.time].value})",
            "time unit": schema.time_unit,
            "type": schema.type,
            "tie-break": schema.tie_break,
        }
        shown = ", ".join(f"{role} {column}" for role, column in roles.items() if column is not None)
        yield f"{name}: {shown}; {len(schema.columns)} columns"


def _keys(plan: Plan) -> Iterator[Row]:
    if not plan.keys and not plan.derived_keys:
        yield ("none: all events are one partition",)
    yield from ((key, "PARTITION BY") for key in plan.keys)
    yield from ((key, "derived from equalities between events") for key in plan.derived_keys)


def _window(plan: Plan) -> str:
    window = plan.query.window
    if window is None:
        step, most = plan.query.step_window, most_events(plan.root)
        if step is not None and most is not None:
            longest = window_to_ceql(Window(step.unit, step.size * (most - 1)))
            return f"none: with {most} events at most, the steps bound a match to {longest}"
        return "none: a match may be as long as the stream"
    text = window_to_ceql(window)
    if window.slide is not None:
        return f"{text}: first and last event lie in one of the sliding windows"
    if window.unit is WindowUnit.EVENTS:
        return f"{text}: positions of first and last event differ by at most {window.size}"
    if window.unit is WindowUnit.ATTRIBUTE:
        return f"{text}: {window.attribute} grows by at most {window.size} from first to last event"
    if plan.window is not None and plan.window.size != window.size:
        text += f" ({plan.window.size} units of the time column)"
    return f"{text}: from first to last event, inclusive"


def _step_window(plan: Plan) -> str | None:
    window = plan.query.step_window
    return None if window is None else f"{window_to_ceql(window)} between steps: from each event to the next one, inclusive"


def _strategy(plan: Plan) -> str:
    used = [strategy.value for strategy in Strategy if uses_strategy(plan.root, strategy)]
    if not used:
        return "none: the pattern has neither gaps nor loops"
    return used[0] if len(used) == 1 else f"{', '.join(used)}: each gap and loop has its own"


def _results(plan: Plan) -> Iterator[str]:
    """Say what is asked of all matches, and how it is computed."""
    results = plan.results
    if results is None:
        return
    method = plan.totals_method
    listed = method.growth is Growth.ENUMERATION
    grown, listing = f"{method.growth.value}: {method.reason}", f"enumeration: {method.reason}"
    if isinstance(results, Groups):
        yield describe_unit(results)
        yield listing if listed else f"{grown}; no match is listed"
    elif isinstance(results, Best):
        yield f"the {results.limit} matches with the {'largest' if results.descending else 'smallest'} score"
        walk = "k-best: the best score of every end is propagated, then walked back from the best ends; no other match is listed"
        yield f"{listing}; the best are kept" if listed else walk
    else:
        yield f"{results.size} matches drawn at random"
        draw = "path sampling: matches are numbered by exact path counts, drawn by number, walked back; no other match is listed"
        yield f"{listing}; the lowest random ranks are kept" if listed else draw
    if not listed and not isinstance(results, Groups):
        yield grown
    if method.growth is Growth.POLYNOMIAL:
        yield "the events of a window are compared pair by pair, once for each start where starts must be told apart"
    if isinstance(results, Groups):
        yield "exact: whole numbers of 64 bits where they suffice, else remainders by as many 31-bit primes as needed"
        yield describe_leaving(results)


def _columns(plan: Plan) -> Iterator[Row]:
    query = plan.query
    names = [column.name for column in plan.output.columns]
    if query.output is not None:
        variables = {quote_name(variable) for occurrence in plan.bound.occurrences for variable in occurrence.variables}
        for name, item in zip(names, query.output, strict=True):
            sql = item.expression.sql
            yield (name, _events_of(sql) if sql in variables else sql)
        return
    contents = ["partition key"] * len(query.partition_by) + ["time of the first event", "time of the last event"]
    contents.extend(map(_events_of, names[len(contents) :]))
    yield from zip(names, contents, strict=True)


def _events_of(variable: str) -> str:
    return f"list of the events of {variable}"
