"""From matches to Arrow columns: the values that measures read, and the columns of the rows that come out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.errors import BindError, DataError
from eventide.match.programs.operators import Op
from eventide.match.row_pattern.reading import folded, rows_of_matches, rows_so_far
from eventide.pattern.row_patterns import RowsPerMatch
from eventide.plan.row_patterns.output import MATCHED
from eventide.plan.row_patterns.readings import Cell, Classifier, MatchNumber, Navigation, Total
from eventide.records import record
from eventide.runtime.relational.arrays import arrow_array, filled, numpy_values
from eventide.runtime.relational.functions import cast, dense_ranks, is_valid, take
from eventide.runtime.stage.ordering import to_ordered
from eventide.runtime.stage.parts import TableCollector
from eventide.runtime.stage.row_patterns import plain_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eventide.match.row_pattern.kernel import RowMatchBatch
    from eventide.plan.row_patterns.plan import RowPlan
    from eventide.plan.row_patterns.readings import Reading
    from eventide.runtime.prepare.row_patterns import RowLayout
    from eventide.runtime.stage.keys import KeySpans

LARGEST_EXACT_DECIMAL = 18


def slot_type(reading: Reading, payload: pa.DataType | None) -> pa.DataType:
    """Return the Arrow type of a field; `payload` is that of the values it reads."""
    if isinstance(reading, Classifier):
        return pa.string()
    if isinstance(reading, MatchNumber) or (isinstance(reading, Total) and reading.function == "count"):
        return pa.int64()
    assert payload is not None
    if isinstance(reading, Cell):
        return payload
    refuse_aggregate(reading, number=_is_summable(payload), nested=pa.types.is_nested(payload))
    if reading.function == "avg":
        return pa.float64()
    if reading.function != "sum":
        return payload
    if pa.types.is_decimal(payload):
        return pa.decimal128(min(38, payload.precision + 10), payload.scale)
    return pa.float64() if pa.types.is_floating(payload) else pa.int64()


def refuse_aggregate(total: Total, *, number: bool, nested: bool) -> None:
    """Refuse to add what is no number (or a decimal that 64 bits do not hold) and to compare what holds several values."""
    if total.function in ("sum", "avg") and not number:
        raise BindError(
            "TYPE_MISMATCH",
            f"{total.function.upper()} adds numbers, {total.sql} is not one, or has too many digits.",
            hint=f"Convert it, for example CAST(x AS DOUBLE); decimals may have up to {LARGEST_EXACT_DECIMAL} digits.",
        )
    if nested:
        raise BindError(
            "TYPE_MISMATCH",
            f"{total.function.upper()} cannot compare {total.sql}, which holds several values.",
            hint="Take a number, text or time out of it.",
        )


def _is_summable(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_decimal(kind):
        return bool(kind.precision <= LARGEST_EXACT_DECIMAL)
    return bool(types.is_integer(kind) or types.is_floating(kind))


def stage_schema(plan: RowPlan, payload: Sequence[pa.DataType]) -> pa.Schema:
    """Return the schema of what the stage yields, given the types of the payload."""
    fields = [
        pa.field(f"s{number}", slot_type(reading, payload[source] if source >= 0 else None))
        for number, (reading, source) in enumerate(zip(plan.output.fields, plan.output.field_payload, strict=True))
    ]
    fields.extend(pa.field(f"c{number}", payload[source]) for number, source in enumerate(plan.output.row_payload))
    fields.append(pa.field(MATCHED, pa.bool_()))
    return pa.schema(fields)


class RowLines(TableCollector):
    """The rows of MATCH_RECOGNIZE: one for each match, or those of the input with their match beside them."""

    def __init__(self, plan: RowPlan, layout: RowLayout, labelling: None, prepared: pa.Schema) -> None:  # noqa: ARG002
        self._plan = plan
        self._layout = layout
        self._filler: RowFiller | None = None

    @staticmethod
    def schema(plan: RowPlan, layout: RowLayout, prepared: pa.Schema) -> pa.Schema:
        """Return the schema of the rows; refuses values that do not add up or have no order."""
        return stage_schema(plan, [prepared.field(name).type for name in layout.payload])

    def kept(self, table: pa.Table, spans: KeySpans) -> pa.Table:
        """Keep what measures and rows show."""
        # The columns of the batch before need not be held beside these.
        self._filler = None
        columns = [plain_column(table, name) for name in self._layout.payload]
        self._filler = RowFiller(self._plan, spans.offsets(), columns)
        return pa.table(columns, names=list(self._layout.payload))

    def take(self, found: RowMatchBatch, payload: pa.Table) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - the filler holds it, converted
        """Yield the rows of some matches."""
        assert self._filler is not None
        yield self._filler.fill(found)


@record
class Lines:
    """The rows that come out: which row of the input, of which match (-1: none), and after how many mapped rows of all."""

    row: npt.NDArray[np.int64]
    match: npt.NDArray[np.int64]
    mapped: npt.NDArray[np.int64]
    """[line]: its place among all mapped rows, or -1 for an empty match and for unmatched rows."""


class RowFiller:
    """Fills fields and row columns for the matches in a batch of whole partitions."""

    def __init__(self, plan: RowPlan, offset: npt.NDArray[np.int64], payload: Sequence[pa.Array]) -> None:
        self._plan = plan
        self._offset = offset
        self._payload = payload
        self._schema = stage_schema(plan, [column.type for column in payload])
        # A large partition is filled in many pieces; its columns are converted once.
        self._converted: dict[tuple[int, str], tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]] = {}

    def fill(self, matches: RowMatchBatch) -> pa.RecordBatch:
        """Return the rows that come out for some matches (all of the batch where unmatched rows come out)."""
        return self.filled(matches, self.lines(matches, self._offset[:-1], self._offset[1:]))

    def filled(self, matches: RowMatchBatch, lines: Lines) -> pa.RecordBatch:
        """Return the values of the rows that come out."""
        arrays = [
            self._slot(reading, source, matches, lines)
            for reading, source in zip(self._plan.output.fields, self._plan.output.field_payload, strict=True)
        ]
        rows = arrow_array(lines.row)
        arrays.extend(take(self._payload[source], rows) for source in self._plan.output.row_payload)
        arrays.append(arrow_array(lines.match >= 0))
        typed = [cast(array, field.type) for array, field in zip(arrays, self._schema, strict=True)]
        return pa.RecordBatch.from_arrays(typed, schema=self._schema)

    def lines(self, matches: RowMatchBatch, begin: npt.NDArray[np.int64], end: npt.NDArray[np.int64]) -> Lines:
        """Return the rows that come out; unmatched ones are those of each partition between `begin` and `end`."""
        lengths = np.diff(matches.first)
        count = len(lengths)
        mode = self._plan.query.rows_per_match
        if mode is RowsPerMatch.ONE:
            # The row itself is only asked for its partition columns.
            return Lines(matches.start, np.arange(count), np.full(count, -1))
        match = np.repeat(np.arange(count), lengths)
        mapped = np.arange(len(matches.path))
        row = matches.start[match] + mapped - matches.first[match]
        kept = self._plan.tables.excluded[matches.path] == 0
        row, match, mapped = row[kept], match[kept], mapped[kept]
        begins = matches.start[match]
        if mode is not RowsPerMatch.ALL_OMIT_EMPTY:
            empty = np.flatnonzero(lengths == 0)
            row = np.concatenate([row, matches.start[empty]])
            match = np.concatenate([match, empty])
            mapped = np.concatenate([mapped, np.full(len(empty), -1)])
            begins = np.concatenate([begins, matches.start[empty]])
        if mode is RowsPerMatch.ALL_WITH_UNMATCHED:
            unmatched = self._unmatched(matches, lengths, begin, end)
            row = np.concatenate([row, unmatched])
            match = np.concatenate([match, np.full(len(unmatched), -1)])
            mapped = np.concatenate([mapped, np.full(len(unmatched), -1)])
            begins = np.concatenate([begins, unmatched])
        if len(row) > kept.sum():
            order = np.argsort(begins, kind="stable")
            row, match, mapped = row[order], match[order], mapped[order]
        return Lines(row, match, mapped)

    def _unmatched(
        self,
        matches: RowMatchBatch,
        lengths: npt.NDArray[np.int64],
        begin: npt.NDArray[np.int64],
        end: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.int64]:
        rows = int(self._offset[-1])
        covers, asked = np.zeros(rows + 1, np.int64), np.zeros(rows + 1, np.int64)
        np.add.at(covers, matches.start, 1)
        np.add.at(covers, matches.start + np.maximum(lengths, 1), -1)
        np.add.at(asked, begin, 1)
        np.add.at(asked, np.maximum(begin, end), -1)
        return np.flatnonzero((np.cumsum(covers[:-1]) == 0) & (np.cumsum(asked[:-1]) == 1))

    def _slot(self, reading: Reading, source: int, matches: RowMatchBatch, lines: Lines) -> pa.Array:
        matched = lines.match >= 0
        match reading:
            case MatchNumber():
                return arrow_array(_picked(matches.number, lines.match), ~matched)
            case Cell(place):
                rows = self._reached(place, matches, lines)
                return take(self._payload[source], arrow_array(rows, rows < 0))
            case Classifier(place, of):
                return self._labels(place, of, matches, lines)
        return self._total(reading, source, matches, lines, matched)

    def _members(self, variables: frozenset[str] | None) -> npt.NDArray[np.uint8]:
        """Return for each position whether its rows are rows of the variables; None is all."""
        names = [position.variable for position in self._plan.automaton.positions]
        return np.array([int(variables is None or name in variables) for name in names] or [0], np.uint8)

    def _reached(self, place: Navigation, matches: RowMatchBatch, lines: Lines) -> npt.NDArray[np.int64]:
        """Return the row that a navigation reaches for each line, or -1."""
        member = self._members(place.variables)
        arguments = (member, matches.start, matches.first, matches.path, not place.first, place.offset)
        if place.final:
            rows = _picked(rows_of_matches(*arguments), lines.match)
        elif place.current:
            rows = np.where(lines.mapped >= 0, lines.row, -1)
        else:
            rows = _picked(rows_so_far(*arguments), lines.mapped)
        if place.shift:
            partition = _picked(matches.partition, lines.match)
            moved = rows + place.shift
            inside = (rows >= 0) & (moved >= self._offset[partition]) & (moved < self._offset[partition + 1])
            rows = np.where(inside, moved, -1)
        return rows

    def _labels(self, place: Navigation, of: frozenset[str] | None, matches: RowMatchBatch, lines: Lines) -> pa.Array:
        rows = self._reached(place, matches, lines)
        at = rows - _picked(matches.start, lines.match)
        inside = (rows >= 0) & (at >= 0) & (at < _picked(np.diff(matches.first), lines.match))
        position = _picked(matches.path, np.where(inside, _picked(matches.first, lines.match) + at, -1))
        if len(matches.path):
            inside &= self._members(of)[np.maximum(position, 0)] == 1
        names = pa.array([item.variable for item in self._plan.automaton.positions] or [""])
        return take(names, arrow_array(np.where(inside, position, 0), ~inside))

    def _total(self, total: Total, source: int, matches: RowMatchBatch, lines: Lines, matched: npt.NDArray[np.bool_]) -> pa.Array:
        keys, valid = (np.zeros(0, np.int64), np.zeros(0, np.uint8)) if source < 0 else self._values(total, source)
        op = _operation(total, None if source < 0 else self._payload[source].type)
        member = self._members(total.variables)
        wholes, reals, counts, fits = folded(
            member, matches.start, matches.first, matches.path, keys, valid, int(op), not total.final
        )
        if not fits:
            raise DataError("SUM_OVERFLOW", "A SUM is too large for 64 bits.", hint="Sum a double: SUM(CAST(A.x AS DOUBLE)).")
        index = lines.match if total.final else lines.mapped
        counts = _picked(counts, index)
        counts[index < 0] = 0
        if total.function == "count":
            return arrow_array(counts, ~matched)
        none = (counts == 0) | (index < 0)
        if op in (Op.MIN_I, Op.MAX_I):
            return take(self._payload[source], arrow_array(_picked(wholes, index), none))
        if op is Op.SUM_F:
            sums = _picked(reals, index)
            return arrow_array(sums / np.maximum(counts, 1) if total.function == "avg" else sums, none)
        whole_sums = _picked(wholes, index)
        kind = self._payload[source].type
        if total.function == "avg":
            scale = 10.0**kind.scale if pa.types.is_decimal(kind) else 1.0
            return arrow_array(whole_sums / np.maximum(counts, 1) / scale, none)
        if pa.types.is_decimal(kind):
            return _decimals(whole_sums, none, slot_type(total, kind))
        return arrow_array(whole_sums, none)

    def _values(self, total: Total, source: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        use = {"count": "count", "sum": "add", "avg": "add"}.get(total.function, "compare")
        if (source, use) not in self._converted:
            self._converted[source, use] = self._convert(total, source)
        return self._converted[source, use]

    def _convert(self, total: Total, source: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        """Return a payload column as integers to add or to compare, and where it has values."""
        column = self._payload[source]
        valid = numpy_values(is_valid(column)).astype(np.uint8)
        if total.function == "count":
            return np.zeros(0, np.int64), valid
        adds = total.function in ("sum", "avg")
        if pa.types.is_floating(column.type):
            doubles = filled(cast(column, pa.float64()), 0.0)
            return (doubles.view(np.int64) if adds else to_ordered(doubles)), valid
        if pa.types.is_integer(column.type):
            return _integers(column), valid
        if adds:
            return _unscaled(column), valid
        return numpy_values(dense_ranks(column)).astype(np.int64), valid


def _picked(values: npt.NDArray[Any], index: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Return values by index; where the index is -1, -1."""
    if not len(values):
        return np.full(len(index), -1, values.dtype)
    return np.where(index >= 0, values[np.maximum(index, 0)], values.dtype.type(-1))


