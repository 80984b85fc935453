"""Comparing a peer with the oracle and with our engine, partition by partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import eventide as et
from crosscheck.disagreements import DISAGREEMENTS, Sample
from crosscheck.peers import Answer, Case
from crosscheck.tables import COLUMNS, Row, as_table
from eventide.errors import EventideError
from eventide_reference.row_patterns import recognize

NAMES = [name for name, _ in COLUMNS]


@dataclass
class Tally:
    """What a run has seen: partitions with a known reason to differ, the others, and what is left unexplained."""

    partitions: int = 0
    matched: int = 0
    """Partitions without a known reason to differ in which there was something to find."""
    refused: int = 0
    agreeing: Counter[str] = field(default_factory=Counter)
    differing: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)

    def report(self, engine: str) -> str:
        """Return the table that is printed at the end."""
        lines = [f"{engine}: {self.partitions} partitions, {self.matched} of them with rows and no known reason to differ"]
        lines.append(f"  {self.refused} queries refused with an error by both sides")
        for known in DISAGREEMENTS:
            if known.engine == engine:
                counts = f"{self.differing[known.name]:>6} differ {self.agreeing[known.name]:>6} agree"
                lines.append(f"  {known.name:<45} {counts}   {known.why}")
        return "\n".join(lines)


def in_partitions(rows: list[Row]) -> Iterator[tuple[Any, list[Row]]]:
    """Yield the key and the rows of each partition, in order."""
    for key in sorted({row["k"] for row in rows}):
        yield key, sorted((row for row in rows if row["k"] == key), key=lambda row: row["id"])


def as_bag(rows: list[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    """Return rows so that two engines can be compared: no order, doubles to nine digits, times as text."""

    def plain(value: Any) -> Any:
        if isinstance(value, float):
            return round(value, 9)
        return value.isoformat(sep=" ") if isinstance(value, datetime) else value

    return Counter(tuple(map(plain, row)) for row in rows)


def compare(case: Case, answer: Answer, tally: Tally) -> None:
    """Compare a peer with the oracle and our engine with the oracle; a peer may differ where it is known to."""
    try:
        columns, expected = recognize(case.query, case.rows, NAMES)
    except EventideError as error:
        compare_errors(case, answer, error, tally)
        return
    ours = et.sql(case.sql, t=as_table(case.rows))
    our_rows = [tuple(row.values()) for row in ours.to_pylist()]
    if ours.column_names != columns or as_bag(our_rows) != as_bag(expected):
        tally.unexplained.append(f"Eventide and the oracle differ:\n{case.sql}\n{case.rows}\n{our_rows}\n{expected}")
    if answer.error is not None:
        known = [each for _, rows in in_partitions(case.rows) for each in reasons(case, rows)]
        if not known:
            tally.unexplained.append(f"{case.engine} refuses:\n{case.sql}\n{answer.error}")
        return
    if answer.columns is not None and answer.rows and [name.lower() for name in answer.columns] != columns:
        tally.unexplained.append(f"{case.engine} has other columns:\n{case.sql}\n{answer.columns} {columns}")
    for key, rows in in_partitions(case.rows):
        compare_partition(case, rows, rows_of(expected, key), rows_of(answer.rows or [], key), tally)


def rows_of(rows: list[tuple[Any, ...]], key: Any) -> list[tuple[Any, ...]]:
    """Return the rows of one partition of a result, whose first column is the key."""
    return [row for row in rows if row[0] == key]


def compare_partition(case: Case, rows: list[Row], expected: list[tuple[Any, ...]], given: list[tuple[Any, ...]], tally: Tally) -> None:
    """Compare the rows of one partition."""
    known = reasons(case, rows)
    agrees = as_bag(expected) == as_bag(given)
    tally.partitions += 1
    tally.matched += bool(expected) and not known
    (tally.agreeing if agrees else tally.differing).update(known)
    if not agrees and not known:
        tally.unexplained.append(f"{case.engine} differs:\n{case.sql}\nrows {rows}\nexpected {expected}\n{case.engine} {given}")


def compare_errors(case: Case, answer: Answer, error: EventideError, tally: Tally) -> None:
    """Where the oracle refuses, our engine must, and the peer must unless it is known to find other matches."""
    tally.refused += 1
    try:
        et.sql(case.sql, t=as_table(case.rows))
        tally.unexplained.append(f"Eventide answers what the oracle refuses:\n{case.sql}\n{case.rows}\n{error}")
    except EventideError as ours:
        if ours.condition not in conditions_of_partitions(case):
            tally.unexplained.append(f"Eventide refuses otherwise than the oracle:\n{case.sql}\n{ours}\n{error}")
    known = [each for _, rows in in_partitions(case.rows) for each in reasons(case, rows)]
    if answer.error is None and not known:
        tally.unexplained.append(f"{case.engine} answers what the oracle refuses:\n{case.sql}\n{case.rows}\n{error}")


def conditions_of_partitions(case: Case) -> set[str]:
    """Return how the oracle refuses each partition by itself: which one an engine comes to first is its own matter."""
    found = set()
    for _, rows in in_partitions(case.rows):
        try:
            recognize(case.query, rows, NAMES)
        except EventideError as error:
            found.add(error.condition)
    return found


def reasons(case: Case, rows: list[Row]) -> list[str]:
    """Return the names of the known disagreements that apply to a partition."""
    sample = Sample(case.query, rows)
    return [known.name for known in DISAGREEMENTS if known.engine == case.engine and known.recognises(sample)]
