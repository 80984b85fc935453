"""What is known of each group of matches, added up as matches or whole keys come, and turned into rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.match.dag.judged.judging import EndCounts
from eventide.match.totals.semiring import NO_VALUE
from eventide.pattern import GroupUnit
from eventide.plan.totals.results import Aggregate, AggregateKind, Groups
from eventide.records import record
from eventide.runtime.collect.group_schema import group_schema
from eventide.runtime.collect.group_values import (
    UNITS,
    Ranks,
    SumValues,
    as_decimal_text,
    as_digits,
    as_double,
    from_keys,
    ones,
    sum_values,
)
from eventide.runtime.collect.matches import binding_labels, binding_table
from eventide.runtime.relational.arrays import arrow_array, arrow_digits, arrow_numbers, numpy_values
from eventide.runtime.relational.functions import cast, is_valid, kept, take
from eventide.runtime.stage.encoding import LOWEST, numbers_of
from eventide.runtime.stage.propagation import WholeKeys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eventide.match.dag.enumeration import MatchBatch
    from eventide.plan.labels.labelling import Labelling
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout

    Integers = npt.NDArray[np.int64]
    Name = tuple[int, ...]

STATE_VERSION = 1
_NO_END = LOWEST
"""In place of a group for events that end no match which is still to be added."""


@dataclass
class _Total:
    """What is known of a group: matches, exact sums, sort keys of extreme values, marks of NaN and infinities."""

    sums: list[int]
    least: list[Any]
    odd: list[int]
    about: int
    """Where its key and its end stand."""
    matches: int = 0


@record
class _Channel:
    """One total of a variable: a sum of a payload column, of what is valid of it, or of its events."""

    kind: AggregateKind
    variable: str
    payload: int | None


class GroupTotals:
    """The groups of a query. Columns of the events name them: `keys` tell PARTITION BY keys apart, `place` single events."""

    def __init__(self, plan: Plan, layout: Layout, labelling: Labelling, keys: Sequence[str], place: str) -> None:
        assert isinstance(plan.results, Groups)
        self._plan = plan
        self._layout = layout
        self._labelling = labelling
        self._asked = plan.results
        self._keys = tuple(keys)
        self._place = place
        self._sums = list(dict.fromkeys(_sum_channels(plan.results.columns)))
        self._least = list(dict.fromkeys(_least_channels(plan.results.columns)))
        self._totals: dict[Name, _Total] = {}
        self._about_columns = list(layout.keys[: len(plan.keys)])
        if self._asked.unit is GroupUnit.END:
            assert self._asked.time is not None
            self._about_columns += [layout.payload[self._asked.time], layout.clock]
        self._about: list[pa.Table] = []
        self._known = 0
        self._parked: pa.Table | None = None

    def learn(self, prepared: pa.Schema) -> None:
        """Take the types from the events themselves: an engine may hand over others than it announces."""
        self._schema = group_schema(self._plan, self._layout, prepared)
        self._kinds = [prepared.field(name).type for name in self._layout.payload]

    def begin(self, names: list[Name], rows: Iterable[int], table: pa.Table | None) -> None:
        """Make groups known, each with an event of it in the table that tells its key."""
        self._fetch_named(names)
        fresh = [(name, row) for name, row in zip(names, rows, strict=True) if name not in self._totals]
        if not fresh:
            return
        if self._about_columns:
            assert table is not None
            self._about.append(take(table.select(self._about_columns), arrow_numbers([row for _, row in fresh], np.int64)))
        for about, (name, _) in enumerate(fresh, start=self._known):
            self._totals[name] = _Total([0] * len(self._sums), [None] * len(self._least), [0] * len(self._sums), about)
        self._known += len(fresh)

    def take(self, found: MatchBatch | EndCounts | WholeKeys, payload: pa.Table) -> None:
        """Add matches that were listed, counted or are known of whole keys; `payload` holds the events that they name."""
        if isinstance(found, WholeKeys):
            self._take_keys(found, found.table(payload))
        elif isinstance(found, EndCounts):
            self._take_counts(found, payload)
        else:
            self._take_listed(found, payload)

    def _take_keys(self, keys: WholeKeys, table: pa.Table) -> None:
        """Add the matches of whole keys without enumerating them."""
        sums, ranks = self._values(table)
        group, names, first = self._groups(table, keys.ends)
        events = keys.events(group, len(names))
        labels = keys.aggregator.label_count(events)
        odd = [(channel.variable, value.odd) for channel, value in zip(self._sums, sums, strict=True) if value.odd is not None]
        least = [*(column.rank for column in ranks), *(row for _, rows in odd for row in rows)]
        variables = [*(channel.variable for channel in self._least), *(name for name, rows in odd for _ in rows)]
        totals = keys.aggregator.totals(
            events,
            [value.number for value in sums],
            binding_table(self._labelling, [channel.variable for channel in self._sums], labels),
            np.array(least, np.int64).reshape(len(least), table.num_rows),
            binding_table(self._labelling, variables, labels),
        )
        empty = self._asked.unit is GroupUnit.PARTITION
        shown = [number for number, name in enumerate(names) if name[-1] != _NO_END and (empty or totals.matches[number])]
        self.begin([names[number] for number in shown], first[shown].tolist(), table)
        for number in shown:
            total = self._totals[names[number]]
            total.matches += totals.matches[number]
            found = totals.least[:, number].tolist()
            for place, column in enumerate(ranks):
                if found[place] < NO_VALUE:
                    self._improve(total, place, column.keys[found[place]])
            marks = iter(found[len(ranks) :])
            for place, value in enumerate(sums):
                total.sums[place] += totals.sums[place][number] << self._scale(place, value)
                if value.odd is not None:
                    total.odd[place] |= sum((next(marks) == 0) << mark for mark in range(len(value.odd)))

    def _take_counts(self, found: EndCounts, payload: pa.Table) -> None:
        """Add matches of which only the number is known, for groups that show nothing else."""
        ends = take(payload, arrow_array(found.end.astype(np.int64)))
        group, names, first = self._groups(ends, None)
        self.begin(names, first.tolist(), ends)
        for number, count in zip(group.tolist(), found.matches, strict=True):
            self._totals[names[number]].matches += count

    def _take_listed(self, found: MatchBatch, payload: pa.Table) -> None:
        """Add enumerated matches."""
        sums, ranks = self._values(payload)
        group, names, first = self._groups(payload, None)
        ends = group[found.end]
        numbers, counts = np.unique(ends, return_counts=True)
        self.begin([names[number] for number in numbers.tolist()], first[numbers].tolist(), payload)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            self._totals[names[number]].matches += count
        ends = np.repeat(ends, np.diff(found.offset))
        for place, (channel, value) in enumerate(zip(self._sums, sums, strict=True)):
            taken = binding_labels(self._labelling, channel.variable)[found.label]
            pairs, times = np.unique(np.stack([ends[taken], found.row[taken]]), axis=1, return_counts=True)
            for (number, row), count in zip(pairs.T.tolist(), times.tolist(), strict=True):
                total = self._totals[names[number]]
                weight = int(value.number.mantissa[row]) << int(value.number.shift[row])
                total.sums[place] += count * weight << self._scale(place, value)
                if value.odd is not None:
                    total.odd[place] |= sum(int(value.odd[mark, row] == 0) << mark for mark in range(len(value.odd)))
        for place, (channel, column) in enumerate(zip(self._least, ranks, strict=True)):
            taken = binding_labels(self._labelling, channel.variable)[found.label]
            best = np.full(len(names), NO_VALUE, np.int64)
            np.minimum.at(best, ends[taken], column.rank[found.row[taken]])
            for number in np.flatnonzero(best < NO_VALUE).tolist():
                self._improve(self._totals[names[number]], place, column.keys[int(best[number])])

    def _values(self, table: pa.Table) -> tuple[list[SumValues], list[Ranks]]:
        sums, least = [], []
        for channel in self._sums:
            if channel.payload is None:
                sums.append(ones(np.ones(table.num_rows, np.bool_)))
            elif channel.kind is AggregateKind.COUNT_VALUE:
                sums.append(ones(numpy_values(is_valid(self._column(table, channel.payload)))))
            else:
                sums.append(sum_values(self._column(table, channel.payload)))
        for channel in self._least:
            assert channel.payload is not None
            ranks = Ranks.of(self._column(table, channel.payload))
            least.append(ranks.reversed() if channel.kind is AggregateKind.MAX else ranks)
        return sums, least

    def _column(self, table: pa.Table, payload: int) -> pa.Array:
        return table.column(self._layout.payload[payload]).combine_chunks()

    def _groups(self, table: pa.Table, ends: npt.NDArray[np.bool_] | None) -> tuple[Integers, list[Name], Integers]:
        """Number the groups of events as ends; return their names and an event of each."""
        match self._asked.unit:
            case GroupUnit.PARTITION:
                rest = np.zeros(table.num_rows, np.int64)
            case GroupUnit.END:
                rest = numbers_of(table, self._place)
            case GroupUnit.WINDOW:
                assert self._asked.size is not None
                rest = np.floor_divide(numbers_of(table, self._layout.clock), self._asked.size)
        if ends is not None:
            rest = np.where(ends, rest, _NO_END)
        parts = np.stack([*(numbers_of(table, name) for name in self._keys), rest])
        names, first, inverse = np.unique(parts, axis=1, return_index=True, return_inverse=True)
        return inverse.reshape(-1).astype(np.int64), [tuple(name) for name in names.T.tolist()], first

    def _improve(self, total: _Total, place: int, key: Any) -> None:
        better = max if self._least[place].kind is AggregateKind.MAX else min
        total.least[place] = key if total.least[place] is None else better(total.least[place], key)

    def _scale(self, place: int, value: SumValues) -> int:
        return value.exponent + UNITS if self._is_double(self._sums[place]) else 0

    def _is_double(self, channel: _Channel) -> bool:
        summed = channel.kind is AggregateKind.SUM and channel.payload is not None
        return summed and bool(pa.types.is_floating(self._kinds[channel.payload or 0]))

    def rows(self) -> pa.Table | None:
        """Return a row for each group, by name, or None where there is none."""
        return self._rows(sorted(self._totals)) if self._totals else None

    def closed(self, before: int) -> tuple[pa.Table, list[Name], Integers] | None:
        """Take out the groups whose last possible end is below a time; returns their rows, names and these ends."""
        if self._parked is not None and self._parked.num_rows:
            self._fetch(self._last_ends(self._parked, numbers_of(self._parked, self._name_columns[-1])) < before)
        names = sorted(self._totals)
        about = self._about_of([self._totals[name] for name in names])
        lasts = self._last_ends(about, np.array([name[-1] for name in names], np.int64))
        closed = lasts < before
        if not closed.any():
            return None
        leaving = [name for name, over in zip(names, closed.tolist(), strict=True) if over]
        rows = self._rows(leaving)
        for name in leaving:
            del self._totals[name]
        return rows, leaving, lasts[closed]

    def _last_ends(self, about: pa.Table | None, last_parts: Integers) -> Integers:
        """Return for each group the latest time at which a match of it can end, given the last parts of their names."""
        if self._asked.unit is GroupUnit.END:
            return last_parts if about is None else numbers_of(about, self._layout.clock)
        assert self._asked.unit is GroupUnit.WINDOW and self._asked.size is not None
        return (last_parts + 1) * self._asked.size - 1

    def dump(self) -> dict[str, Any]:
        """Return what is known of all groups, by name."""
        self._park()
        assert self._parked is not None
        return {"groups_version": STATE_VERSION, "groups": self._parked}

    def load(self, parts: dict[str, Any]) -> None:
        """Go on from a dump."""
        if parts["groups_version"] != STATE_VERSION:
            message = f"groups of version {parts['groups_version']} cannot be read, this is version {STATE_VERSION}"
            raise ValueError(message)
        self._parked = parts["groups"]

    @property
    def _name_columns(self) -> list[str]:
        return [f"name{place}" for place in range(len(self._keys) + 1)]

    def _park(self) -> None:
        """Put all groups into a table: those that get no match for a while then cost no look at each of them."""
        names, totals = list(self._totals), list(self._totals.values())
        columns: dict[str, pa.Array | pa.ChunkedArray] = {
            column: arrow_numbers([name[place] for name in names], np.int64) for place, column in enumerate(self._name_columns)
        }
        # Hexadecimal digits: they are read and written in linear time, and Python does not cap them.
        columns["matches"] = arrow_digits([f"{total.matches:x}" for total in totals])
        for place in range(len(self._sums)):
            columns[f"sum{place}"] = arrow_digits([f"{total.sums[place]:x}" for total in totals])
            columns[f"odd{place}"] = arrow_numbers([total.odd[place] for total in totals], np.int64)
        for place, channel in enumerate(self._least):
            columns[f"least{place}"] = from_keys([total.least[place] for total in totals], self._kinds[channel.payload or 0])
        about = self._about_of(totals)
        if about is not None:
            columns |= dict(zip(about.column_names, about.columns, strict=True))
        fresh = pa.table(columns)
        known = self._parked
        self._parked = fresh if known is None or not known.num_rows else pa.concat_tables([known, fresh]) if names else known
        self._totals, self._about, self._known = {}, [], 0

    def _fetch(self, which: npt.NDArray[np.bool_]) -> None:
        """Take groups out of the table again."""
        if self._parked is None or not which.any():
            return
        table = kept(self._parked, arrow_array(which)).combine_chunks()
        self._parked = kept(self._parked, arrow_array(~which))
        if self._about_columns:
            self._about.append(table.select(self._about_columns))
        names = list(zip(*(table.column(name).to_pylist() for name in self._name_columns), strict=True))
        matches = _numbers(table, "matches")
        sums = [_numbers(table, f"sum{place}") for place in range(len(self._sums))]
        odd = [table.column(f"odd{place}").to_pylist() for place in range(len(self._sums))]
        least = [Ranks.of(table.column(f"least{place}").combine_chunks()).sort_keys() for place in range(len(self._least))]
        for row, name in enumerate(names):
            total_sums, total_least, total_odd = ([column[row] for column in columns] for columns in (sums, least, odd))
            self._totals[name] = _Total(total_sums, total_least, total_odd, self._known + row, matches[row])
        self._known += len(names)

    def _fetch_named(self, names: list[Name]) -> None:
        if self._parked is None or not self._parked.num_rows or not names:
            return
        parked = np.stack([numbers_of(self._parked, name) for name in self._name_columns], axis=1)
        self._fetch(np.isin(_as_scalars(parked), _as_scalars(np.array(names, np.int64))))

    def _rows(self, names: list[Name]) -> pa.Table:
        totals = [self._totals[name] for name in names]
        about = self._about_of(totals)
        arrays: list[pa.Array] = []
        for column in self._asked.columns:
            arrays.extend(self._arrays(column, names, totals, about))
        typed = [cast(array, field.type) for array, field in zip(arrays, self._schema, strict=True)]
        return pa.Table.from_arrays(typed, schema=self._schema)

    def _about_of(self, totals: list[_Total]) -> pa.Table | None:
        if not self._about:
            return None
        return take(pa.concat_tables(self._about), arrow_numbers([total.about for total in totals], np.int64))

    def _arrays(self, column: Aggregate, names: list[Name], totals: list[_Total], about: pa.Table | None) -> list[pa.Array]:
        match column.kind:
            case AggregateKind.KEY:
                assert about is not None and column.payload is not None
                return [about.column(self._layout.keys[column.payload]).combine_chunks()]
            case AggregateKind.END:
                assert about is not None and column.payload is not None
                return [about.column(self._layout.payload[column.payload]).combine_chunks()]
            case AggregateKind.WINDOW_START | AggregateKind.WINDOW_END:
                assert self._asked.size is not None
                later = int(column.kind is AggregateKind.WINDOW_END)
                return [arrow_numbers([(name[-1] + later) * self._asked.size for name in names], np.int64)]
            case AggregateKind.MIN | AggregateKind.MAX:
                assert column.payload is not None
                place = self._least.index(_Channel(column.kind, column.variable or "", column.payload))
                return [from_keys([total.least[place] for total in totals], self._kinds[column.payload])]
            case AggregateKind.MATCHES:
                return _digits([total.matches for total in totals])
            case AggregateKind.COUNT | AggregateKind.COUNT_VALUE:
                place = self._sums.index(_Channel(column.kind, column.variable or "", column.payload))
                return _digits([total.sums[place] for total in totals])
            case AggregateKind.SUM | AggregateKind.AVG:
                return self._sum_arrays(column, totals)

    def _sum_arrays(self, column: Aggregate, totals: list[_Total]) -> list[pa.Array]:
        assert column.payload is not None
        kind = self._kinds[column.payload]
        place = self._sums.index(_Channel(AggregateKind.SUM, column.variable or "", column.payload))
        counted = self._sums.index(_Channel(AggregateKind.COUNT_VALUE, column.variable or "", column.payload))
        unit = 1 << UNITS if pa.types.is_floating(kind) else 10**kind.scale if pa.types.is_decimal(kind) else 1
        counts = [total.sums[counted] for total in totals]
        sums = [total.sums[place] for total in totals]
        if column.kind is AggregateKind.AVG or pa.types.is_floating(kind):
            averaged = column.kind is AggregateKind.AVG
            doubles = [
                None if not count else _odd(total.odd[place]) or as_double(whole, unit * (count if averaged else 1))
                for total, whole, count in zip(totals, sums, counts, strict=True)
            ]
            return [arrow_numbers(doubles)]
        scale = kind.scale if pa.types.is_decimal(kind) else 0
        texts = [as_decimal_text(whole, scale) if count else None for whole, count in zip(sums, counts, strict=True)]
        rough = [as_double(whole, unit) if count else None for whole, count in zip(sums, counts, strict=True)]
        return [arrow_digits(texts), arrow_numbers(rough)]


def _as_scalars(names: Integers) -> npt.NDArray[np.void]:
    """Return each row of numbers as one value that compares."""
    kind = np.dtype([(f"f{part}", np.int64) for part in range(names.shape[1])])
    return np.ascontiguousarray(names).view(kind).reshape(-1)


def _numbers(table: pa.Table, name: str) -> list[int]:
    return [int(digits, 16) for digits in table.column(name).to_pylist()]


def _sum_channels(columns: tuple[Aggregate, ...]) -> Iterator[_Channel]:
    for column in columns:
        if column.kind in (AggregateKind.COUNT, AggregateKind.COUNT_VALUE):
            yield _Channel(column.kind, column.variable or "", column.payload)
        elif column.kind in (AggregateKind.SUM, AggregateKind.AVG):
            yield _Channel(AggregateKind.SUM, column.variable or "", column.payload)
            # A sum over no value is null, and an average is divided by how many there are.
            yield _Channel(AggregateKind.COUNT_VALUE, column.variable or "", column.payload)


def _least_channels(columns: tuple[Aggregate, ...]) -> Iterator[_Channel]:
    for column in columns:
        if column.kind in (AggregateKind.MIN, AggregateKind.MAX):
            yield _Channel(column.kind, column.variable or "", column.payload)


def _digits(numbers: list[int]) -> list[pa.Array]:
    return [
        arrow_digits([as_digits(number) for number in numbers]),
        arrow_numbers([as_double(number) for number in numbers]),
    ]


def _odd(marks: int) -> float | None:
    """Return what NaN and infinities among the values make of their sum."""
    if marks == 0:
        return None
    return {2: math.inf, 4: -math.inf}.get(marks, math.nan)
