"""Short forms of the query languages, written out as plain Spark SQL.

| written | means |
|---|---|
| `x[price < 3]` | `x.price < 3` |
| `x[price]` | `x.price` |
| `b[].price`, `b[i].price` | `b.price` |
| `b[i-1].price`, `b[i+1].price` | `PREV(b.price)`, `NEXT(b.price)` |
| `b[1].price`, `b[last].price` | `FIRST(b.price)`, `LAST(b.price)` |
| `a.position.x` | field `x` of the attribute `position` of `a` |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.dialects.spark import Spark

from eventide.errors import ParseError, Span
from eventide.pattern.sequence_printing import PLAIN_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

PATTERN_FUNCTIONS = ("NEXT", "PREV")


def remove_sugar(tree: exp.Expression, source_text: str, span: Span) -> exp.Expression:
    """Return the tree without short forms; the tree that is given is changed.

    >>> from sqlglot import parse_one
    >>> remove_sugar(parse_one("b[i-1].price < b[price]"), "", Span(0, 0)).sql()
    'PREV(b.price) < b.price'
    """
    root = exp.Paren(this=tree)
    for column in list(root.find_all(exp.Column)):
        _qualify_fields(column)
    # Outer brackets come first: in x[items[0] > 3] the inner bracket belongs to an attribute, not to a variable.
    for bracket in list(root.find_all(exp.Bracket, bfs=False)):
        if _is_variable(bracket.this):
            _write_out(bracket, source_text, span)
    for function in root.find_all(exp.Anonymous):
        if function.name.upper() in PATTERN_FUNCTIONS:
            function.set("this", function.name.upper())
    for identifier in root.find_all(exp.Identifier):
        _settle_quotes(identifier)
    result = root.this
    result.pop()
    return result  # type: ignore[no-any-return]


def refuse_what_has_no_meaning(tree: exp.Expression, source_text: str, span: Span) -> None:
    """Raise an error for SQL that reads more than the events of a match.

    >>> from sqlglot import parse_one
    >>> refuse_what_has_no_meaning(parse_one("a.price > 3"), "", Span(0, 0))
    """
    for node in tree.walk():
        if isinstance(node, exp.Query):
            what, hint = "A subquery", "Join the tables before the events are matched."
        elif isinstance(node, exp.Window):
            what, hint = "A window function (OVER)", "Use FIRST, LAST, PREV, NEXT or an aggregate of a variable."
        elif isinstance(node, exp.Placeholder | exp.Parameter):
            what, hint = "A parameter", "Write the value itself."
        elif isinstance(node, exp.Filter):
            what, hint = "FILTER behind an aggregate", "Use CASE WHEN inside the aggregate."
        elif isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count):
            what, hint = "The star", "Name the attribute, as in a.price; the variable alone gives its events."
        else:
            continue
        raise ParseError(
            "BAD_EXPRESSION", f"{what} cannot be used here.", text=source_text, span=place_of(node) or span, hint=hint
        )


def place_of(node: exp.Expr) -> Span | None:
    """Return where the identifiers and literals below a node stand in the query, if they came from a text.

    >>> from sqlglot import parse_one
    >>> place_of(parse_one("a.price < 3"))
    Span(start=0, end=11)
    """
    places = [(part.meta["start"], part.meta["end"]) for part in node.walk() if "start" in part.meta]
    if not places:
        return None
    return Span(min(start for start, _ in places), max(end for _, end in places) + 1)


def unqualified_columns(tree: exp.Expression) -> Iterator[exp.Column]:
    """Yield the columns that name no variable.

    >>> from sqlglot import parse_one
    >>> [column.sql() for column in unqualified_columns(parse_one("a.x < y"))]
    ['y']
    """
    for column in tree.find_all(exp.Column):
        if not column.table and isinstance(column.this, exp.Identifier):
            yield column


def make_identifier(name: str, place: Span | None = None) -> exp.Identifier:
    """Return an identifier that reads back as this name; `place` is where an error should point.

    >>> make_identifier("limit").sql(dialect="spark")
    '`limit`'
    """
    identifier = exp.Identifier(this=name, quoted=not PLAIN_NAME.fullmatch(name) or name.upper() in Spark.Tokenizer.KEYWORDS)
    if place is not None:
        identifier.meta.update(start=place.start, end=place.end - 1)
    return identifier


def _is_variable(node: object) -> bool:
    return isinstance(node, exp.Column) and not node.table and isinstance(node.this, exp.Identifier)


def _qualify_fields(column: exp.Column) -> None:
    """Turn a.b.c, which SQL reads as schema.table.column, into field c of the attribute a.b."""
    parts = column.parts
    if len(parts) <= 2:
        return
    result: exp.Expression = exp.Column(this=parts[1].copy(), table=parts[0].copy())
    for part in parts[2:]:
        result = exp.Dot(this=result, expression=part.copy())
    column.replace(result)


def _write_out(bracket: exp.Bracket, source_text: str, span: Span) -> None:
    variable = bracket.this.this
    index = bracket.expressions[0]
    if len(bracket.expressions) != 1:
        raise ParseError(
            "BAD_EXPRESSION",
            "Brackets behind a variable hold one condition.",
            text=source_text,
            span=place_of(bracket) or span,
            hint=f"Join the conditions with AND: {variable.name}[... AND ...].",
        )
    parent = bracket.parent
    if isinstance(parent, exp.Dot) and parent.this is bracket and isinstance(parent.expression, exp.Identifier):
        element = _element(variable, index, parent.expression)
        if element is not None:
            parent.replace(element)
            return
        if isinstance(index, exp.Literal | exp.Binary):
            raise ParseError(
                "BAD_EXPRESSION",
                f"{bracket.sql(dialect='spark')} names no event of {variable.name}.",
                text=source_text,
                span=place_of(bracket) or span,
                hint=f"Write {variable.name}[i-1], {variable.name}[i], {variable.name}[1] or {variable.name}[last].",
            )
    if isinstance(index, exp.Literal):
        return  # an element of an array or a map, which only the schema can tell
    for column in list(unqualified_columns(index)):
        column.set("table", variable.copy())
    bracket.replace(index if isinstance(index, exp.Column | exp.Paren) or _stands_alone(bracket) else exp.Paren(this=index))


def _stands_alone(bracket: exp.Bracket) -> bool:
    """Say whether the content can take the place of the brackets without parentheses."""
    inner, parent = bracket.expressions[0], bracket.parent
    return isinstance(parent, exp.Paren | exp.Or) or (isinstance(parent, exp.And) and not isinstance(inner, exp.Or))


def _element(variable: exp.Identifier, index: exp.Expression, attribute: exp.Identifier) -> exp.Expression | None:
    """Return what b[index].attribute means, or None when the index is not one of the known forms."""
    column = exp.Column(this=attribute.copy(), table=variable.copy())
    match index.sql().lower().replace(" ", ""):
        case "i":
            return column
        case "i-1":
            return _placed(exp.Anonymous(this="PREV", expressions=[column]), variable)
        case "i+1":
            return _placed(exp.Anonymous(this="NEXT", expressions=[column]), variable)
        case "1":
            return _placed(exp.First(this=column), variable)
        case "last":
            return _placed(exp.Last(this=column), variable)
    return None


def _placed(function: exp.Expression, identifier: exp.Identifier) -> exp.Expression:
    function.meta.update(identifier.meta)
    return function


def _settle_quotes(identifier: exp.Identifier) -> None:
    """Quote a name exactly when a reader would take it for something else, so that equal names print equally."""
    name = identifier.name
    if not PLAIN_NAME.fullmatch(name):
        identifier.set("quoted", True)
    elif name.upper() not in Spark.Tokenizer.KEYWORDS:
        identifier.set("quoted", False)
