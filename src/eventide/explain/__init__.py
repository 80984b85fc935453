"""Plans as text and diagrams; loaded by name, for most queries are run without being explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.loading import load_later

if TYPE_CHECKING:
    from eventide.explain.kinds.row_patterns import describe_row_pattern
    from eventide.explain.kinds.sequences import describe_sequence
    from eventide.explain.rendering.format_names import ExplainFormat
    from eventide.explain.rendering.formats import explain
    from eventide.explain.statements import describe_statement

__all__ = ["ExplainFormat", "describe_row_pattern", "describe_sequence", "describe_statement", "explain"]

__getattr__ = load_later(
    __name__,
    {
        "eventide.explain.kinds.row_patterns": ("describe_row_pattern",),
        "eventide.explain.kinds.sequences": ("describe_sequence",),
        "eventide.explain.rendering.format_names": ("ExplainFormat",),
        "eventide.explain.rendering.formats": ("explain",),
        "eventide.explain.statements": ("describe_statement",),
    },
)
