"""Prepared rows as the arrays that kernels read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eventide.match.row_pattern.marking import mark_rows
from eventide.match.row_pattern.matcher import RowBatch
from eventide.plan.expressions.operators import Encoding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.row_pattern.programs import RowPrograms
    from eventide.plan.row_patterns.plan import RowPlan


class Block:
    """Rows of partitions, one partition behind the other; cleared once its columns are taken, so that they are not held twice."""

    def __init__(self, table: pa.Table, offset: npt.NDArray[np.int64]) -> None:
        self._table: pa.Table | None = table
        self.rows = table.num_rows
        self.offset = offset

    def chunks(self, name: str) -> Iterator[tuple[int, pa.Array]]:
        """Yield the pieces of a column with their first rows."""
        assert self._table is not None
        begin = 0
        for chunk in self._table.column(name).chunks:
            yield begin, chunk
            begin += len(chunk)

    def column(self, name: str) -> pa.Array:
        """Return a column in one piece."""
        assert self._table is not None
        column = self._table.column(name).combine_chunks()
        return pc.cast(column, column.type.value_type) if pa.types.is_dictionary(column.type) else column

    def clear(self) -> None:
        """Let the rows go."""
        self._table = None


def encoded(plan: RowPlan, block: Block) -> tuple[RowBatch, RowPrograms]:
    """Return the rows of a block with all conditions on them judged, and the programs with the codes of its strings.

    What WITHIN lets into a match is left open.
    """
    rows, offset = block.rows, block.offset
    values = np.zeros((len(plan.values), rows), np.int64)
    valid = np.zeros((len(plan.values), rows), np.uint8)
    texts: dict[int, pa.Array] = {}
    for number, value in enumerate(plan.values):
        target = values[number].view(np.float64) if value.encoding is Encoding.FLOAT else values[number]
        for begin, chunk in block.chunks(f"v{number}"):
            end = begin + len(chunk)
            valid[number, begin:end] = chunk.is_valid().to_numpy(zero_copy_only=False)
            if value.encoding is not Encoding.CODE:
                target[begin:end] = chunk.fill_null(0).to_numpy(zero_copy_only=False)
        if value.encoding is Encoding.CODE:
            texts[number] = block.column(f"v{number}")
    programs = plan.programs
    if texts or plan.strings:
        programs = _with_codes(plan, texts, values)
    mask = np.empty(rows, np.int64)
    for begin, chunk in block.chunks("m"):
        mask[begin : begin + len(chunk)] = chunk.to_numpy(zero_copy_only=False)
    for bit, condition in enumerate(plan.predicates):
        if condition.program is not None:
            marked = mark_rows(condition.program.code, programs.constants, values, valid, offset)
            mask |= marked.astype(np.int64) << bit
    return RowBatch(offset, mask, np.zeros(0, np.int64), values, valid), programs


def _with_codes(plan: RowPlan, texts: dict[int, pa.Array], values: npt.NDArray[np.int64]) -> RowPrograms:
    """Number the strings of this block in their order, in the columns and in the programs."""
    names = {*plan.strings, *plan.variables}
    encoded_texts = {number: column.dictionary_encode() for number, column in texts.items()}
    for column in encoded_texts.values():
        names.update(text for text in column.dictionary.to_pylist() if text is not None)
    codes = {text: code for code, text in enumerate(sorted(names))}
    for number, column in encoded_texts.items():
        numbers = np.array([codes[text] for text in column.dictionary.to_pylist()] or [0], np.int64)
        values[number] = numbers[column.indices.fill_null(0).to_numpy(zero_copy_only=False)]
    constants = plan.programs.constants.copy()
    for text, place in plan.strings.items():
        constants[place] = codes[text]
    labels = np.array([codes[name] for name in plan.variables] or [0], np.int64)
    return plan.programs._replace(constants=constants, label_code=labels)
