"""Plans as text and diagrams."""

from __future__ import annotations

from eventide.explain.render import explain_plan

__all__ = ["explain_plan"]
