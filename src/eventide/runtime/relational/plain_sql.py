"""SQL of simple expressions, written without a dialect of sqlglot: loading that of DuckDB takes longer than a small match."""

from __future__ import annotations

from sqlglot import exp

_BINARY: dict[type[exp.Expression], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.And: "AND",
    exp.Or: "OR",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
}
"""Operators that mean the same in Spark and in DuckDB; division and remainder do not."""


def quoted_name(name: str) -> str:
    """Return a name for standard SQL.

    >>> print(quoted_name('a"b'))
    "a""b"
    """
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """Return a literal for standard SQL, in which a backslash is a character like others.

    >>> print(quoted_text("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"


def plain_sql(tree: exp.Expression, depth: int = 50) -> str | None:
    """Return the SQL of columns, literals and simple operators over them, or None where an expression has more or is deep.

    >>> from sqlglot import parse_one
    >>> print(plain_sql(parse_one("v > 1 + w AND NOT kind = 'A'")))
    (("v" > (1 + "w")) AND (NOT ("kind" = 'A')))
    >>> plain_sql(parse_one("v / 2"))
    """
    kind = type(tree)
    if not depth:
        return None
    if kind is exp.Column:
        return quoted_name(tree.name) if _only(tree) and isinstance(tree.this, exp.Identifier) else None
    if kind is exp.Literal:
        return quoted_text(tree.name) if tree.is_string else tree.name
    if kind is exp.Paren and _only(tree):
        return plain_sql(tree.this, depth - 1)
    if kind is exp.Not and _only(tree):
        inner = plain_sql(tree.this, depth - 1)
        return None if inner is None else f"(NOT {inner})"
    if kind in _BINARY and _only(tree, "expression"):
        left, right = plain_sql(tree.this, depth - 1), plain_sql(tree.expression, depth - 1)
        return None if left is None or right is None else f"({left} {_BINARY[kind]} {right})"
    return None


def _only(tree: exp.Expression, *further: str) -> bool:
    """Return whether a node has `this`, these parts and no other."""
    return all(not part or name in ("this", *further) for name, part in tree.args.items())
