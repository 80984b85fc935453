"""Rewrite rules over bound queries, in the order in which they are applied."""

from __future__ import annotations

from eventide.plan.rewrite.partition_by_equality import partition_by_equality
from eventide.plan.rewrite.window_between_steps import window_between_steps

RULES = (partition_by_equality, window_between_steps)

__all__ = ["RULES", "partition_by_equality", "window_between_steps"]
