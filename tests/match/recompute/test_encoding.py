"""Coordinates compare as their values do."""

from __future__ import annotations

import numpy as np
import pytest

from eventide.index.encoding import (
    StringDictionary,
    decode_doubles,
    decode_integers,
    encode_doubles,
    encode_integers,
)
from match.recompute.z_addresses import encoded

INTEGERS = np.array([-(2**63), -(2**63) + 1, -7, -1, 0, 1, 7, 2**62, 2**63 - 1], np.int64)
DOUBLES = np.array([-np.inf, -1.7e308, -2.5, -1.0, -5e-324, -0.0, 0.0, 5e-324, 0.1, 1.0, 1e300, np.inf, np.nan])
# What Spark's order is: NaN above all, both zeros one value.
RANKS = [0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 11]


def order(values):
    """Return -1, 0 or 1 for each pair."""
    values = [int(value) for value in values]
    return [[(a > b) - (a < b) for b in values] for a in values]


def test_integers_and_times_keep_their_order():
    assert order(encode_integers(INTEGERS)) == order(INTEGERS)


def test_random_integers_keep_their_order_and_come_back():
    values = np.random.default_rng(1).integers(-(2**63), 2**63 - 1, 5_000)
    codes = encode_integers(values)
    assert np.array_equal(np.argsort(codes, kind="stable"), np.argsort(values, kind="stable"))
    assert np.array_equal(decode_integers(codes), values)


def test_doubles_keep_the_order_of_spark():
    assert order(encode_doubles(DOUBLES)) == order(RANKS)


def test_random_doubles_keep_their_order_and_come_back():
    values = np.random.default_rng(2).integers(-(2**63), 2**63 - 1, 20_000).view(np.float64)
    values = values[~np.isnan(values)]
    codes = encode_doubles(values)
    assert np.array_equal(np.argsort(codes, kind="stable"), np.argsort(values, kind="stable"))
    assert np.array_equal(decode_doubles(codes), values)


def test_every_nan_is_the_same_largest_value():
    strange = np.array([0x7FF0000000000001, 0x7FFFFFFFFFFFFFFF, 0xFFF8000000000000, 0xFFFFFFFFFFFFFFFF], np.uint64).view(np.float64)
    codes = encode_doubles(strange)
    assert len(set(codes.tolist())) == 1
    assert codes[0] > encode_doubles(np.array([np.inf]))[0]


def test_kernels_encode_one_value_as_arrays_are_encoded():
    assert [encoded(INTEGERS, index) for index in range(len(INTEGERS))] == encode_integers(INTEGERS).tolist()


def test_strings_keep_the_order_of_their_utf8_bytes():
    rng = np.random.default_rng(3)
    alphabet = ["a", "b", "é", "\U0001f600", "\uffff", "\0", ""]
    values = ["".join(rng.choice(alphabet, rng.integers(0, 4))) for _ in range(300)]
    dictionary = StringDictionary.of(values)
    codes = dictionary.encode(values)
    assert order(codes) == [[(a.encode() > b.encode()) - (a.encode() < b.encode()) for b in values] for a in values]
    assert dictionary.decode(codes) == values


def test_a_dictionary_that_grows_moves_its_strings_in_order():
    dictionary = StringDictionary.of(["b", "d", "f"])
    larger, moved = dictionary.extended(["a", "e", "d"])
    assert larger.values == ("a", "b", "d", "e", "f")
    assert moved.tolist() == [1, 2, 4]


def test_a_string_outside_the_dictionary_is_an_error():
    with pytest.raises(KeyError, match="z"):
        StringDictionary.of("ab").encode(["z"])
