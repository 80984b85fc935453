"""Windows in the units of the time column: that of the whole match, that between steps, and what the second says of the first."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING

from eventide.errors import BindError, did_you_mean
from eventide.pattern import Window, WindowUnit
from eventide.plan.expressions.schema import Kind
from eventide.plan.sequences.structure import Alternatives, Chain, Loop, Mix, Node, One
from eventide.records import record

if TYPE_CHECKING:
    from eventide.pattern import Query
    from eventide.plan.expressions.schema import StreamSchema
    from eventide.plan.sequences.binding import Correlated

STEPS = "@steps"
"""The variable that binds every event of a match, for the condition that a window between steps becomes."""
_LARGEST = 2**62


@record
class BoundWindow:
    """A window in the units of the time column (or of events, or of the attribute)."""

    unit: WindowUnit
    size: int | float
    slide: int | None
    attribute: str | None


def bind_window(query: Query, schema: StreamSchema | None) -> BoundWindow | None:
    """Return the window of the whole match, or None where the query has none."""
    return None if query.window is None else _bound(query.window, query, schema, "")


def bind_step_window(query: Query, schema: StreamSchema | None) -> BoundWindow | None:
    """Return the window between steps, or None where the query has none."""
    window = query.step_window
    if window is None:
        return None
    if not window.unit.timed or window.slide is not None:
        raise BindError(
            "STEPS_NEED_TIME",
            "A window between steps is a plain time.",
            text=query.text or None,
            span=window.span,
            hint="Write WITHIN 30 seconds BETWEEN STEPS.",
        )
    return _bound(window, query, schema, " BETWEEN STEPS")


def bind_group_window(window: Window, query: Query, schema: StreamSchema | None) -> int:
    """Return the length of the windows of GROUP BY in units of the clock."""
    try:
        bound = _bound(window, query, schema, "")
    except BindError as error:
        unit = "a bare number" if error.condition == "TIME_WITHOUT_UNIT" else f"{window.size} seconds"
        hint = f"Write GROUP BY WINDOW {'with ' if unit.startswith('a ') else ''}{unit}."
        raise BindError(error.condition, error.message, text=error.text, span=error.span, hint=hint) from None
    return max(1, int(bound.size))


def implied_window(query: Query, root: Node, schema: StreamSchema | None) -> BoundWindow | None:
    """Return how long a match can be when a window between steps alone bounds it, or None when it has no bound.

    It changes no match; it tells runtimes how long events must be kept.
    """
    step = bind_step_window(query, schema)
    most = most_events(root)
    if step is None or most is None or step.size * (most - 1) > _LARGEST:
        return None
    return BoundWindow(step.unit, step.size * (most - 1), None, None)


def most_events(node: Node) -> int | None:
    """Return how many events a match can have at most, or None when there is no bound.

    >>> from eventide.pattern import Strategy
    >>> most_events(Mix((One(0), Loop(One(1), 0, 3, Strategy.ANY)), Strategy.ANY))
    4
    """
    match node:
        case One():
            return 1
        case Loop(part=part, maximum=maximum):
            inside = most_events(part)
            return None if inside is None or maximum is None else inside * maximum
        case Chain(parts=parts) | Mix(parts=parts) | Alternatives(parts=parts):
            counts = [most_events(part) for part in parts]
            known = [count for count in counts if count is not None]
            if len(known) < len(counts):
                return None
            return max(known) if isinstance(node, Alternatives) else sum(known)


def reads_clock(condition: Correlated) -> bool:
    """Return whether a condition is that of a window between steps, which reads the time under the planner's own name."""
    return any(reference.variable == STEPS for reference in condition.references)


def _bound(window: Window, query: Query, schema: StreamSchema | None, suffix: str) -> BoundWindow:
    attribute = window.attribute
    size, slide = window.size, window.slide
    if schema is None:
        return BoundWindow(window.unit, size, slide, attribute)
    text = query.text or None
    kind = schema.columns[schema.time]
    if attribute is not None:
        attribute = schema.resolve(attribute)
        if attribute is None or not (schema.columns[attribute].numeric or schema.columns[attribute] is Kind.TIMESTAMP):
            raise BindError(
                "UNKNOWN_ATTRIBUTE" if attribute is None else "TYPE_MISMATCH",
                f"WITHIN needs a number to measure by, {window.attribute} is none.",
                text=text,
                span=window.span,
                hint=did_you_mean(window.attribute or "", [c for c, k in schema.columns.items() if k.numeric]),
            )
    if window.unit is WindowUnit.TIME_UNITS and kind is not Kind.INTEGER:
        or_events = "" if suffix else f", or WITHIN {window.size} events"
        raise BindError(
            "WINDOW_WITHOUT_UNIT",
            f"The time column {schema.time} is a {kind.value}, so the window needs a unit.",
            text=text,
            span=window.span,
            hint=f"Write WITHIN {window.size} seconds{suffix}{or_events}.",
        )
    if window.unit is WindowUnit.DURATION and kind is Kind.INTEGER:
        if schema.time_unit is None:
            raise BindError(
                "TIME_WITHOUT_UNIT",
                f"The time column {schema.time} is a number; say what it counts to use a duration.",
                text=text,
                span=window.span,
                hint='Give it: et.events(data, time=..., time_unit="ms"), or write WITHIN with a bare number.',
            )
        size = floor(schema.units(int(size)))
        slide = None if slide is None else max(1, floor(schema.units(slide)))
    return BoundWindow(window.unit, size, slide, attribute)
