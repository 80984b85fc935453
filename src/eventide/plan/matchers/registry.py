"""The registry: all matchers in one tuple, which of them runs a query, and how it is made; and with that the end of planning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import BindError, did_you_mean
from eventide.plan.compiled import compile_query
from eventide.plan.matchers.dag import Dag
from eventide.plan.matchers.disorder import Disorder
from eventide.plan.matchers.protocol import DAG, RECOMPUTE, Cost, Description
from eventide.plan.matchers.recompute import Recompute
from eventide.plan.matchers.row_pattern import RowPattern
from eventide.plan.matchers.runs import Runs
from eventide.plan.plan import MatcherChoice, plan_of
from eventide.plan.rewrite import RULES, rewrite
from eventide.plan.sequences.bound_query import bind_query

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eventide.match.protocol import Matcher
    from eventide.pattern import Query
    from eventide.plan.compiled import CompiledQuery
    from eventide.plan.expressions.schema import KindsOf, StreamSchema
    from eventide.plan.labels.labelling import Labelling
    from eventide.plan.matchers.protocol import OrderedMatcher, RunSettings
    from eventide.plan.matchers.sample import Sample
    from eventide.plan.plan import Plan
    from eventide.plan.rewrite import Rule
    from eventide.plan.sequences.bound_query import BoundQuery

RECOMPUTATION = Recompute()
ORDERED: tuple[OrderedMatcher, ...] = (Dag(), Runs(), RECOMPUTATION)
ARRIVAL = Disorder()
ROWS = RowPattern()
MATCHERS = (*ORDERED, ARRIVAL, ROWS)
SYNONYMS = {"dag": DAG}
_BY_QUERY_ALONE = "chosen by the query alone: the first events of a table can show that another one is faster"
_BY_NAME = {matcher.name: matcher for matcher in ORDERED}
_NAMES = (*_BY_NAME, ARRIVAL.name)
"""What a user can force."""


def choose_matcher(query: CompiledQuery, forced: str | None = None, sample: Sample | None = None) -> MatcherChoice:
    """Choose the cheapest matcher that can run a query; a forced one is refused where it would be wrong."""
    name = None if forced is None else SYNONYMS.get(forced, forced)
    if name is not None and name not in _NAMES:
        raise BindError("UNKNOWN_MATCHER", f"There is no matcher {name}.", hint=did_you_mean(name, _NAMES))
    if name is None or name == ARRIVAL.name:
        # Where events arrive in disorder is decided by the stream; here is chosen who takes them in order.
        cheapest, cost = _cheapest(query, sample)
        may_pay = RECOMPUTATION.may_pay(query)
        unknown = may_pay and not RECOMPUTATION.knows_window(query)
        reason = cost.reason
        if sample is not None:
            reason += f"; the first {sample.events} events show {sample.mean_window:.0f} in a window on average"
        elif unknown:
            reason += f"; {_BY_QUERY_ALONE}"
        elif may_pay and cheapest.name != RECOMPUTE:
            reason += "; the window is too small for recomputation to pay"
        wants_sample = unknown and name is None
        return MatcherChoice(cheapest.name, reason, forced=name, forward=cheapest.forward, wants_sample=wants_sample)
    asked = _BY_NAME[name]
    against = asked.why_not(query)
    if against is not None:
        raise refusal(asked, query, against)
    return MatcherChoice(name, "asked for", forced=name, forward=asked.forward)


def refusal(matcher: OrderedMatcher | Disorder, query: CompiledQuery, reason: str) -> BindError:
    """Return the error for a user who asked for a matcher that cannot run a query."""
    message = f"The matcher {matcher.name} cannot run the query: {reason}."
    return BindError("MATCHER_NOT_SOUND", message, text=query.query.text or None, hint=matcher.instead)


def plan_with_sample(plan: Plan, sample: Sample) -> Plan:
    """Return the plan with the matcher that fits what the first events show, unless the user asked for one."""
    return plan if plan.choice.forced is not None else plan_of(plan, choose_matcher(plan, None, sample))


def enumerated_plan(plan: Plan) -> Plan:
    """Return the plan as the shared DAG runs it, whose paths can be counted and cut; recomputation slices by ends alone."""
    if _BY_NAME[plan.choice.matcher].sliceable:
        return plan
    return plan_of(plan, MatcherChoice(DAG, "the paths of the shared DAG are shared out", forced=DAG))


def counted_plan(plan: Plan) -> Plan:
    """Return the plan whose matches are counted: a loop has too many for recomputation, which lists them."""
    loops = plan.explosive and plan.choice.forced is None
    return enumerated_plan(plan) if loops else plan


def make_matcher(plan: Plan, settings: RunSettings, *, unjudged: bool = False) -> tuple[Matcher, Labelling]:
    """Return the plan's matcher and the labelling that explains its labels; `unjudged` leaves the conditions to others."""
    chosen = _BY_NAME[plan.choice.matcher]
    # Slices and candidates that others judge are paths: recomputation, which shares out events, has none.
    if (unjudged or settings.slices > 1) and not chosen.sliceable:
        chosen = _BY_NAME[DAG]
    return chosen.make(plan, settings, unjudged=unjudged)


def describe_matcher(plan: Plan) -> Description:
    """Return what there is to say of the matcher that runs a plan."""
    return _BY_NAME[plan.choice.matcher].explain(plan)


def _cheapest(query: CompiledQuery, sample: Sample | None) -> tuple[OrderedMatcher, Cost]:
    able = [matcher for matcher in ORDERED if matcher.why_not(query) is None]
    costs = [matcher.cost(query, sample) for matcher in able]
    best = min(range(len(able)), key=lambda number: costs[number].work)
    return able[best], costs[best]


def make_plan(
    query: Query,
    streams: Mapping[str, StreamSchema],
    kinds_of: KindsOf,
    *,
    matcher: str | None = None,
    rules: Iterable[Rule] = RULES,
) -> Plan:
    """Plan a query for events of the given schemas; without streams the plan serves explanation only."""
    bound = bind_query(query, streams, kinds_of)
    rewritten = rewrite(bound, rules)
    return choose(rewritten, matcher)


def choose(bound: BoundQuery, matcher: str | None = None, sample: Sample | None = None) -> Plan:
    """Compile a bound query and choose the cheapest matcher for it; a forced one is refused where it would be wrong."""
    compiled = compile_query(bound)
    return plan_of(compiled, choose_matcher(compiled, matcher, sample))
