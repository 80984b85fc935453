"""GROUP BY: aggregates over all matches of each group, propagated where that is possible, else of the matches one by one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eventide.match.aggregates.exact import Events
from eventide.match.aggregates.semiring import NO_VALUE
from eventide.pattern import GroupUnit
from eventide.plan.results import APPROXIMATE, Aggregate, AggregateKind, Groups
from eventide.plan.ways import Cost
from eventide.runtime.group_values import (
    UNITS,
    Ranks,
    SumValues,
    as_decimal_text,
    as_double,
    from_keys,
    ones,
    refuse_order,
    refuse_sum,
    sum_values,
)
from eventide.runtime.propagation import make_aggregator
from eventide.runtime.whole_keys import PLACE, SHOWN, WholeKeysStage, column_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.enumeration import Found
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare import Layout
    from eventide.runtime.stage import StageOptions
    from eventide.runtime.whole_keys import WholeKeys

    Integers = npt.NDArray[np.int64]

_TEXT, _DOUBLE, _AS_PAYLOAD, _AS_KEY, _AS_TIME = "text", "double", "payload", "key", "time"


@dataclass(frozen=True)
class ResultColumn:
    """A column of the result: text, a double, or the type of a payload column, a key or the event time."""

    name: str
    kind: str
    number: int | None = None


def result_columns(plan: Plan, floating: set[int]) -> list[ResultColumn]:
    """Return the columns of the result; `floating` are the payload columns that hold doubles."""
    assert isinstance(plan.results, Groups)
    columns = []
    for aggregate in plan.results.columns:
        match aggregate.kind:
            case AggregateKind.KEY:
                columns.append(ResultColumn(aggregate.name, _AS_KEY, aggregate.payload))
            case AggregateKind.END:
                columns.append(ResultColumn(aggregate.name, _AS_PAYLOAD, aggregate.payload))
            case AggregateKind.WINDOW_START | AggregateKind.WINDOW_END:
                columns.append(ResultColumn(aggregate.name, _AS_TIME, aggregate.payload))
            case AggregateKind.MIN | AggregateKind.MAX:
                columns.append(ResultColumn(aggregate.name, _AS_PAYLOAD, aggregate.payload))
            case AggregateKind.AVG:
                columns.append(ResultColumn(aggregate.name, _DOUBLE))
            case AggregateKind.SUM if aggregate.payload in floating:
                columns.append(ResultColumn(aggregate.name, _DOUBLE))
            case _:
                columns.append(ResultColumn(aggregate.name, _TEXT))
                columns.append(ResultColumn(f"{aggregate.name}{APPROXIMATE}", _DOUBLE))
    return columns


def group_schema(plan: Plan, layout: Layout, prepared: pa.Schema) -> pa.Schema:
    """Return the schema of the result for a schema of prepared events."""
    payload = [prepared.field(name).type for name in layout.payload]
    refuse_values(plan, payload)
    floating = {number for number, kind in enumerate(payload) if pa.types.is_floating(kind)}
    fields = []
    for column in result_columns(plan, floating):
        kind = pa.string() if column.kind == _TEXT else pa.float64()
        if column.number is not None:
            key = column.kind == _AS_KEY
            kind = prepared.field(layout.keys[column.number]).type if key else payload[column.number]
            kind = window_type(kind) if column.kind == _AS_TIME else kind
        fields.append(pa.field(column.name, kind))
    return pa.schema(fields)


def refuse_values(plan: Plan, payload: list[pa.DataType]) -> None:
    """Refuse aggregates of values that do not add up or have no order."""
    assert isinstance(plan.results, Groups)
    for aggregate in plan.results.columns:
        if aggregate.payload is None:
            continue
        if aggregate.kind in (AggregateKind.SUM, AggregateKind.AVG):
            refuse_sum(aggregate.variable, payload[aggregate.payload])
        elif aggregate.kind in (AggregateKind.MIN, AggregateKind.MAX):
            refuse_order(aggregate.variable, payload[aggregate.payload])


def window_type(time: pa.DataType) -> pa.DataType:
    """Return the type of the edges of windows for a type of event times."""
    if pa.types.is_timestamp(time):
        return pa.timestamp("us", time.tz)
    return pa.timestamp("us") if pa.types.is_date(time) else pa.int64()


@dataclass
class _Total:
    """What is known of a group: matches, exact sums, sort keys of extreme values, marks of NaN and infinities."""

    sums: list[int]
    least: list[Any]
    odd: list[int]
    matches: int = 0
    end: Any = None
    """The sort key of the time of the end event."""


@dataclass(frozen=True)
class _Channel:
    """One total of a variable: a sum of a payload column, of what is valid of it, or of its events."""

    kind: AggregateKind
    variable: str
    payload: int | None


class GroupStage(WholeKeysStage):
    """Turns prepared events into one row of aggregates for each group."""

    def __init__(
        self, plan: Plan, layout: Layout, prepared: pa.Schema, options: StageOptions | None = None
    ) -> None:
        super().__init__(plan, layout, options, propagated=plan.way().cost is not Cost.ENUMERATION)
        assert isinstance(plan.results, Groups)
        self._asked = plan.results
        self._sums = list(dict.fromkeys(_sum_channels(plan.results.columns)))
        self._least = list(dict.fromkeys(_least_channels(plan.results.columns)))
        self._totals: dict[tuple[int, int], _Total] = {}
        self._learn(prepared)
        if self.propagated:
            self._aggregator, self.labelling = make_aggregator(plan)

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one row a group."""
        yield from super().run(batches)
        if self._asked.unit is GroupUnit.PARTITION:
            keys = self.shown_keys()
            for number in range(1 if keys is None and not self.plan.keys else 0 if keys is None else keys.num_rows):
                self._total((number, 0))
        if self._totals:
            yield self._result()

    def take_keys(self, keys: WholeKeys) -> Iterator[pa.RecordBatch]:
        """Aggregate the matches of whole keys without enumerating them."""
        self._learn(keys.table.schema)
        sums, ranks = self._values(keys.table)
        group, names, end_keys = self._groups(keys.table)
        events = Events(
            keys.masks, keys.clocks, keys.lows, keys.offsets, group, len(names), keys.values, keys.valid
        )
        labels = self._aggregator.label_count(events)
        odd = [(channel.variable, value.odd) for channel, value in zip(self._sums, sums, strict=True) if value.odd is not None]
        least = [*(column.rank for column in ranks), *(row for _, rows in odd for row in rows)]
        variables = [*(channel.variable for channel in self._least), *(name for name, rows in odd for _ in rows)]
        totals = self._aggregator.totals(
            events,
            [value.number for value in sums],
            self._binds([channel.variable for channel in self._sums], labels),
            np.array(least, np.int64).reshape(len(least), keys.table.num_rows),
            self._binds(variables, labels),
        )
        for number in range(len(names)):
            if not totals.matches[number] and self._asked.unit is not GroupUnit.PARTITION:
                continue
            total = self._total(names[number], end_keys, number)
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
        yield from ()

    def take_found(self, found: Found, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        """Aggregate enumerated matches."""
        self._learn(payload.schema)
        sums, ranks = self._values(payload)
        group, names, end_keys = self._groups(payload)
        ends = group[found.end]
        for number, count in zip(*(part.tolist() for part in np.unique(ends, return_counts=True)), strict=True):
            self._total(names[number], end_keys, number).matches += count
        ends = np.repeat(ends, np.diff(found.offset))
        for place, (channel, value) in enumerate(zip(self._sums, sums, strict=True)):
            taken = self.labelling.labels_of(channel.variable)[found.label]
            pairs, times = np.unique(np.stack([ends[taken], found.row[taken]]), axis=1, return_counts=True)
            for (number, row), count in zip(pairs.T.tolist(), times.tolist(), strict=True):
                total = self._total(names[number])
                weight = int(value.number.mantissa[row]) << int(value.number.shift[row])
                total.sums[place] += count * weight << self._scale(place, value)
                if value.odd is not None:
                    total.odd[place] |= sum(int(value.odd[mark, row] == 0) << mark for mark in range(len(value.odd)))
        for place, (channel, column) in enumerate(zip(self._least, ranks, strict=True)):
            taken = self.labelling.labels_of(channel.variable)[found.label]
            best = np.full(len(names), NO_VALUE, np.int64)
            np.minimum.at(best, ends[taken], column.rank[found.row[taken]])
            for number in np.flatnonzero(best < NO_VALUE).tolist():
                self._improve(self._total(names[number]), place, column.keys[int(best[number])])
        yield from ()

    def _learn(self, prepared: pa.Schema) -> None:
        """Take the types from the events themselves: an engine may hand over others than it announces."""
        self._schema = group_schema(self.plan, self.layout, prepared)
        self._kinds = [prepared.field(name).type for name in self.layout.payload]

    def _values(self, table: pa.Table) -> tuple[list[SumValues], list[Ranks]]:
        sums, least = [], []
        for channel in self._sums:
            if channel.payload is None:
                sums.append(ones(np.ones(table.num_rows, np.bool_)))
            elif channel.kind is AggregateKind.COUNT_VALUE:
                sums.append(ones(pc.is_valid(self._column(table, channel.payload)).to_numpy(zero_copy_only=False)))
            else:
                sums.append(sum_values(self._column(table, channel.payload)))
        for channel in self._least:
            assert channel.payload is not None
            ranks = Ranks.of(self._column(table, channel.payload))
            least.append(ranks.reversed() if channel.kind is AggregateKind.MAX else ranks)
        return sums, least

    def _column(self, table: pa.Table, payload: int) -> pa.Array:
        return table.column(self.layout.payload[payload]).combine_chunks()

    def _groups(self, table: pa.Table) -> tuple[Integers, list[tuple[int, int]], list[Any]]:
        """Number the groups of events as ends; return their names and, for END, the sort keys of their times."""
        shown = column_of(table, SHOWN)
        match self._asked.unit:
            case GroupUnit.PARTITION:
                rest = np.zeros(table.num_rows, np.int64)
            case GroupUnit.END:
                rest = column_of(table, PLACE)
            case GroupUnit.WINDOW:
                assert self._asked.size is not None
                rest = np.floor_divide(column_of(table, self.layout.clock), self._asked.size)
        names, first, inverse = np.unique(np.stack([shown, rest]), axis=1, return_index=True, return_inverse=True)
        end_keys: list[Any] = []
        if self._asked.unit is GroupUnit.END:
            assert self._asked.time is not None
            times = Ranks.of(self._column(table, self._asked.time))
            end_keys = [times.keys[rank] for rank in times.rank[first].tolist()]
        return inverse.reshape(-1).astype(np.int64), [(int(key), int(other)) for key, other in names.T], end_keys

    def _total(self, name: tuple[int, int], end_keys: list[Any] | None = None, number: int = 0) -> _Total:
        total = self._totals.get(name)
        if total is None:
            total = _Total([0] * len(self._sums), [None] * len(self._least), [0] * len(self._sums))
            total.end = end_keys[number] if end_keys else None
            self._totals[name] = total
        return total

    def _improve(self, total: _Total, place: int, key: Any) -> None:
        better = max if self._least[place].kind is AggregateKind.MAX else min
        total.least[place] = key if total.least[place] is None else better(total.least[place], key)

    def _scale(self, place: int, value: SumValues) -> int:
        return value.exponent + UNITS if self._is_double(self._sums[place]) else 0

    def _is_double(self, channel: _Channel) -> bool:
        summed = channel.kind is AggregateKind.SUM and channel.payload is not None
        return summed and bool(pa.types.is_floating(self._kinds[channel.payload or 0]))

    def _binds(self, variables: list[str], labels: int) -> npt.NDArray[np.uint8]:
        binds = np.zeros((len(variables), max(1, labels)), np.uint8)
        for number, variable in enumerate(variables):
            found = self.labelling.labels_of(variable)
            binds[number, : len(found)] = found
        return binds

    def _result(self) -> pa.RecordBatch:
        names = sorted(self._totals)
        totals = [self._totals[name] for name in names]
        arrays: list[pa.Array] = []
        for column in self._asked.columns:
            arrays.extend(self._arrays(column, names, totals))
        typed = [array.cast(field.type) for array, field in zip(arrays, self._schema, strict=True)]
        return pa.RecordBatch.from_arrays(typed, schema=self._schema)

    def _arrays(self, column: Aggregate, names: list[tuple[int, int]], totals: list[_Total]) -> list[pa.Array]:
        match column.kind:
            case AggregateKind.KEY:
                keys = self.shown_keys()
                assert keys is not None and column.payload is not None
                return [keys.column(column.payload).take(pa.array([name[0] for name in names])).combine_chunks()]
            case AggregateKind.END:
                assert column.payload is not None
                return [from_keys([total.end for total in totals], self._kinds[column.payload])]
            case AggregateKind.WINDOW_START | AggregateKind.WINDOW_END:
                assert self._asked.size is not None
                later = int(column.kind is AggregateKind.WINDOW_END)
                return [pa.array([(name[1] + later) * self._asked.size for name in names], pa.int64())]
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
            return [pa.array(doubles, pa.float64())]
        scale = kind.scale if pa.types.is_decimal(kind) else 0
        texts = [as_decimal_text(whole, scale) if count else None for whole, count in zip(sums, counts, strict=True)]
        rough = [as_double(whole, unit) if count else None for whole, count in zip(sums, counts, strict=True)]
        return [pa.array(texts, pa.string()), pa.array(rough, pa.float64())]


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
        pa.array([str(number) for number in numbers], pa.string()),
        pa.array([as_double(number) for number in numbers], pa.float64()),
    ]


def _odd(marks: int) -> float | None:
    """Return what NaN and infinities among the values make of their sum."""
    if marks == 0:
        return None
    return {2: math.inf, 4: -math.inf}.get(marks, math.nan)
