"""Plans as text and diagrams."""

from __future__ import annotations

from eventide.explain.kinds.rows import explain_rows
from eventide.explain.render import explain_plan

__all__ = ["explain_plan", "explain_rows"]
