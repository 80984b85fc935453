"""Rows that are held while more come: what was handed out stays, whatever the type of a column."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pyarrow as pa
import pytest

from eventide.runtime.relational.held_rows import HeldRows

COLUMNS = {
    "numbers": pa.array([1, None, 3, 4, 5, None], pa.int32()),
    "doubles": pa.array([1.5, 2.5, 3.5, 4.5, 5.5, 6.5]),
    "times": pa.array([1, 2, None, 4, 5, 6], pa.timestamp("us", "UTC")),
    "texts": pa.array(["a", None, "ccc", "", "eé", "f"]),
    "empty texts": pa.array(["", "", "", "", "", ""]),
    "bytes": pa.array([b"a", b"bb", None, b"", b"\0", b"f"]),
    "booleans": pa.array([True, None, False, True, True, False]),
    "decimals": pa.array([Decimal("1.5"), None, Decimal(3), Decimal(4), Decimal(5), Decimal(6)]),
    "nothing": pa.nulls(6),
    "lists": pa.array([[1], None, [], [2, 3], [4], [5]]),
    "categories": pa.array(["a", "b", "a", None, "b", "a"]).dictionary_encode(),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("cuts", [(0, 1, 6), (0, 3, 3, 6), (0, 1, 2, 3, 4, 5, 6), (0, 6), (0, 0, 2, 6)])
def test_rows_come_out_as_they_went_in(name: str, cuts: tuple[int, ...]) -> None:
    whole = pa.table({"x": COLUMNS[name], "n": pa.array(range(6))})
    held, seen = HeldRows(), []
    for begin, end in pairwise(cuts):
        seen.append((held.add(whole.slice(begin, end - begin)), end))
    for table, end in seen:
        table.validate(full=True)
        assert table.equals(whole.slice(0, end)), "what was handed out has changed"
    assert all(column.num_chunks == 1 for column in held.table.columns)


def test_rows_that_replace_others_are_not_written_over() -> None:
    whole = pa.table({"x": list(range(10))})
    held = HeldRows()
    held.add(whole)
    held.table = whole.slice(4, 2)
    held.add(whole.slice(9))
    assert held.table["x"].to_pylist() == [4, 5, 9]
    assert whole["x"].to_pylist() == list(range(10))
