"""From descriptions to the format that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import BindError, did_you_mean
from eventide.explain.rendering.dot import to_dot
from eventide.explain.rendering.format_names import ExplainFormat
from eventide.explain.rendering.mermaid import to_mermaid
from eventide.explain.rendering.text import to_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.explain.rendering.model import Description

FORMATS = {ExplainFormat.TEXT: to_text, ExplainFormat.MERMAID: to_mermaid, ExplainFormat.DOT: to_dot}


def explain(descriptions: Sequence[Description], format: str) -> str:  # noqa: A002 - the word users type
    """Return descriptions of plans as text, or their automata as a mermaid or dot diagram.

    >>> from eventide.explain.rendering.model import Description
    >>> print(explain([Description("query", "SELECT * WHERE A", warnings=("It may be slow.",))], "text"))
    query
      SELECT * WHERE A
    warnings
      It may be slow.
    """
    if format not in FORMATS:
        raise BindError("UNKNOWN_FORMAT", f"A plan has no format {format}.", hint=did_you_mean(str(format), FORMATS))
    return FORMATS[ExplainFormat(format)](descriptions)
