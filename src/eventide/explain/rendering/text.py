"""Descriptions as text, one section a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.explain.rendering.model import Section

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eventide.explain.rendering.model import Description, Row, StateGraph


def to_text(descriptions: Sequence[Description]) -> str:
    """Return the descriptions as indented text, an empty line between them."""
    return "\n\n".join("\n".join(_lines(description)) for description in descriptions)


def _lines(description: Description) -> Iterator[str]:
    sections = [
        *((part.title, aligned(part.rows) if isinstance(part, Section) else _states(part)) for part in description.parts),
        ("warnings", description.warnings),
        ("relational plan", (description.physical or "").splitlines()),
    ]
    yield description.title
    yield from _indented(description.text.splitlines())
    for title, lines in sections:
        if lines:
            yield title
            yield from _indented(lines)


def _states(graph: StateGraph) -> list[str]:
    lines = [graph.legend]
    for state in graph.states:
        lines.append(state.title)
        lines.extend(_indented(aligned([move.row for move in state.moves])))
    return [*lines, *graph.notes]


def _indented(lines: Sequence[str]) -> Iterator[str]:
    return (f"  {line}".rstrip() for line in lines)


def aligned(rows: Sequence[Row]) -> list[str]:
    """Return the rows as lines whose cells stand under each other; a row of one cell is left as it is.

    >>> aligned([("a", "first"), ("price", "second"), ("and 3 further columns",)])
    ['a      first', 'price  second', 'and 3 further columns']
    """
    tabular = [row for row in rows if len(row) > 1]
    widths = [max(map(len, column)) for column in zip(*tabular, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() if len(row) > 1 else row[0]
        for row in rows
    ]
