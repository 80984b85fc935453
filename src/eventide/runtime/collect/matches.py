"""From positions of matches to Arrow columns: lists of events, first and last values, aggregates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.errors import BindError, DataError
from eventide.match.identity import combined, hashed_bytes, hex_digits, identities, mixed, text_code
from eventide.plan.expressions.references import ALL_EVENTS
from eventide.plan.expressions.schema import STREAM_COLUMN, TIE_COLUMN
from eventide.plan.sequences.output import FieldKind, OutputField
from eventide.runtime.prepare.sequences import RANK
from eventide.runtime.relational.arrays import arrow_array, filled, numpy_values
from eventide.runtime.relational.functions import cast, is_null, take
from eventide.runtime.stage.ordering import from_ordered, to_ordered
from eventide.runtime.stage.parts import TableCollector

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eventide.match.dag.enumeration import MatchBatch
    from eventide.plan.labels.labelling import Labelling
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.keys import KeySpans

LARGEST_SUM = float(2**63)
ID_DIGITS = 32
NULL = np.uint64(0xD6E8FEB86659FD93)
"""Stands for no value where values are told apart."""


def field_type(field: OutputField, payload: list[pa.DataType], keys: list[pa.DataType], events: pa.DataType) -> pa.DataType:
    """Return the Arrow type of a field."""
    if field.kind in (FieldKind.COUNT, FieldKind.COUNT_VALUE):
        return pa.int64()
    if field.kind is FieldKind.MATCH_ID:
        return pa.string()
    if field.kind is FieldKind.EVENTS:
        return pa.list_(events)
    assert field.payload is not None
    if field.kind is FieldKind.KEY:
        return keys[field.payload]
    base = payload[field.payload]
    _refuse_aggregate(field, base)
    if field.kind is not FieldKind.SUM:
        return base
    if pa.types.is_decimal(base):
        return pa.decimal128(min(38, base.precision + 10), base.scale)
    return pa.float64() if pa.types.is_floating(base) else pa.int64()


def _refuse_aggregate(field: OutputField, base: pa.DataType) -> None:
    types = pa.types
    number = types.is_integer(base) or types.is_floating(base) or types.is_decimal(base)
    if (field.kind is FieldKind.SUM and not number) or (field.kind in (FieldKind.MIN, FieldKind.MAX) and types.is_nested(base)):
        raise BindError(
            "TYPE_MISMATCH",
            f"{field.kind.name} of {field.variable} reads values of the type {base}.",
            hint="Use FIRST, LAST or COUNT, or convert the values, for example CAST(x AS DOUBLE).",
        )


def _refuse_keys(plan: Plan, keys: list[pa.DataType]) -> None:
    for name, kind in zip(plan.keys, keys, strict=False):
        if pa.types.is_nested(kind):
            raise BindError(
                "TYPE_MISMATCH",
                f"PARTITION BY cannot use {name}, its type is {kind}.",
                hint="Partition by a number, text or time; extract one into a separate column.",
            )


def stage_schema(plan: Plan, layout: Layout, prepared: pa.Schema) -> pa.Schema:
    """Return the schema that the match stage yields for a schema of prepared events."""
    payload = [prepared.field(name).type for name in layout.payload]
    keys = [prepared.field(name).type for name in layout.keys]
    _refuse_keys(plan, keys)
    raw = {tree.name: payload[number] for number, tree in enumerate(plan.output.payload)}
    events = pa.struct([pa.field(name, raw[name]) for name in plan.output.event_fields])
    fields = [pa.field(f"s{number}", field_type(field, payload, keys, events)) for number, field in enumerate(plan.output.fields)]
    if layout.order:
        fields.extend(pa.field(name, prepared.field(name).type) for name in (layout.clock, *layout.order))
    if plan.results is not None:
        fields.append(pa.field(RANK, pa.float64()))
    return pa.schema(fields or [pa.field("s", pa.bool_())])


def binding_labels(labelling: Labelling, variable: str) -> npt.NDArray[np.bool_]:
    """Return for each label whether it binds the variable; every label binds `*` that marks at all."""
    labels = labelling.automaton.labels
    if variable == ALL_EVENTS:
        return np.array([bool(label.variables) for label in labels])
    return np.array([variable in label.variables for label in labels])


def binding_table(labelling: Labelling, variables: Sequence[str], labels: int) -> npt.NDArray[np.uint8]:
    """Return for each variable and label whether it is bound, in room for so many labels."""
    binds = np.zeros((len(variables), max(1, labels)), np.uint8)
    for number, variable in enumerate(variables):
        found = binding_labels(labelling, variable)
        binds[number, : len(found)] = found
    return binds


class MatchRows(TableCollector):
    """One row of fields for each match."""

    schema = staticmethod(stage_schema)

    def __init__(self, plan: Plan, layout: Layout, labelling: Labelling, prepared: pa.Schema | None = None) -> None:  # noqa: ARG002
        self._plan = plan
        self._layout = layout
        self._labelling = labelling
        self._schema: pa.Schema | None = None
        """Taken from the events themselves: an engine may hand over other types than it announces."""
        self.columns = [*layout.keys, *layout.payload, *layout.order, layout.clock]
        """What it keeps of events."""

    def kept(self, table: pa.Table, spans: KeySpans) -> pa.Table:  # noqa: ARG002 - fields name no keys
        """Keep what fields show."""
        return table.select(self.columns)

    def take(self, found: MatchBatch, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield a row for each match."""
        yield self.fill(found, payload)

    def fill(self, found: MatchBatch, payload: pa.Table, ranks: npt.NDArray[np.float64] | None = None) -> pa.RecordBatch:
        """Return a row for each match; `ranks` say by what matches are chosen, the lowest first."""
        if self._schema is None:
            self._schema = stage_schema(self._plan, self._layout, payload.schema)
        members: dict[str, _Members] = {}
        arrays = []
        for field, column in zip(self._plan.output.fields, self._schema, strict=False):
            if field.variable is not None and field.variable not in members:
                members[field.variable] = _Members(found, binding_labels(self._labelling, field.variable))
            arrays.append(self._field(field, column.type, members, found, payload))
        if self._layout.order:
            end = arrow_array(found.end)
            arrays.extend(_take(payload, name, end) for name in (self._layout.clock, *self._layout.order))
        if ranks is not None:
            arrays.append(arrow_array(ranks))
        if not arrays:
            arrays.append(pa.nulls(len(found.start), pa.bool_()))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _field(
        self, field: OutputField, kind: pa.DataType, members: dict[str, _Members], found: MatchBatch, payload: pa.Table
    ) -> pa.Array:
        if field.kind is FieldKind.KEY:
            assert field.payload is not None
            return _take(payload, self._layout.keys[field.payload], arrow_array(found.end))
        if field.kind is FieldKind.MATCH_ID:
            return self._match_ids(found, payload)
        if field.kind in (FieldKind.START, FieldKind.END):
            rows = found.start if field.kind is FieldKind.START else found.end
            return _take(payload, self._payload_name(field), arrow_array(rows))
        assert field.variable is not None
        group = members[field.variable]
        if field.kind is FieldKind.COUNT:
            return arrow_array(group.counts)
        if field.kind is FieldKind.EVENTS:
            return self._events(group, kind, payload)
        if field.kind in (FieldKind.FIRST, FieldKind.LAST):
            rows, missing = group.first() if field.kind is FieldKind.FIRST else group.last()
            return _take(payload, self._payload_name(field), arrow_array(rows, missing))
        return self._aggregate(field, kind, group, payload)

    def _match_ids(self, found: MatchBatch, payload: pa.Table) -> pa.Array:
        """Return a text for each match, which any engine makes of the same events, and no other match of the query has.

        Events are told apart by their key, their time, their tie-break and their stream.
        """
        names = self._payload_names()
        columns = [self._layout.clock, names[TIE_COLUMN], names[STREAM_COLUMN]]
        keys = self._layout.keys[: len(self._plan.keys)]
        events = combined([hashed(payload.column(name)) for name in columns])
        key = combined([hashed(payload.column(name)) for name in keys] or [np.zeros(len(events), np.int64)])
        fixed = [key[found.end], events[found.start], events[found.end]]
        high, low = identities(fixed, found.offset, events[found.row], shown_codes(self._plan, self._labelling)[found.label])
        ends = np.arange(len(found.start) + 1, dtype=np.int32) * ID_DIGITS
        return pa.Array.from_buffers(
            pa.string(), len(found.start), [None, pa.py_buffer(ends), pa.py_buffer(hex_digits(high, low))]
        )

    def _payload_names(self) -> dict[str, str]:
        """Return the names of plain columns of events, by their own names."""
        return {tree.name: name for tree, name in zip(self._plan.output.payload, self._layout.payload, strict=True)}

    def _payload_name(self, field: OutputField) -> str:
        assert field.payload is not None
        return self._layout.payload[field.payload]

    def _events(self, group: _Members, kind: pa.DataType, payload: pa.Table) -> pa.Array:
        rows = arrow_array(group.rows)
        names = self._payload_names()
        fields = [_take(payload, names[field], rows) for field in self._plan.output.event_fields]
        events = pa.StructArray.from_arrays(fields, fields=list(kind.value_type))
        return pa.ListArray.from_arrays(arrow_array(group.offsets.astype(np.int32)), events, type=kind)

    def _aggregate(self, field: OutputField, kind: pa.DataType, group: _Members, payload: pa.Table) -> pa.Array:
        values = _take(payload, self._payload_name(field), arrow_array(group.rows))
        if field.kind is FieldKind.SUM and pa.types.is_integer(values.type):
            values = _whole_numbers(values)
        ordered = pa.types.is_floating(values.type) and field.kind in (FieldKind.MIN, FieldKind.MAX)
        if ordered:
            # Arrow leaves NaN out of MIN and MAX; as ordered integers it is the largest number, as in Spark.
            values = _as_ordered(values)
        function = "count" if field.kind is FieldKind.COUNT_VALUE else field.kind.value
        grouped = (
            pa.table({"match": arrow_array(group.matches), "value": values})
            .group_by("match", use_threads=False)
            .aggregate([("value", function)])
        )
        results = grouped.column(f"value_{function}").combine_chunks()
        if field.kind is FieldKind.SUM and pa.types.is_integer(values.type):
            _refuse_overflow(group, values)
        place = np.full(len(group.counts), -1, np.int64)
        place[numpy_values(grouped.column("match"))] = np.arange(len(results))
        if field.kind is FieldKind.COUNT_VALUE:
            counts = np.zeros(len(group.counts), np.int64)
            counts[place >= 0] = numpy_values(results)[place[place >= 0]]
            return arrow_array(counts)
        if ordered:
            results = _from_ordered(results)
        return cast(take(results, arrow_array(place, place < 0)), kind)


