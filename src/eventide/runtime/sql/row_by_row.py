"""Which statements can stand over a stream in this process: those whose parts around the clause look at one row at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.errors import BindError

if TYPE_CHECKING:
    from eventide.language.sql.statement import Statement

ONE_ROW = frozenset({"expressions", "from_", "where", "kind", "hint", "operation_modifiers"})
"""The parts of a SELECT that look at one row."""
WRITTEN = {"order": "ORDER BY", "group": "GROUP BY", "with_": "WITH", "joins": "a join"}
SEVERAL_ROWS = (exp.AggFunc, exp.Window, exp.Query, exp.UDTF)


def refuse_several_rows(statement: Statement) -> None:
    """Refuse a statement that is more than one clause with conditions and columns around it."""
    clauses = statement.clauses
    if len(clauses) != 1:
        raise _refused(statement, f"has {len(clauses)} MATCH_RECOGNIZE clauses")
    for tree in (statement.tree, clauses[0].input):
        reason = _why_not(tree)
        if reason is not None:
            raise _refused(statement, reason)


def _why_not(tree: exp.Expression) -> str | None:
    """Return what looks at several rows, or None."""
    if isinstance(tree, exp.Table):
        return "has a join" if tree.args.get("joins") or tree.args.get("sample") else None
    if isinstance(tree, exp.Subquery):
        return _why_not(tree.this)
    if not isinstance(tree, exp.Select):
        return f"has {tree.key.upper()}"
    for name, part in tree.args.items():
        if part and name not in ONE_ROW:
            return f"has {WRITTEN.get(name, name.strip('_').upper())}"
    inner = tree.args["from_"].this
    for part in (*tree.expressions, *([tree.args["where"]] if tree.args.get("where") else [])):
        found = next((node for kind in SEVERAL_ROWS for node in part.find_all(kind)), None)
        if found is not None:
            return f"looks at several rows in {found.sql(dialect='spark')}"
    return _why_not(inner)


def _refused(statement: Statement, reason: str) -> BindError:
    return BindError(
        "STATEMENT_ON_STREAM",
        f"An open stream runs one MATCH_RECOGNIZE with WHERE and columns around it, but this statement {reason}.",
        hint="Keep the clause and do the rest with what comes out, or run the statement on Spark.",
        text=statement.text,
    )
