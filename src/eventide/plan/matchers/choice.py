"""Which matcher runs a query, and why; and a warning for queries that can explode."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eventide.errors import BindError, did_you_mean
from eventide.pattern import Consumption, Selector, Strategy
from eventide.plan.sequences.structure import Chain, Loop, Mix, Node, One
from eventide.plan.sequences.structure import Choice as Alternatives
from eventide.plan.sequences.windows import STEPS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.pattern import Query
    from eventide.plan.sequences.conditions import Compiled

SHARED_DAG = "automaton"
RUNS = "runs"
DISORDER = "disorder"
"""Takes the events of a stream as they arrive; what the others take must be in order."""
RECOMPUTE = "recompute"
"""Holds events instead of partial matches and searches whenever a match can end."""
MATCHERS = (SHARED_DAG, RUNS, RECOMPUTE, DISORDER)


@dataclass(frozen=True)
class Choice:
    """The chosen matcher of ordered events; `disorder` says whether the one of disordered events was asked for or ruled out."""

    matcher: str
    reason: str
    disorder: bool | None = None
    fallback: str | None = None
    """The matcher that a run over a table takes instead where it finds small windows."""

    @property
    def forward(self) -> bool:
        """Whether conditions are judged as events arrive."""
        return self.matcher == RUNS

    @property
    def recomputes(self) -> bool:
        """Whether events are held instead of partial matches."""
        return self.matcher == RECOMPUTE


def choose_matcher(query: Query, root: Node, conditions: Sequence[Compiled], forced: str | None) -> Choice:
    """Choose the matcher of a query; a forced one is refused where it would be wrong."""
    # A window between steps never decides what may be skipped (semantics.md, section 4).
    deciding = [condition for condition in conditions if STEPS not in condition.slots]
    needs_runs = bool(deciding) and uses_strategy(root, Strategy.NEXT) and query.selector is not Selector.STRICT
    if forced is not None and forced not in MATCHERS:
        raise BindError("UNKNOWN_MATCHER", f"There is no matcher {forced}.", hint=did_you_mean(forced, MATCHERS))
    if forced == SHARED_DAG and needs_runs:
        raise BindError(
            "MATCHER_NOT_SOUND",
            "The shared automaton cannot tell which event is next when that depends on a condition between events.",
            hint='Use matcher="runs", or leave the choice to the planner.',
        )
    if forced is not None and forced != DISORDER:
        return Choice(forced, "asked for", disorder=False)
    if forced == DISORDER:
        return replace(choose_matcher(query, root, conditions, None), disorder=True)
    if needs_runs:
        return Choice(RUNS, "what skip-till-next may skip depends on conditions between events")
    if conditions:
        return Choice(SHARED_DAG, "all matches are wanted; conditions between events prune the enumeration")
    return Choice(SHARED_DAG, "every condition looks at one event, so the automaton does constant work per event")


def uses_strategy(node: Node, strategy: Strategy) -> bool:
    """Return whether any gap or loop has the strategy."""
    match node:
        case One():
            return False
        case Chain(parts=parts, gaps=gaps):
            return any(gap.strategy is strategy for gap in gaps) or any(uses_strategy(part, strategy) for part in parts)
        case Alternatives(parts=parts):
            return any(uses_strategy(part, strategy) for part in parts)
        case Mix(parts=parts, strategy=own):
            return own is strategy or any(uses_strategy(part, strategy) for part in parts)
        case Loop(part=part, strategy=own, maximum=maximum):
            return (own is strategy and maximum != 1) or uses_strategy(part, strategy)


def explodes(query: Query, root: Node) -> tuple[str, ...]:
    """Return a warning for a query whose matches may grow exponentially with nothing to stop them."""
    unbounded = query.window is None and query.limit is None and query.consumption is Consumption.NONE
    if unbounded and loops_freely(root) and query.selector is not Selector.STRICT:
        whole = "WITHIN" if query.step_window is None else "a window of the whole match"
        warning = (
            f"The pattern repeats with skip-till-any and has neither {whole} nor LIMIT: the number of matches can double with "
            "every event. Add WITHIN or LIMIT, set max_matches, or use count()."
        )
        return (warning,)
    return ()


def loops_freely(node: Node) -> bool:
    """Return whether the pattern repeats without bound under skip-till-any."""
    match node:
        case One():
            return False
        case Chain(parts=parts) | Mix(parts=parts) | Alternatives(parts=parts):
            return any(loops_freely(part) for part in parts)
        case Loop(part=part, maximum=maximum, strategy=strategy):
            return (maximum is None and strategy is Strategy.ANY) or loops_freely(part)
