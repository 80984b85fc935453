"""What a row pattern cannot have on a stream, and what lets its state grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import BindError
from eventide.pattern.row_patterns import PartitionEnd, walk_rows
from eventide.plan.expressions.references import span_of
from eventide.plan.expressions.schema import Kind

if TYPE_CHECKING:

    from eventide.errors import Span
    from eventide.plan.row_patterns.plan import RowPlan


def check_streamable(plan: RowPlan) -> None:
    """Refuse what cannot be decided while rows are still to come."""
    _check_order(plan)
    end = next((node for node in walk_rows(plan.query.pattern) if isinstance(node, PartitionEnd)), None)
    if end is not None:
        raise _refusal(
            plan,
            "END_ANCHOR_ON_STREAM",
            "A stream has no last row, so $ never holds.",
            end.span,
            "Leave $ out, or run the query over a table.",
        )
    for bit, condition in enumerate(plan.predicates):
        if condition.windowed:
            raise _windowed(plan, bit)


def _check_order(plan: RowPlan) -> None:
    first = plan.query.order_by[0] if plan.query.order_by else None
    if first is None:
        raise _refusal(
            plan,
            "STREAM_NEEDS_TIME",
            "On a stream, ORDER BY says which rows are complete.",
            None,
            "Add ORDER BY with the event time first, for example ORDER BY ts.",
        )
    if plan.columns[plan.order[0]] not in (Kind.TIMESTAMP, Kind.DATE) or first.descending:
        raise _refusal(
            plan,
            "STREAM_NEEDS_TIME",
            "On a stream, ORDER BY begins with the event time: a timestamp or a date in ascending order.",
            first.column.span,
            "Order by the time first, for example ORDER BY ts; convert text with to_timestamp in the input.",
        )
    for column, key in zip(plan.order[1:], plan.query.order_by[1:], strict=True):
        if plan.columns[column] is Kind.OTHER and column not in plan.keys:
            raise _refusal(
                plan,
                "UNSUPPORTED_ORDER",
                f"A stream cannot be put in the order of {column}, its type is not a number, text, time or truth value.",
                key.column.span,
                "Order by something else, or convert it in the input.",
            )


def _windowed(plan: RowPlan, bit: int) -> BindError:
    places = zip(plan.tables.bit.tolist(), plan.automaton.positions, strict=False)
    variable = next((position.variable for flag, position in places if flag == 1 << bit), "")
    definition = next((item for item in plan.query.definitions if item.variable == variable), None)
    return _refusal(
        plan,
        "NEIGHBOURS_ON_STREAM",
        f"The condition of {variable} computes with PREV or NEXT in a way that only a window over a table can follow.",
        None if definition is None else span_of(definition.condition.tree, with_calls=True) or definition.span,
        "Compare neighbours, or add, subtract and multiply doubles: CAST(price AS DOUBLE) < 0.9 * PREV(CAST(price AS DOUBLE));"
        " compute other functions of one row as columns of the input.",
    )


def _refusal(plan: RowPlan, condition: str, message: str, span: Span | None, hint: str) -> BindError:
    return BindError(condition, message, text=plan.query.text or None, span=span, hint=hint)


def stream_warnings(plan: RowPlan) -> tuple[str, ...]:
    """Return what may let the state of a query grow for ever."""
    if plan.window is not None:
        return _kept_for_ever(plan)
    silent = plan.keys and any(move >= 0 for moves in plan.automaton.moves for move in moves)
    if not (silent or _has_loop(plan)):
        return ()
    reason = (
        "its pattern may stay open for ever, so the rows that are held on the stream are not bounded"
        if _has_loop(plan)
        else "a partition that falls silent inside a match is held on the stream for ever"
    )
    return (f"MATCH_RECOGNIZE has no WITHIN: {reason}. Add WITHIN INTERVAL '1' HOUR behind PATTERN.",)


def _kept_for_ever(plan: RowPlan) -> tuple[str, ...]:
    """Return what WITHIN does not bound."""
    needs = plan.needs
    if plan.keys and (needs.ahead or needs.measured_behind):
        return ("NEXT waits for rows: a partition that falls silent keeps those that are not decided for ever.",)
    if plan.keys and (needs.counts or needs.anchored or needs.before):
        what = "MATCH_NUMBER" if needs.counts else "^" if needs.anchored else "PREV of the first row of a match"
        return (f"{what} makes the stream remember every partition for ever. Leave it out where partitions come and go.",)
    return ()


def _has_loop(plan: RowPlan) -> bool:
    """Return whether some position can be reached from itself."""
    moves = plan.automaton.moves
    waiting_for = [sum(move >= 0 for move in ways) for ways in moves]
    before: list[list[int]] = [[] for _ in moves]
    for position, ways in enumerate(moves):
        for move in ways:
            if move >= 0:
                before[move].append(position)
    ready = [position for position, count in enumerate(waiting_for) if not count]
    left = len(moves)
    while ready:
        left -= 1
        for position in before[ready.pop()]:
            waiting_for[position] -= 1
            if not waiting_for[position]:
                ready.append(position)
    return left > 0
