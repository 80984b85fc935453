"""The walk over one partition: where matches are looked for, and where the search goes on after one (section 10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eventide.errors import DataError
from eventide.pattern.row_patterns import SkipTo
from eventide_reference.row_patterns.reading import Sight
from eventide_reference.row_patterns.words import Search, Steps, Word
from eventide_reference.windows import as_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.pattern.row_patterns import RowQuery
    from eventide_reference.row_patterns.reading import Table


@dataclass(frozen=True, slots=True)
class Found:
    """A match: its number, its first position and its word."""

    number: int
    start: int
    word: Word


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A row that is in no match and starts no empty match."""

    position: int


def walk(query: RowQuery, partition: Table, steps: Steps) -> Iterator[Found | Unmatched]:
    """Yield the matches of a partition, and the rows that are in none, in the order in which they are found.

    >>> from eventide.pattern.row_patterns import RowQuery, Variable
    >>> from eventide_reference.row_patterns.reading import Table
    >>> [found.start for found in walk(RowQuery(Variable("A")), Table([{}, {}], []), Steps(100))]
    [0, 1]
    """
    position, number, matched_up_to = 0, 1, 0
    while position < len(partition.rows):
        word = preferred_word(query, partition, position, number, steps)
        if word is None:
            if position >= matched_up_to:
                yield Unmatched(position)
            position += 1
            continue
        found = Found(number, position, word)
        yield found
        number += 1
        matched_up_to = max(matched_up_to, position + len(word))
        position = next_position(query, found)


def preferred_word(query: RowQuery, partition: Table, start: int, number: int, steps: Steps) -> Word | None:
    """Return the most preferred word that the rows from `start` on allow, None when there is none.

    >>> from eventide.pattern.row_patterns import Alternation, RowQuery, Variable
    >>> from eventide_reference.row_patterns.reading import Table
    >>> preferred_word(RowQuery(Alternation((Variable("B"), Variable("A")))), Table([{}], []), 0, 1, Steps(100))
    (Mapped(variable='B', excluded=False),)
    """
    conditions = {definition.variable: definition.condition.tree for definition in query.definitions}
    members = subset_members(query)

    def may_map(word: Word, variable: str) -> bool:
        # Times ascend, so a row too far from the first one has only such rows after it.
        if not is_within(query, partition, start, start + len(word)):
            return False
        if variable not in conditions:
            return True
        variables = (*(mapped.variable for mapped in word), variable)
        sight = Sight(partition, start, variables, len(variables), number, members)
        return sight.value(conditions[variable]) is True

    return next(Search(start, len(partition.rows), may_map, steps).words(query.pattern), None)


def subset_members(query: RowQuery) -> dict[str, frozenset[str]]:
    """Return the primary variables of each SUBSET variable.

    >>> from eventide.pattern import Name
    >>> from eventide.pattern.row_patterns import RowQuery, Subset, Variable
    >>> subset_members(RowQuery(Variable("A"), subsets=(Subset("U", (Name("A"),)),)))
    {'U': frozenset({'A'})}
    """
    return {subset.name: frozenset(member.text for member in subset.members) for subset in query.subsets}


def is_within(query: RowQuery, partition: Table, first: int, last: int) -> bool:
    """Tell whether a match may reach from one row to another.

    >>> from eventide.pattern import Name
    >>> from eventide.pattern.row_patterns import RowQuery, SortKey, Variable
    >>> from eventide_reference.row_patterns.reading import Table
    >>> query = RowQuery(Variable("A"), order_by=(SortKey(Name("t")),), within=10)
    >>> times = Table([{"t": 0}, {"t": 10}, {"t": 11}, {"t": None}], ["t"])
    >>> [is_within(query, times, 0, last) for last in range(4)]
    [True, True, False, False]
    """
    if query.within is None or first == last:
        return True
    times = [as_number(partition.value(position, query.order_by[0].column.text)) for position in (first, last)]
    return None not in times and times[1] - times[0] <= query.within


def next_position(query: RowQuery, found: Found) -> int:
    """Return where the search goes on after a match.

    >>> from eventide.pattern.row_patterns import RowQuery, Variable
    >>> from eventide_reference.row_patterns.words import Mapped
    >>> query = RowQuery(Variable("A"))
    >>> next_position(query, Found(1, 4, (Mapped("A"), Mapped("A")))), next_position(query, Found(1, 4, ()))
    (6, 5)
    """
    skip = query.skip
    if not found.word or skip.to is SkipTo.NEXT_ROW:
        return found.start + 1
    if skip.to is SkipTo.PAST_LAST_ROW:
        return found.start + len(found.word)
    assert skip.variable is not None
    name = skip.variable.text
    targets = subset_members(query).get(name, {name})
    positions = [found.start + place for place, mapped in enumerate(found.word) if mapped.variable in targets]
    if not positions:
        raise DataError(
            "MATCH_RECOGNIZE_SKIP_TO_MISSING_ROW",
            f"AFTER MATCH SKIP goes to {name}, but a match has no row of {name}.",
            text=query.text,
            span=skip.variable.span,
            hint="AFTER MATCH SKIP PAST LAST ROW",
        )
    target = positions[0] if skip.to is SkipTo.FIRST else positions[-1]
    if target == found.start:
        raise DataError(
            "MATCH_RECOGNIZE_SKIP_TO_FIRST_ROW",
            f"AFTER MATCH SKIP goes to {name}, but a match begins with that row of {name}.",
            text=query.text,
            span=skip.variable.span,
            hint="AFTER MATCH SKIP TO NEXT ROW",
        )
    return target
