"""Queries as canonical CEQL text, and the names that CEQL reserves.

What CEQL can express reads back as an equal query. It cannot express an event of any type (printed `*`), a sequence, OR or
AND with fewer than two parts (printed as the part), and a selector before a column that begins with a parenthesis, because
`SELECT MAX (a.x)` calls the function.
"""

from __future__ import annotations

import re

from eventide.pattern.sequences import (
    Absence,
    Both,
    Consumption,
    Either,
    Event,
    Filtered,
    Grouping,
    Named,
    Pattern,
    Query,
    Repeat,
    Selector,
    Sequence,
    Strategy,
    Window,
    WindowUnit,
)

CLAUSE_WORDS = ("SELECT", "FROM", "WHERE", "FILTER", "PARTITION", "WITHIN", "SLIDE", "CONSUME", "LIMIT")
SELECTOR_WORDS = ("ALL", "ANY", "NEXT", "NXT", "LAST", "MAX", "STRICT")
RESERVED_WORDS = frozenset((*CLAUSE_WORDS, *SELECTOR_WORDS, "AND", "OR", "NOT", "AS"))

PLAIN_NAME = re.compile(rf"(?!(?:{'|'.join(sorted(RESERVED_WORDS))})\Z)[^\W\d]\w*", re.IGNORECASE)
"""A name that can be written without backticks."""
_SEQUENCE_SIGN = {Strategy.ANY: ";", Strategy.STRICT: ":", Strategy.NEXT: "~>"}
_LOOP_SIGN = {Strategy.ANY: "", Strategy.STRICT: ":", Strategy.NEXT: "~"}
_UNITS = (
    ("days", 86_400_000_000),
    ("hours", 3_600_000_000),
    ("minutes", 60_000_000),
    ("seconds", 1_000_000),
    ("milliseconds", 1_000),
    ("microseconds", 1),
)


def to_ceql(query: Query) -> str:
    """Return the query as CEQL, one clause a line.

    >>> from eventide.pattern.sequences import Event, Query, Repeat
    >>> print(to_ceql(Query(pattern=Repeat(Event("Trade"), 1, None), limit=3)))
    SELECT *
    WHERE Trade+
    LIMIT 3
    """
    return "\n".join(f"{word} {text}" for word, text in ceql_clauses(query))


def ceql_clauses(query: Query) -> list[tuple[str, str]]:
    """Return the clauses of a query as CEQL: their first words, and what stands behind them.

    >>> from eventide.pattern.sequences import Event, Query
    >>> ceql_clauses(Query(pattern=Event("Trade"), limit=3))
    [('SELECT', '*'), ('WHERE', 'Trade'), ('LIMIT', '3')]
    """
    pattern = query.pattern
    conditions: list[str] = []
    while isinstance(pattern, Filtered):
        conditions.append(pattern.condition.sql)
        pattern = pattern.pattern
    clauses = [("SELECT", _selected(query))]
    if query.streams:
        clauses.append(("FROM", ", ".join(quote_name(stream.text) for stream in query.streams)))
    clauses.append(("WHERE", pattern_to_ceql(pattern)))
    clauses.extend(("FILTER", condition) for condition in reversed(conditions))
    if query.partition_by:
        clauses.append(("PARTITION BY", ", ".join(quote_name(attribute.text) for attribute in query.partition_by)))
    windows = [window_to_ceql(query.window)] if query.window is not None else []
    if query.step_window is not None:
        windows.append(f"{window_to_ceql(query.step_window)} BETWEEN STEPS")
    if windows:
        clauses.append(("WITHIN", ", ".join(windows)))
    if query.consumption is not Consumption.NONE:
        clauses.append(("CONSUME BY", query.consumption.name))
    return [*clauses, *_result_clauses(query)]


def pattern_to_ceql(pattern: Pattern) -> str:
    """Return a pattern as it stands in a WHERE clause.

    >>> from eventide.pattern.sequences import Event, Gap, Sequence
    >>> pattern_to_ceql(Sequence((Event("A"), Event("B c")), (Gap(),)))
    'A ; `B c`'
    """
    match pattern:
        case Event(type=name, stream=stream):
            prefix = f"{quote_name(stream)}>" if stream is not None else ""
            return prefix + (quote_name(name) if name is not None else "*")
        case Named(pattern=inner, variable=variable):
            return f"{_operand(inner)} AS {quote_name(variable)}"
        case Filtered(pattern=inner, condition=condition):
            return f"({_operand(inner)} FILTER {condition.sql})"
        case Repeat(pattern=inner):
            return _operand(inner) + _quantifier(pattern)
        case Sequence():
            return _sequence(pattern)
        case Either(parts=parts):
            return " OR ".join(_operand(part) for part in parts)
        case Both(parts=parts, strategy=strategy):
            return f" {_LOOP_SIGN[strategy]}AND ".join(_operand(part) for part in parts)


