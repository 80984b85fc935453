"""The plan of a query over events: the query as data, and which matcher runs it."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from eventide.match.protocol import Keep
from eventide.pattern import Selector
from eventide.plan.compiled import CompiledQuery, forgotten
from eventide.plan.expressions.references import ALL_EVENTS
from eventide.plan.labels.labelling import Labelling
from eventide.plan.sequences.automaton import Automaton
from eventide.plan.sequences.size import too_large
from eventide.plan.totals.methods import Growth, TotalsMethod, choose_method
from eventide.plan.totals.results import Best, Groups
from eventide.records import record

if TYPE_CHECKING:
    from eventide.plan.sequences.output import OutputPlan

@record
class MatcherChoice:
    """The matcher that takes the events in order, and why; `forced` is the one that the user asked for."""

    matcher: str
    reason: str
    forced: str | None = None
    forward: bool = False
    """Whether a match grows from its first event on, so that conditions are judged as events arrive."""
    wants_sample: bool = False
    """Whether a look at the first events could change the choice."""


@record(kw_only=True)
class Plan(CompiledQuery):
    """All that a runtime needs to run a query, free of the engine that runs it."""

    choice: MatcherChoice
    distinguished_variables: frozenset[str]
    """The variables that labels must tell apart; forgetting the others shares their matches."""
    occurrence_labels: tuple[tuple[str, ...], ...]
    """The distinguished variables that each occurrence binds."""
    deduplicate: bool
    """Whether different paths of the automaton can show the same match."""
    totals_method: TotalsMethod
    """How results over all matches are computed."""
    warnings: tuple[str, ...]

    def automaton(self) -> Automaton:
        """Make the automaton of the query: one for each run, for it numbers labels as it meets them."""
        return Automaton.build(
            self.root,
            [occurrence.bit for occurrence in self.bound.occurrences],
            self.occurrence_labels,
            contiguous=self.query.selector is Selector.STRICT,
            refusal=partial(too_large, pattern=self.bound, text=self.query.text or None),
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


def plan_of(compiled: CompiledQuery, choice: MatcherChoice) -> Plan:
    """Return the plan of a compiled query, or of another plan, for a matcher."""
    distinguished = _distinguished_variables(compiled, choice)
    labels = tuple(
        tuple(sorted(distinguished & frozenset(occurrence.variables))) for occurrence in compiled.bound.occurrences
    )
    shown = [compiled.output.kept & frozenset(label) for label in {*labels} if label]
    deduplicate = len(set(shown)) != len(shown) or frozenset() in shown or compiled.gaps_checked
    method = choose_method(compiled, labels, forward=choice.forward, deduplicate=deduplicate)
    known: dict[str, Any] = {field.name: getattr(compiled, field.name) for field in fields(CompiledQuery)}
    return Plan(
        **known,
        choice=choice,
        distinguished_variables=distinguished,
        occurrence_labels=labels,
        deduplicate=deduplicate,
        totals_method=method,
        warnings=_warnings(compiled, method),
    )


def plan_with_output(plan: Plan, output: OutputPlan) -> Plan:
    """Return the plan of the same matches with other columns."""
    return plan_of(replace(plan, output=output, forgets=forgotten(plan.bound, output)), plan.choice)


def _distinguished_variables(compiled: CompiledQuery, choice: MatcherChoice) -> frozenset[str]:
    judged = (*compiled.conditions, *(condition for group in compiled.absence_conditions for condition in group))
    counts_all = any(variable == ALL_EVENTS for condition in judged for variable, _ in condition.sets)
    if compiled.keep is not Keep.ALL or choice.forward or compiled.gaps_checked or counts_all:
        # Between which events a gap lies, and how many COUNT(*) counts, must be seen, whether or not they are shown.
        return frozenset(v for occurrence in compiled.bound.occurrences for v in occurrence.variables)
    return frozenset(compiled.variables) | compiled.output.needs


def _warnings(compiled: CompiledQuery, method: TotalsMethod) -> tuple[str, ...]:
    """Return what a user should know before the query runs."""
    if compiled.results is None:
        return _explosion_warnings(compiled)
    if method.growth is not Growth.ENUMERATION:
        return ()
    results = compiled.results
    asked = "GROUP BY" if isinstance(results, Groups) else "ORDER BY" if isinstance(results, Best) else "SAMPLE"
    return (f"{asked} enumerates every match here, because {method.reason}.", *_explosion_warnings(compiled))


def _explosion_warnings(compiled: CompiledQuery) -> tuple[str, ...]:
    """Return a warning for a query whose matches may grow exponentially with nothing to stop them."""
    query = compiled.query
    unbounded = query.window is None and query.limit is None and not query.consumes
    if not unbounded or not compiled.explosive or query.selector is Selector.STRICT:
        return ()
    whole = "WITHIN" if query.step_window is None else "a window of the whole match"
    warning = (
        f"The pattern repeats with skip-till-any and has neither {whole} nor LIMIT: the number of matches can double with "
        "every event. Add WITHIN or LIMIT, set max_matches, or use count()."
    )
    return (warning,)
