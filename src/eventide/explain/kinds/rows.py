"""How MATCH_RECOGNIZE clauses are run: text, mermaid and dot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import BindError, did_you_mean
from eventide.explain.kinds.row_diagrams import rows_to_dot, rows_to_mermaid
from eventide.explain.kinds.row_model import row_explanation
from eventide.explain.kinds.row_text import rows_to_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.language.sql.statement import MatchClause
    from eventide.plan.row_patterns.plan import RowPlan

    ClausePlan = tuple[RowPlan, str] | tuple[RowPlan, str, MatchClause]

ROW_FORMATS = {"text": rows_to_text, "mermaid": rows_to_mermaid, "dot": rows_to_dot}


def explain_rows(plans: Sequence[ClausePlan], format: str) -> str:  # noqa: A002 - the word users type
    """Return the plans of the clauses of a statement; each comes with the relational engine's own plan, and its clause if known.

    >>> explain_rows([], "dot").splitlines()[0]
    'digraph automaton {'
    """
    if format not in ROW_FORMATS:
        raise BindError("UNKNOWN_FORMAT", f"A plan has no format {format}.", hint=did_you_mean(str(format), ROW_FORMATS))
    explanations = [
        row_explanation(plan[0], plan[1], number, len(plans), plan[2] if len(plan) == 3 else None)
        for number, plan in enumerate(plans, 1)
    ]
    return ROW_FORMATS[format](explanations)
