"""Row patterns in a stage: prepared rows as the arrays that kernels read, the matcher over whole partitions, what stops it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.errors import DataError, LimitError
from eventide.match.budget import Resource, Spent
from eventide.match.row_pattern.horizon import NO_ROW_TO_COME, horizon_of
from eventide.match.row_pattern.matcher import BadSkip, RowBatch, RowPartitions, SumOverflow
from eventide.plan.expressions.operators import Encoding
from eventide.plan.matchers.registry import ROWS
from eventide.runtime.relational.arrays import filled, numpy_values
from eventide.runtime.relational.functions import cast, dictionary, is_valid
from eventide.runtime.stage.failures import limit_error
from eventide.runtime.stage.keys import SortedKeys
from eventide.runtime.stage.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.row_pattern.programs import RowPrograms
    from eventide.pattern.row_patterns import RowQuery
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
            valid[number, begin:end] = numpy_values(is_valid(chunk))
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
    return cast(column, column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _chunks(table: pa.Table, name: str) -> Iterator[tuple[int, pa.Array]]:
    """Yield the pieces of a column with their first rows: in one piece it would be held twice."""
    begin = 0
    for chunk in table.column(name).chunks:
        yield begin, chunk
        begin += len(chunk)


def _horizon(table: pa.Table, offset: npt.NDArray[np.int64], within: int) -> npt.NDArray[np.int64]:
    time = table.column("t").combine_chunks()
    known = numpy_values(is_valid(time)).astype(np.uint8)
    micros = np.ascontiguousarray(filled(time))
    return horizon_of(micros, known, offset, offset[1:], within, NO_ROW_TO_COME)


def _with_codes(plan: RowPlan, texts: dict[int, pa.Array], values: npt.NDArray[np.int64]) -> RowPrograms:
    """Number the strings of these rows in their order, in the columns and in the programs."""
    names = {*plan.strings, *plan.query.variables}
    encoded_texts = {number: dictionary(column) for number, column in texts.items()}
    for column in encoded_texts.values():
        names.update(text for text in column.dictionary.to_pylist() if text is not None)
    codes = {text: code for code, text in enumerate(sorted(names))}
    for number, column in encoded_texts.items():
        numbers = np.array([codes[text] for text in column.dictionary.to_pylist()] or [0], np.int64)
        values[number] = numbers[filled(column.indices)]
    constants = plan.programs.constants.copy()
    for text, place in plan.strings.items():
        constants[place] = codes[text]
    labels = np.array([codes[name] for name in plan.query.variables] or [0], np.int64)
    return plan.programs._replace(constants=constants, label_code=labels)


def assemble_rows(stage: TableStage, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run the stage of a clause over rows that are sorted by partition and order."""
    collect = stage.collector(stage.plan, stage.layout, None, stage.prepared)
    keys = SortedKeys(stage.layout.keys)
    limits = stage.limits.begun()
    parts = Stage(keys, RowEncoder(stage.plan), ROWS.make(stage.plan, limits), collect)
    with errors_of_row_patterns(stage.plan.query, stage.limits.steps):
        yield from limits.counted(parts.run(stage.cuts.whole_keys(batches, stage.layout.keys)))


@contextmanager
def errors_of_row_patterns(query: RowQuery, max_steps: int) -> Iterator[None]:
    """Turn what the matcher of row patterns raises into errors that a user understands."""
    try:
        yield
    except Spent as spent:
        if spent.resource is Resource.STEPS:
            hint = "Make conditions compare neighbouring rows (PREV) rather than the match so far, add WITHIN, "
            hint += "or raise max_steps."
            raise limit_error(Spent(Resource.STEPS, max_steps), hint) from None
        raised = "max_memory" if spent.resource is Resource.MEMORY else "max_matches"
        raise limit_error(spent, f"Narrow the pattern, add WITHIN, or raise {raised}.") from None
    except MemoryError:
        hint = "Narrow the pattern, add WITHIN, or show ONE ROW PER MATCH."
        raise LimitError("TOO_MUCH_MEMORY", "The process has no more memory.", hint=hint) from None
    except SumOverflow:
        raise DataError(
            "SUM_OVERFLOW", "A SUM in DEFINE is too large for 64 bits.", hint="Sum a double: SUM(CAST(A.x AS DOUBLE))."
        ) from None
    except BadSkip as skip:
        raise _bad_skip(query, skip) from None


def _bad_skip(query: RowQuery, skip: BadSkip) -> DataError:
    target = query.skip.variable
    name = "" if target is None else target.text
    text, span = query.text or None, None if target is None else target.span
    if skip.missing:
        return DataError(
            "MATCH_RECOGNIZE_SKIP_TO_MISSING_ROW",
            f"AFTER MATCH SKIP goes to {name}, but a match has no row of {name}.",
            text=text,
            span=span,
            hint="Skip to a variable that every match has, or use SKIP TO NEXT ROW.",
        )
    return DataError(
        "MATCH_RECOGNIZE_SKIP_TO_FIRST_ROW",
        f"AFTER MATCH SKIP goes to {name}, which is the first row of a match: the same match would be found for ever.",
        text=text,
        span=span,
        hint="Skip to a variable that comes later in the pattern, or use SKIP TO NEXT ROW.",
    )
