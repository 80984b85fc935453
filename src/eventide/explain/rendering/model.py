"""What an explanation holds, for every kind of pattern and free of how a format shows it."""

from __future__ import annotations

from enum import Enum, auto

from eventide.records import record

MATCH = "match"
"""The node that edges of kind MATCH lead to."""
MORE = "more"
"""The node for all states that are not shown; edges to such states end there."""
MAX_STATES_SHOWN = 60

Row = tuple[str, ...]
"""The cells of a line of text. Cells of neighbouring lines stand under each other; a single cell is a line of its own."""


class EdgeKind(Enum):
    """What an edge does with the event or row that it reads."""

    TAKE = auto()
    SKIP = auto()
    MATCH = auto()


@record
class Edge:
    """An edge of a diagram, from the state of its move to a node."""

    target: str
    label: str
    kind: EdgeKind = EdgeKind.TAKE


@record
class Move:
    """A move of a state: how it reads in text, and the edges that a diagram draws for it."""

    row: Row
    edges: tuple[Edge, ...] = ()


@record
class State:
    """A node of a diagram with its label, under its title in text."""

    node: str
    label: str
    title: str
    moves: tuple[Move, ...]


@record
class StateGraph:
    """An automaton: a line that says how to read it, its states, and what is to be said after them."""

    title: str
    legend: str
    states: tuple[State, ...]
    notes: tuple[str, ...] = ()


@record
class Section:
    """Lines or a table under a title; without rows it is not shown."""

    title: str
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, title: str, *lines: str | None) -> Section:
        """Return a section of whole lines; those that are None are left out.

        >>> Section.of("window", "1 hour", None)
        Section(title='window', rows=(('1 hour',),))
        """
        return cls(title, tuple((line,) for line in lines if line is not None))


@record
class Description:
    """How one pattern is run; `text` is the pattern, `physical` the relational engine's own plan."""

    title: str
    text: str = ""
    parts: tuple[Section | StateGraph, ...] = ()
    warnings: tuple[str, ...] = ()
    physical: str | None = None
