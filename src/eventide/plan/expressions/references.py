"""What a condition reads: bare attributes, neighbours, and sets of events of each variable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.errors import BindError, Span
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator

SET_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.First: "first",
    exp.Last: "last",
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}
NEIGHBOUR_FUNCTIONS = {"NEXT": "next", "PREV": "prev"}
ALL_EVENTS = "*"
"""The variable that COUNT(*) reads: every event of the match."""


@record
class Reference:
    """One place where an expression reads the match: `kind` is bare, next, prev, or a set function."""

    kind: str
    variable: str
    argument: exp.Expression | None
    node: exp.Expression


def span_of(node: exp.Expr, *, with_calls: bool = False) -> Span | None:
    """Return the place of a node in the query text, from the identifiers it holds, and the names of functions if asked."""
    starts = [
        (part.meta["start"], part.meta["end"] + 1)
        for part in node.walk()
        if "start" in part.meta and (with_calls or isinstance(part, exp.Identifier))
    ]
    if not starts:
        return None
    return Span(min(start for start, _ in starts), max(end for _, end in starts))


def function_kind(node: exp.Expr) -> str | None:
    """Return how a function reads the match, or None when it is an ordinary scalar function."""
    if isinstance(node, exp.Anonymous):
        return NEIGHBOUR_FUNCTIONS.get(str(node.this).upper())
    return SET_FUNCTIONS.get(type(node))


def references(tree: exp.Expression, text: str | None = None) -> list[Reference]:
    """List everything the expression reads of a match, outermost functions first.

    >>> from sqlglot import parse_one
    >>> [(r.kind, r.variable) for r in references(parse_one("c.price < FIRST(b.price)", dialect="spark"))]
    [('bare', 'c'), ('first', 'b')]
    """
    found: list[Reference] = []
    pending = [tree]
    while pending:
        node = pending.pop()
        kind = function_kind(node)
        if kind is not None:
            found.append(_function_reference(node, kind, text))
        elif isinstance(node, exp.Column):
            found.append(_column_reference(node, text))
        elif isinstance(node, exp.AggFunc):
            raise BindError(
                "UNSUPPORTED_AGGREGATE",
                f"{node.sql(dialect='spark')} is not an aggregate that patterns know.",
                text=text,
                span=span_of(node),
                hint="Use COUNT, SUM, AVG, MIN, MAX, FIRST or LAST.",
            )
        elif isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
            raise BindError(
                "BAD_ARGUMENT",
                "FIRST and LAST take the first and last event, also where its value is null.",
                text=text,
                span=span_of(node),
                hint=f"Write {node.this.sql(dialect='spark')}, or keep nulls out by a condition.",
            )
        elif isinstance(node, exp.UDTF | exp.Explode):
            raise BindError(
                "UNSUPPORTED_EXPRESSION",
                f"{node.sql(dialect='spark')} makes several rows; a match has one row.",
                text=text,
                span=span_of(node),
                hint="Select the value whole and take it apart in the result.",
            )
        elif isinstance(node, exp.Query | exp.Window):
            raise BindError(
                "UNSUPPORTED_EXPRESSION",
                "Sub-queries and window functions cannot be used in a pattern query.",
                text=text,
                span=span_of(node),
                hint="Compute the value in the events before the query.",
            )
        else:
            pending.extend(reversed(list(node.iter_expressions())))
    return found


def _column_reference(node: exp.Column, text: str | None) -> Reference:
    if not node.table:
        raise BindError(
            "ATTRIBUTE_WITHOUT_VARIABLE",
            f"The attribute {node.name} does not say of which variable.",
            text=text,
            span=span_of(node),
            hint=f"Write x.{node.name} with x a variable of the pattern.",
        )
    return Reference("bare", node.table, node, node)


def _function_reference(node: exp.Expression, kind: str, text: str | None) -> Reference:
    arguments = node.expressions if isinstance(node, exp.Anonymous) else [node.this] if node.this is not None else []
    name = kind.upper()
    more = not isinstance(node, exp.Anonymous) and bool(node.expressions)
    if len(arguments) != 1 or more or isinstance(arguments[0], exp.Distinct):
        raise BindError(
            "BAD_ARGUMENT",
            f"{name} takes one plain argument.",
            text=text,
            span=span_of(node),
            hint=f"Write {name}(x.attribute).",
        )
    argument = arguments[0]
    if isinstance(argument, exp.Star) and kind == "count":
        return Reference(kind, ALL_EVENTS, None, node)
    if isinstance(argument, exp.Column) and not argument.table:
        if kind == "count":
            return Reference(kind, argument.name, None, node)
        raise BindError(
            "ATTRIBUTE_WITHOUT_VARIABLE",
            f"{name}({argument.name}) needs an attribute of a variable.",
            text=text,
            span=span_of(argument),
            hint=f"Write {name}({argument.name}.attribute) or {name}(x.{argument.name}).",
        )
    inner = references(argument, text)
    nested = next((reference for reference in inner if reference.kind != "bare"), None)
    if nested is not None:
        raise BindError(
            "NESTED_AGGREGATE",
            f"{nested.kind.upper()} cannot be used inside {name}.",
            text=text,
            span=span_of(nested.node),
            hint="Aggregate an expression of one variable's attributes.",
        )
    variables = {reference.variable for reference in inner}
    if len(variables) != 1:
        raise BindError(
            "BAD_ARGUMENT",
            f"The argument of {name} must read one variable, it reads {', '.join(sorted(variables)) or 'none'}.",
            text=text,
            span=span_of(node),
            hint=f"Write {name}(x.attribute).",
        )
    return Reference(kind, variables.pop(), argument, node)


def only_bare(tree: exp.Expression) -> str | None:
    """Return the one variable whose bare attributes are all that the expression reads, or None."""
    variables = set()
    pending = [tree]
    while pending:
        node = pending.pop()
        if function_kind(node) is not None:
            return None
        if isinstance(node, exp.Column):
            variables.add(node.table)
        else:
            pending.extend(node.iter_expressions())
    return variables.pop() if len(variables) == 1 else None


def _is_branch(node: exp.Expression) -> bool:
    # The branches of a CASE are conditions and values of their own; IF as a function is one value.
    return isinstance(node, exp.If) and isinstance(node.parent, exp.Case)


def single_event_parts(tree: exp.Expression) -> Iterator[exp.Expression]:
    """Yield the largest parts that read one event only, arguments of set functions included."""
    pending = [tree]
    while pending:
        node = pending.pop()
        kind = function_kind(node)
        if kind is not None:
            argument = node.expressions[0] if isinstance(node, exp.Anonymous) else node.this
            if not isinstance(argument, exp.Star) and not (isinstance(argument, exp.Column) and not argument.table):
                yield argument
        elif only_bare(node) is not None and not _is_branch(node):
            yield node
        else:
            pending.extend(node.iter_expressions())
