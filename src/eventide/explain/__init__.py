"""Plans as text and diagrams."""

from __future__ import annotations

from eventide.explain.render import explain_plan
from eventide.explain.rows import explain_rows

__all__ = ["explain_plan", "explain_rows"]