def absence_to_ceql(absence: Absence) -> str:
    """Return an absence as it stands in a sequence.

    >>> from eventide.pattern.sequences import Absence, Event
    >>> absence_to_ceql(Absence(Event("B"), "b"))
    'NOT B AS b'
    """
    text = pattern_to_ceql(absence.event)
    if absence.variable is not None:
        text += f" AS {quote_name(absence.variable)}"
    if absence.condition is not None:
        return f"NOT ({text} FILTER {absence.condition.sql})"
    return f"NOT {text}"


def window_to_ceql(window: Window) -> str:
    """Return a window as it stands behind WITHIN.

    >>> from eventide.pattern.sequences import Window, WindowUnit
    >>> window_to_ceql(Window(WindowUnit.DURATION, 5_400_000_000))
    '90 minutes'
    """
    match window.unit:
        case WindowUnit.EVENTS:
            return f"{window.size} EVENTS"
        case WindowUnit.ATTRIBUTE:
            return f"{window.size} [{quote_name(window.attribute or '')}]"
        case WindowUnit.TIME_UNITS:
            return f"{window.size}" + (f" SLIDE {window.slide}" if window.slide is not None else "")
        case WindowUnit.DURATION:
            return _duration(window.size) + (f" SLIDE {_duration(window.slide)}" if window.slide is not None else "")


def grouping_to_ceql(grouping: Grouping) -> str:
    """Return what stands behind GROUP BY.

    >>> from eventide.pattern.sequences import Grouping, GroupUnit, Window, WindowUnit
    >>> grouping_to_ceql(Grouping(GroupUnit.WINDOW, Window(WindowUnit.DURATION, 60_000_000)))
    'WINDOW 1 minute'
    """
    return grouping.unit.name + ("" if grouping.size is None else f" {window_to_ceql(grouping.size)}")


def quote_name(name: str) -> str:
    """Return a name with backticks where CEQL needs them.

    >>> quote_name("price"), quote_name("limit"), quote_name("a b")
    ('price', '`limit`', '`a b`')
    """
    return name if PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def _selected(query: Query) -> str:
    selector = "" if query.selector is Selector.ALL else f"{query.selector.name} "
    if query.output is None:
        return f"{selector}*"
    items = [item.expression.sql + (f" AS {quote_name(item.alias)}" if item.alias is not None else "") for item in query.output]
    return selector + ", ".join(items)


def _result_clauses(query: Query) -> list[tuple[str, str]]:
    clauses = []
    if query.group_by is not None:
        clauses.append(("GROUP BY", grouping_to_ceql(query.group_by)))
    if query.order_by is not None:
        clauses.append(("ORDER BY", f"{query.order_by.score.sql} {'DESC' if query.order_by.descending else 'ASC'}"))
    if query.limit is not None:
        clauses.append(("LIMIT", str(query.limit)))
    if query.sample is not None:
        seed = "" if query.sample.seed is None else f" SEED {query.sample.seed}"
        clauses.append(("SAMPLE", f"{query.sample.size}{seed}"))
    return clauses


def _operand(pattern: Pattern) -> str:
    """Return a pattern in the place of an operand, in parentheses where it would fall apart."""
    text = pattern_to_ceql(pattern)
    match pattern:
        case Sequence(parts=parts, leading=leading, trailing=trailing):
            compound = len(parts) > 1 or bool(leading) or bool(trailing)
        case Either(parts=parts) | Both(parts=parts):
            compound = len(parts) > 1
        case _:
            compound = False
    return f"({text})" if compound else text


def _sequence(sequence: Sequence) -> str:
    pieces = [f"{absence_to_ceql(absence)} ; " for absence in sequence.leading]
    for index, part in enumerate(sequence.parts):
        if index:
            gap = sequence.gaps[index - 1]
            sign = _SEQUENCE_SIGN[gap.strategy]
            pieces.append(f" {sign} ")
            pieces.extend(f"{absence_to_ceql(absence)} {sign} " for absence in gap.absences)
        pieces.append(_operand(part))
    pieces.extend(f" ; {absence_to_ceql(absence)}" for absence in sequence.trailing)
    return "".join(pieces)


def _quantifier(repeat: Repeat) -> str:
    sign = _LOOP_SIGN[repeat.strategy]
    match repeat.minimum, repeat.maximum:
        case 1, None:
            return f"{sign}+"
        case 0, None:
            return f"{sign}*"
        case 0, 1:
            return f"{sign}?"
        case minimum, None:
            return f"{sign}{{{minimum},}}"
        case minimum, maximum if minimum == maximum:
            return f"{sign}{{{minimum}}}"
        case minimum, maximum:
            return f"{sign}{{{minimum},{maximum}}}"


def _duration(microseconds: int | float) -> str:
    if microseconds == 0:
        return "0 seconds"
    for name, size in _UNITS:
        if microseconds % size == 0:
            count = int(microseconds // size)
            return f"{count} {name if count != 1 else name[:-1]}"
    return f"{microseconds} microseconds"
