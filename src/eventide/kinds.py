"""The kinds of pattern: what each brings to the hall. A new kind is an entry here, and files of its name in the rooms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eventide.explain import describe_row_pattern, describe_sequence
from eventide.pattern import Query
from eventide.pattern.row_patterns import RowQuery
from eventide.plan.matchers.registry import choose
from eventide.plan.rewrite import RULES
from eventide.plan.row_patterns.binding import bind_row_pattern
from eventide.plan.row_patterns.plan import choose_row_plan
from eventide.plan.sequences.bound_query import bind_query
from eventide.plan.timeouts.plans import plan_timeouts
from eventide.runtime.runs import row_patterns, sequences
from eventide.runtime.runs.asked import Asked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eventide.explain.rendering.model import Description
    from eventide.runtime.work import Work


@dataclass(frozen=True)
class Kind:
    """A kind of pattern: functions from its model to a bound pattern, to a plan, to a run and to a description."""

    name: str
    model: type
    bind: Callable[..., Any]
    """(model, columns of its input, kinds of expressions) -> bound pattern; finds every mistake in a query."""
    rules: tuple[Callable[[Any], Any], ...]
    """Bound pattern -> bound pattern, in this order."""
    choose: Callable[[Any, str | None], Any]
    """(bound pattern, forced matcher) -> plan."""
    runs: Mapping[Asked, Callable[..., Work]]
    """(input, plan, settings) -> what prepares, matches and finishes; refuses settings that cannot act."""
    describe: Callable[[Any, str | None], Description]
    """(plan, the engine's own plan) -> what every format of explain shows."""
    further_plans: Mapping[Asked, Callable[..., Any]] = field(default_factory=dict)
    """(plan, kinds of expressions, whether the input is a stream) -> the plans of what needs others than that of the query."""


SEQUENCES = Kind(
    "sequences", Query, bind_query, RULES, choose, sequences.RUNS, describe_sequence, {Asked.TIMEOUTS: plan_timeouts}
)
ROW_PATTERNS = Kind("row patterns", RowQuery, bind_row_pattern, (), choose_row_plan, row_patterns.RUNS, describe_row_pattern)
KINDS = (SEQUENCES, ROW_PATTERNS)


def kind_of(model: object) -> Kind:
    """Return the kind of a model.

    >>> from eventide.language import parse
    >>> kind_of(parse("SELECT * WHERE A ; B")).name
    'sequences'
    """
    return next(kind for kind in KINDS if isinstance(model, kind.model))
