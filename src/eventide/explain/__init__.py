"""Plans as text and diagrams."""

from __future__ import annotations

from eventide.explain.kinds.row_patterns import describe_row_pattern
from eventide.explain.kinds.sequences import describe_sequence
from eventide.explain.rendering.formats import ExplainFormat, explain
from eventide.explain.statements import describe_statement

__all__ = ["ExplainFormat", "describe_row_pattern", "describe_sequence", "describe_statement", "explain"]
