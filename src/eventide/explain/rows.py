"""How MATCH_RECOGNIZE clauses are run: text, mermaid and dot."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.plan.rows.plan import RowPlan


def explain_rows(plans: Sequence[tuple[RowPlan, str]], format: str) -> str:  # noqa: A002 - the word users type
    """Return the plans of the clauses of a statement; each comes with the relational engine's own plan."""
    return "\n\n".join(f"{format}\n{physical}" for _, physical in plans)
