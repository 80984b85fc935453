"""Rewrite rules over bound queries, in the order in which they are applied."""

from __future__ import annotations

from eventide.plan.rewrite.partition_by_equality import partition_by_equality

RULES = (partition_by_equality,)

__all__ = ["RULES", "partition_by_equality"]
