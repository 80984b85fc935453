"""The queries that tell which partial matches timed out, and how far they came (semantics.md, section 11).

Each prefix of the pattern is a query of its own that asks for nothing but the interval of its matches, so that variables which no
condition reads are forgotten and loops do not multiply its matches.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.errors import BindError
from eventide.pattern import OutputItem, Selector, Sequence
from eventide.pattern.expressions import expression_from_tree
from eventide.pattern.sequence_printing import absence_to_ceql, pattern_to_ceql
from eventide.plan.sequences.output import MATCH_END, MATCH_START
from eventide.plan.timeouts.beginnings import beginning_of
from eventide.plan.timeouts.prefixes import outermost, prefix_of
from eventide.records import record

if TYPE_CHECKING:
    from eventide.errors import Span
    from eventide.pattern import Pattern, Query

EXPIRED_AT = "expired_at"
REACHED = "reached"
STEPS = "steps"
REACHED_STEPS = "reached_steps"
MISSING = "missing"
LAST_STEP_AT = "last_step_at"
RESULT_COLUMNS = (MATCH_START, EXPIRED_AT, REACHED, STEPS, REACHED_STEPS, MISSING, LAST_STEP_AT)
"""The columns of a result behind those of PARTITION BY."""


@record
class TimeoutQueries:
    """What must be asked: `prefixes[k]` finds the events from which k parts were reached, `whole` those with a match.

    `steps` are the texts of the parts, `missing[k]` is the text of what was missing when k parts were reached.
    """

    prefixes: tuple[Query, ...]
    whole: Query
    steps: tuple[str, ...]
    missing: tuple[str, ...]


def timeout_queries(query: Query) -> TimeoutQueries:
    """Return the queries of the prefixes; refuses a query of which no partial match has a defined end.

    >>> from eventide.language import parse
    >>> asked = timeout_queries(parse("SELECT * WHERE A AS a ; B+ AS b ; C AS c FILTER a.x < b.x AND b.x < c.x WITHIN 5 minutes"))
    >>> [pattern_to_ceql(prefix.pattern) for prefix in asked.prefixes]
    ['A AS step', 'A AS a', '((A AS a ; B+ AS b) FILTER a.x < b.x)']
    >>> asked.missing
    ('A AS a', 'B+ AS b', 'C AS c')
    """
    _refuse_undefined(query)
    core = outermost(query.pattern)
    parts: tuple[Pattern, ...] = core.parts if isinstance(core, Sequence) else (core,)
    trailing = core.trailing if isinstance(core, Sequence) else ()
    steps = tuple(pattern_to_ceql(part) for part in parts)
    last = len(parts) if trailing else len(parts) - 1
    prefixes = [_asking(query, prefix_of(query, count)) for count in range(1, last + 1)]
    beginning = replace(_asking(query, beginning_of(query.pattern)), step_window=None)
    missing = (*steps, " ; ".join(map(absence_to_ceql, trailing))) if trailing else steps
    return TimeoutQueries((beginning, *prefixes), _asking(query, query.pattern), steps, missing)


def _asking(query: Query, pattern: Pattern) -> Query:
    """Return the query for another pattern, with nothing but the interval of its matches."""
    return replace(query, pattern=pattern, output=columns_named(MATCH_START, MATCH_END))


def columns_named(*names: str) -> tuple[OutputItem, ...]:
    """Return the output that SELECT makes of plain names.

    >>> [item.expression.sql for item in columns_named("match_start", "a b")]
    ['match_start', '`a b`']
    """
    return tuple(OutputItem(expression_from_tree(exp.column(exp.to_identifier(name)))) for name in names)


def _refuse_undefined(query: Query) -> None:
    window = query.window
    if window is None:
        raise _refusal(query, "The query has no window, so nothing times out.", "Add WITHIN, as in WITHIN 30 minutes.")
    if not window.unit.timed or window.slide is not None:
        message = "Only a window that is a plain time ends at a moment that is known beforehand."
        raise _refusal(query, message, "Write WITHIN 30 minutes.", window.span)
    if query.selector is not Selector.ALL:
        message = f"The selector {query.selector.name} can leave a complete match out, which has not timed out."
        raise _refusal(query, message, "Leave the selector out.")
    if query.consumes:
        message = "With CONSUME BY an event can be without a match because another match consumed its events."
        raise _refusal(query, message, "Leave CONSUME BY out.")
    if query.group_by is not None or query.order_by is not None or query.sample is not None:
        message = "Time-outs are partial matches; GROUP BY, ORDER BY and SAMPLE are about the complete ones."
        raise _refusal(query, message, "Leave the clause out.")
    if query.limit is not None:
        raise _refusal(query, "With LIMIT an event can be without a match because others came first.", "Leave LIMIT out.")
    for name in query.partition_by:
        if name.text.lower() in RESULT_COLUMNS:
            message = f"Two columns of the result would be called {name.text}."
            raise _refusal(query, message, "Rename the column of the events.", name.span)


def _refusal(query: Query, message: str, hint: str, span: Span | None = None) -> BindError:
    return BindError("TIMEOUTS_NOT_DEFINED", message, text=query.text or None, span=span, hint=hint)
