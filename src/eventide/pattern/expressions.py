"""Expressions as trees: wrapped, joined with AND, and cut at it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.errors import Span
from eventide.pattern.sequences import Expression

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def expression_from_tree(tree: exp.Expression, span: Span | None = None) -> Expression:
    """Wrap a sqlglot tree that has no sugar left.

    >>> from sqlglot import exp
    >>> expression_from_tree(exp.column("price", table="a")).sql
    'a.price'
    """
    return Expression(sql=tree.sql(dialect="spark", comments=False), tree=tree, span=span)


def conjunction(conditions: Iterable[Expression]) -> Expression:
    """Join conditions with AND.

    The tree is balanced: hundreds of conditions would otherwise make it too deep for code that walks it recursively.

    >>> from sqlglot import parse_one
    >>> conjunction(expression_from_tree(parse_one(text)) for text in ("a.x > 1", "b.y = 2 OR b.z")).sql
    'a.x > 1 AND (b.y = 2 OR b.z)'
    """
    parts = list(conditions)
    if len(parts) == 1:
        return parts[0]
    trees: list[exp.Expression] = [
        exp.Paren(this=part.tree.copy()) if isinstance(part.tree, exp.Or) else part.tree.copy() for part in parts
    ]
    while len(trees) > 1:
        pairs = [trees[index : index + 2] for index in range(0, len(trees), 2)]
        trees = [exp.And(this=pair[0], expression=pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
    spans = [part.span for part in parts if part.span is not None]
    span = Span(min(span.start for span in spans), max(span.end for span in spans)) if spans else None
    return expression_from_tree(trees[0], span)


def conjuncts(condition: Expression) -> list[Expression]:
    """Cut a condition at its top-level ANDs, in the order they were written.

    >>> from sqlglot import parse_one
    >>> written = expression_from_tree(parse_one("a.x > 1 AND (b.y AND b.z) AND NOT c.u"))
    >>> [part.sql for part in conjuncts(written)]
    ['a.x > 1', 'b.y', 'b.z', 'NOT c.u']
    """
    return [
        condition if tree is condition.tree else expression_from_tree(tree.copy(), condition.span)
        for tree in conjunct_trees(condition.tree)
    ]


def conjunct_trees(tree: exp.Expression) -> Iterator[exp.Expression]:
    """Yield the parts of a tree between its top-level ANDs."""
    pending = [tree]
    while pending:
        current = pending.pop()
        if isinstance(current, exp.And):
            pending.extend((current.expression, current.this))
        elif isinstance(current, exp.Paren) and isinstance(current.this, exp.And | exp.Paren):
            pending.append(current.this)
        else:
            yield current
