"""A SQL statement is described clause by clause, in the order in which they are run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eventide.explain.kinds.row_patterns import describe_row_pattern
from eventide.explain.rendering.model import Description

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.language.sql.statement import MatchClause
    from eventide.plan.row_patterns.plan import RowPlan

NO_CLAUSE = "The statement has no MATCH_RECOGNIZE clause; the relational engine runs all of it."
INPUT_WIDTH = 70


def describe_statement(clauses: Sequence[tuple[RowPlan, str, MatchClause]]) -> list[Description]:
    """Return how each clause is run; it comes with its plan and how the relational engine prepares its rows.

    >>> describe_statement([])[0].title
    'The statement has no MATCH_RECOGNIZE clause; the relational engine runs all of it.'
    """
    if not clauses:
        return [Description(NO_CLAUSE)]
    numbers = [""] if len(clauses) == 1 else [f" {number} of {len(clauses)}" for number in range(1, len(clauses) + 1)]
    return [
        replace(describe_row_pattern(plan, physical), title=f"MATCH_RECOGNIZE{number}, {_place(clause)}")
        for number, (plan, physical, clause) in zip(numbers, clauses, strict=True)
    ]


def _place(clause: MatchClause) -> str:
    """Say what a clause stands over, and where in the text."""
    over = clause.input.sql(dialect="spark")
    made_before = over.removeprefix("__et_match_").partition(" ")[0]
    if over.startswith("__et_match_") and made_before.isdigit():
        over = f"the result of clause {int(made_before) + 1}"
    text, span = clause.query.text, clause.span
    known = span is not None and text[span.start : span.start + 15].upper() == "MATCH_RECOGNIZE"
    line = f", line {text.count(chr(10), 0, span.start) + 1}" if span is not None and known else ""
    return f"over {clipped(over, INPUT_WIDTH)}{line}"


def clipped(text: str, width: int) -> str:
    """Return a text on one line, cut where it is longer than the width.

    >>> clipped("SELECT *  FROM t", 12)
    'SELECT * ...'
    """
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 3]}..."