def _operation(total: Total, kind: pa.DataType | None) -> Op:
    if kind is None:
        return Op.COUNT
    if total.function == "count":
        return Op.COUNT_VALUE
    if total.function in ("sum", "avg"):
        return Op.SUM_F if pa.types.is_floating(kind) else Op.SUM_I
    return Op.MIN_I if total.function == "min" else Op.MAX_I


def _integers(column: pa.Array) -> npt.NDArray[np.int64]:
    try:
        return np.ascontiguousarray(filled(cast(column, pa.int64())))
    except pa.ArrowInvalid:
        raise DataError("SUM_OVERFLOW", "A value is too large for 64 bits.", hint="Convert it: CAST(A.x AS DOUBLE).") from None


def _unscaled(column: pa.Array) -> npt.NDArray[np.int64]:
    """Return decimals of up to 18 digits as the integers they are stored as."""
    wide = pa.concat_arrays([cast(column, pa.decimal128(38, column.type.scale))])
    words = np.frombuffer(wide.buffers()[1], np.int64)[2 * wide.offset : 2 * (wide.offset + len(wide))]
    return np.ascontiguousarray(words[::2])


def _decimals(unscaled: npt.NDArray[np.int64], none: npt.NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    words = np.empty((len(unscaled), 2), np.int64)
    words[:, 0] = unscaled
    words[:, 1] = unscaled >> 63
    valid = arrow_array(~none)
    return pa.Array.from_buffers(kind, len(unscaled), [_bitmap(valid), pa.py_buffer(words.tobytes())])


def _bitmap(valid: pa.Array) -> pa.Buffer:
    return valid.buffers()[1]
