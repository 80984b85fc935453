"""The formats of explain by name, apart from what draws them: the command line lists them in its help."""

from __future__ import annotations

from enum import StrEnum


class ExplainFormat(StrEnum):
    """How a plan can be shown."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
