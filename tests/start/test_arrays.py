"""Arrays that go by their buffers are those that Arrow makes itself."""

import numpy as np
import pyarrow as pa
import pytest

from eventide.runtime.relational.arrays import arrow_array, arrow_digits, arrow_numbers, filled, numpy_values

TYPES = ("i1", "u1", "i4", "u4", "i8", "u8", "f4", "f8", "?")
NUMBERS = np.arange(100) % 7


def shapes(kind):
    values = NUMBERS.astype(kind)
    return values, values[::2], values[::-1], values[:0], values[:1]


def assert_same(found, expected):
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()
    # Kernels are compiled for arrays that can be written and for those that cannot.
    assert found.flags.writeable == expected.flags.writeable


@pytest.mark.parametrize("kind", TYPES)
def test_from_numpy(kind):
    for values in shapes(kind):
        missing = np.arange(len(values)) % 3 == 0
        for found, expected in (
            (arrow_array(values), pa.array(values)),
            (arrow_array(values, missing), pa.array(values, mask=missing)),
        ):
            found.validate(full=True)
            assert found.equals(expected)
            assert found.null_count == expected.null_count


@pytest.mark.parametrize("kind", TYPES)
def test_to_numpy(kind):
    array = pa.array(NUMBERS.astype(kind))
    for part in (array, array[3:], array[5:9], array[:0]):
        assert_same(numpy_values(part), part.to_numpy(zero_copy_only=False))
        for column in (pa.chunked_array([part]), pa.chunked_array([part, array[1:], part]), pa.chunked_array([], part.type)):
            assert_same(numpy_values(column), column.to_numpy())


@pytest.mark.parametrize("kind", TYPES)
def test_values_for_nulls(kind):
    array = pa.array(NUMBERS.astype(kind), mask=NUMBERS == 2)
    one = NUMBERS.astype(kind).dtype.type(1).item()
    for part in (array, array[4:], array[:2]):
        assert_same(filled(part, one), part.fill_null(one).to_numpy(zero_copy_only=False))
        column = pa.chunked_array([part, array])
        assert_same(filled(column, one), column.fill_null(one).to_numpy())


def test_what_has_no_plain_buffers_is_left_to_arrow():
    times = pa.array([3, None], pa.timestamp("us"))
    assert filled(times).tolist() == times.fill_null(0).to_numpy(zero_copy_only=False).tolist()
    assert numpy_values(pa.array(["a", None])).tolist() == ["a", None]
    assert np.isnan(numpy_values(pa.array([1, None]))[1])


def test_from_python():
    for numbers in ([], [1, None, -3], [None]):
        assert arrow_numbers(numbers, np.int64).equals(pa.array(numbers, pa.int64()))
        texts = [None if number is None else str(number) for number in numbers]
        assert arrow_digits(texts).equals(pa.array(texts, pa.string()))
    assert arrow_numbers([0.5, None]).equals(pa.array([0.5, None]))
    assert arrow_numbers([(1 << 64) - 1], np.uint64)[0].as_py() == (1 << 64) - 1
