"""The pattern model: frozen data that every language parses to and every engine starts from."""

from eventide.pattern.sequences import (
    Absence,
    Both,
    Consumption,
    Either,
    Event,
    Expression,
    Filtered,
    Gap,
    Grouping,
    GroupUnit,
    Name,
    Named,
    Ordering,
    OutputItem,
    Pattern,
    Query,
    Repeat,
    Sample,
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
    "Absence", "Both", "Consumption", "Either", "Event", "Expression", "Filtered", "Gap", "GroupUnit", "Grouping", "Name",
    "Named", "Ordering", "OutputItem", "Pattern", "Query", "Repeat", "Sample", "Selector", "Sequence", "Strategy", "Window",
    "WindowUnit", "absences", "children", "walk",
]  # fmt: skip