class _Members:
    """The events of one variable in each match."""

    def __init__(self, found: MatchBatch, binds: npt.NDArray[np.bool_]) -> None:
        lengths = np.diff(found.offset)
        taken = binds[found.label]
        self.rows = found.row[taken]
        self.matches = np.repeat(np.arange(len(lengths)), lengths)[taken]
        self.counts = np.bincount(self.matches, minlength=len(lengths)).astype(np.int64)
        self.offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.counts)])

    def first(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
        """Return the row of the first event in each match, and where there is none."""
        return self._at(self.offsets[:-1])

    def last(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
        """Return the row of the last event in each match, and where there is none."""
        return self._at(self.offsets[1:] - 1)

    def _at(self, places: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
        missing = self.counts == 0
        if not len(self.rows):
            return np.zeros(len(places), np.int32), missing
        return self.rows[np.where(missing, 0, places)], missing


def shown_codes(plan: Plan, labelling: Labelling) -> npt.NDArray[np.uint64]:
    """Return what labels show as numbers that do not depend on the order in which the automaton met them."""
    shown = [sorted(plan.output.kept & frozenset(label.variables)) for label in labelling.automaton.labels]
    return np.array([text_code(names) if names else 0 for names in shown] or [0], np.uint64)


def hashed(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return a number for each value of a column, the same for the same value in every engine.

    >>> len(set(hashed(pa.chunked_array([["a", None, "a"]])).tolist()))
    2
    """
    values = column.combine_chunks()
    values = pa.concat_arrays(values.chunks) if isinstance(values, pa.ChunkedArray) else values
    kind = values.type
    if pa.types.is_timestamp(kind):
        values = cast(cast(values, pa.timestamp("us", kind.tz)), pa.int64())
    elif pa.types.is_date(kind):
        values = cast(cast(values, pa.date32()), pa.int32())
    if pa.types.is_integer(values.type) or pa.types.is_boolean(values.type):
        numbers = mixed(filled(cast(values, pa.int64())).astype(np.int64).view(np.uint64))
    elif pa.types.is_floating(kind):
        # -0.0 is 0.0, as in a GROUP BY.
        numbers = mixed((filled(cast(values, pa.float64())) + 0.0).view(np.uint64))
    else:
        texts = cast(values, pa.large_binary() if pa.types.is_binary(kind) else pa.large_string())
        _, offsets, data = texts.buffers()
        borders = np.frombuffer(offsets, np.int64, len(texts) + 1, texts.offset * 8)
        read = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
        numbers = hashed_bytes(borders, read[borders[0] : borders[-1]])
    return np.where(numpy_values(is_null(values)), NULL, numbers).view(np.int64)


def _take(payload: pa.Table, name: str, rows: pa.Array) -> pa.Array:
    taken = take(payload.column(name), rows)
    return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken


def _as_ordered(values: pa.Array) -> pa.Array:
    """Return doubles as integers in the same order, NaN above all; nulls stay."""
    doubles = filled(cast(values, pa.float64()), 0.0)
    return arrow_array(to_ordered(doubles), numpy_values(is_null(values)))


def _from_ordered(values: pa.Array) -> pa.Array:
    doubles = from_ordered(filled(values))
    return arrow_array(doubles, numpy_values(is_null(values)))


def _whole_numbers(values: pa.Array) -> pa.Array:
    try:
        return cast(values, pa.int64())
    except pa.ArrowInvalid:
        raise _sum_overflow() from None


def _refuse_overflow(group: _Members, values: pa.Array) -> None:
    rough = np.bincount(group.matches, weights=filled(values), minlength=1)
    if len(rough) and np.abs(rough).max() >= LARGEST_SUM:
        raise _sum_overflow()


def _sum_overflow() -> DataError:
    return DataError("SUM_OVERFLOW", "A SUM is too large for 64 bits.", hint="Sum a double: SUM(CAST(x.attribute AS DOUBLE)).")
