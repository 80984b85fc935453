"""The pattern model: frozen data that every language parses to and every engine starts from."""

from eventide.pattern.model import (
    Absence,
    Both,
    Consumption,
    Either,
    Event,
    Expression,
    Filtered,
    Gap,
    Name,
    Named,
    OutputItem,
    Pattern,
    Query,
    Repeat,
    Selector,
    Sequence,
    Strategy,
    Window,
    WindowUnit,
    absences,
    children,
    walk,
)

__all__ = [
    "Absence", "Both", "Consumption", "Either", "Event", "Expression", "Filtered", "Gap", "Name", "Named", "OutputItem",
    "Pattern", "Query", "Repeat", "Selector", "Sequence", "Strategy", "Window", "WindowUnit", "absences", "children", "walk",
]  # fmt: skip
