"""What a kind of pattern brings to the hall."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eventide.explain.rendering.model import Description
    from eventide.runtime.runs.asked import Asked
    from eventide.runtime.work import Work


@record
class Kind:
    """A kind of pattern: functions from its model to a bound pattern, to a plan, to a run and to a description."""

    name: str
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
