"""Row patterns in a stage: prepared rows as the arrays that kernels read, and the matcher over whole partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eventide.match.row_pattern.horizon import NO_ROW_TO_COME, horizon_of
from eventide.match.row_pattern.matcher import RowBatch, RowPartitions
from eventide.plan.expressions.operators import Encoding
from eventide.plan.matchers.registry import ROWS
from eventide.runtime.relational.arrays import filled, numpy_values
from eventide.runtime.stage.keys import SortedKeys
from eventide.runtime.stage.row_failures import errors_of_row_patterns
from eventide.runtime.stage.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.row_pattern.programs import RowPrograms
    from eventide.plan.row_patterns.plan import RowPlan
    from eventide.runtime.stage.assembly import TableStage
    from eventide.runtime.stage.keys import KeySpans


class RowEncoder:
    """Turns the prepared rows of whole partitions into batches for kernels."""

    def __init__(self, plan: RowPlan) -> None:
        self._plan = plan

    def encode(self, table: pa.Table, spans: KeySpans) -> RowPartitions:
        """Return the rows of whole partitions."""
        offset = spans.offsets()
        horizon = None if self._plan.window is None else _horizon(table, offset, self._plan.window)
        return encoded_rows(self._plan, table, offset, horizon)


def encoded_rows(
    plan: RowPlan, table: pa.Table, offset: npt.NDArray[np.int64], horizon: npt.NDArray[np.int64] | None
) -> RowPartitions:
    """Return rows, one partition behind the other; `horizon` says which rows WITHIN lets into a match."""
    values = np.zeros((len(plan.values), table.num_rows), np.int64)
    valid = np.zeros((len(plan.values), table.num_rows), np.uint8)
    texts: dict[int, pa.Array] = {}
    for number, value in enumerate(plan.values):
        target = values[number].view(np.float64) if value.encoding is Encoding.FLOAT else values[number]
        for begin, chunk in _chunks(table, f"v{number}"):
            end = begin + len(chunk)
            valid[number, begin:end] = numpy_values(chunk.is_valid())
            if value.encoding is not Encoding.CODE:
                target[begin:end] = filled(chunk)
        if value.encoding is Encoding.CODE:
            texts[number] = plain_column(table, f"v{number}")
    programs = plan.programs
    if texts or plan.strings:
        programs = _with_codes(plan, texts, values)
    mask = np.empty(table.num_rows, np.int64)
    for begin, chunk in _chunks(table, "m"):
        mask[begin : begin + len(chunk)] = numpy_values(chunk)
    open_ended = np.zeros(0, np.int64)
    return RowPartitions(RowBatch(offset, mask, open_ended if horizon is None else horizon, values, valid), programs)


def plain_column(table: pa.Table, name: str) -> pa.Array:
    """Return a column in one piece, its values themselves where it is encoded."""
    column = table.column(name).combine_chunks()
    return pc.cast(column, column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _chunks(table: pa.Table, name: str) -> Iterator[tuple[int, pa.Array]]:
    """Yield the pieces of a column with their first rows: in one piece it would be held twice."""
    begin = 0
    for chunk in table.column(name).chunks:
        yield begin, chunk
        begin += len(chunk)


def _horizon(table: pa.Table, offset: npt.NDArray[np.int64], within: int) -> npt.NDArray[np.int64]:
    time = table.column("t").combine_chunks()
    known = numpy_values(time.is_valid()).astype(np.uint8)
    micros = np.ascontiguousarray(filled(time))
    return horizon_of(micros, known, offset, offset[1:], within, NO_ROW_TO_COME)


def _with_codes(plan: RowPlan, texts: dict[int, pa.Array], values: npt.NDArray[np.int64]) -> RowPrograms:
    """Number the strings of these rows in their order, in the columns and in the programs."""
    names = {*plan.strings, *plan.variables}
    encoded_texts = {number: column.dictionary_encode() for number, column in texts.items()}
    for column in encoded_texts.values():
        names.update(text for text in column.dictionary.to_pylist() if text is not None)
    codes = {text: code for code, text in enumerate(sorted(names))}
    for number, column in encoded_texts.items():
        numbers = np.array([codes[text] for text in column.dictionary.to_pylist()] or [0], np.int64)
        values[number] = numbers[filled(column.indices)]
    constants = plan.programs.constants.copy()
    for text, place in plan.strings.items():
        constants[place] = codes[text]
    labels = np.array([codes[name] for name in plan.variables] or [0], np.int64)
    return plan.programs._replace(constants=constants, label_code=labels)


def assemble_rows(stage: TableStage, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run the stage of a clause over rows that are sorted by partition and order."""
    collect = stage.collector(stage.plan, stage.layout, None, stage.prepared)
    keys = SortedKeys(stage.layout.keys)
    parts = Stage(keys, RowEncoder(stage.plan), ROWS.make(stage.plan, stage.limits), collect)
    with errors_of_row_patterns(stage.plan.query, stage.limits.max_steps):
        yield from parts.run(stage.cuts.whole_keys(batches, stage.layout.keys))
