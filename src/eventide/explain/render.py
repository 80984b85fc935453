"""From a plan to the format that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import BindError, did_you_mean
from eventide.explain.dot import to_dot
from eventide.explain.mermaid import to_mermaid
from eventide.explain.model import explanation_of
from eventide.explain.text import to_text

if TYPE_CHECKING:
    from eventide.plan.plan import Plan

FORMATS = {"text": to_text, "mermaid": to_mermaid, "dot": to_dot}


def explain_plan(plan: Plan, format: str, physical: str | None = None) -> str:  # noqa: A002 - the word users type
    """Return a plan as text, or its automaton as a mermaid or dot diagram; `physical` is the relational engine's own plan.

    >>> from eventide.plan.planning import make_plan
    >>> from eventide.language import parse
    >>> plan = make_plan(parse("SELECT * WHERE A ; B"), {}, lambda trees: [])
    >>> print(explain_plan(plan, "dot").splitlines()[0])
    digraph automaton {
    """
    if format not in FORMATS:
        raise BindError("UNKNOWN_FORMAT", f"A plan has no format {format}.", hint=did_you_mean(str(format), FORMATS))
    return FORMATS[format](explanation_of(plan, physical))
