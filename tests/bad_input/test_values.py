"""Unusual values have a defined answer, or a clear error."""

from __future__ import annotations

from decimal import Decimal
from math import inf, isnan, nan

import pyarrow as pa
import pytest

from bad_input.tables import match, pairs, table
from eventide.errors import BindError, DataError, EventideWarning


def test_nan_is_larger_than_every_number_between_events():
    ((first, second),) = pairs(table([inf, nan]), "FILTER a.x < b.x")
    assert first == inf
    assert isnan(second)


def test_nan_is_larger_than_every_number_in_one_event():
    assert len(pairs(table([nan, 1.0]), "FILTER a.x > 1e308")) == 1


def test_nan_equals_nan():
    assert len(pairs(table([nan, nan]), "FILTER a.x = b.x")) == 1


def test_infinities_compare_as_numbers():
    assert pairs(table([-inf, inf]), "FILTER a.x < b.x") == [(-inf, inf)]


def test_the_two_zeros_are_equal():
    assert len(pairs(table([-0.0, 0.0]), "FILTER a.x = b.x")) == 1


def test_a_condition_over_null_does_not_hold():
    assert pairs(table([None, 1.0]), "FILTER a.x < b.x") == []


def test_the_negation_of_a_condition_over_null_does_not_hold():
    assert pairs(table([None, 1.0]), "FILTER NOT a.x > 3") == []


def test_null_can_be_asked_for():
    assert pairs(table([None, 1.0]), "FILTER a.x IS NULL AND b.x <=> 1") == [(None, 1.0)]


def test_null_keys_are_one_partition():
    found = pairs(table([1, 2, 3, 4], "ABAB", k=[None, None, 1, 1]), "PARTITION BY k")
    assert sorted(found) == [(1, 2), (3, 4)]


def test_nan_keys_are_one_partition():
    found = pairs(table([1, 2, 3, 4], "ABAB", k=[nan, nan, 1.0, 1.0]), "PARTITION BY k")
    assert sorted(found) == [(1, 2), (3, 4)]


def test_a_null_in_an_attribute_that_equalities_make_a_key_matches_nothing():
    found = pairs(table([1, 2, 3, 4], "ABAB", k=[None, None, 1, 1]), "FILTER a.k = b.k")
    assert found == [(3, 4)]


def test_a_key_column_without_values_is_one_partition():
    assert pairs(table([1, 2], k=pa.nulls(2)), "PARTITION BY k") == [(1, 2)]


def test_lists_cannot_be_keys():
    with pytest.raises(BindError, match="PARTITION BY cannot use k"):
        pairs(table([1, 2], k=[[1], [1]]), "PARTITION BY k")


def test_an_event_without_a_type_is_of_no_type():
    data = pa.table({"ts": [0, 1, 2], "kind": ["A", None, "B"], "x": [1, 2, 3]})
    assert pairs(data) == [(1, 3)]


def test_events_without_a_time_are_left_out_and_counted():
    with pytest.warns(EventideWarning, match=r"^2 events without a time were left out\.$"):
        found = pairs(table([1, 2, 3, 4], "ABBB", ts=pa.array([0, None, 2, None])))
    assert found == [(1, 3)]


def test_events_without_the_attribute_of_the_window_are_left_out_and_counted():
    with pytest.warns(EventideWarning, match=r"^1 events without w were left out\.$"):
        found = pairs(table([1, 2, 3], "ABB", w=[1, None, 3]), "WITHIN 3 [w]")
    assert found == [(1, 3)]


def test_a_window_attribute_that_decreases_is_refused():
    with pytest.raises(DataError, match="WINDOW_ATTRIBUTE_DECREASES"):
        pairs(table([1, 2], w=[2, 1]), "WITHIN 3 [w]")


def test_nan_in_the_window_attribute_counts_as_larger_than_what_follows():
    with pytest.raises(DataError, match="WINDOW_ATTRIBUTE_DECREASES"):
        pairs(table([1, 2, 3], "ABB", w=[1.0, nan, 3.0]), "WITHIN 3 [w]")


def test_infinite_window_attributes_are_infinitely_far_apart():
    assert pairs(table([1, 2, 3], "ABB", w=[-inf, 1.0, inf]), "WITHIN 3 [w]") == []


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_text_in_every_layout_is_text(kind):
    text = pa.array(["u", "v", "u"]).cast(kind)
    data = pa.table({"ts": [0, 1, 2], "kind": pa.array(["A", "B", "B"]).cast(kind), "x": text, "k": text})
    assert pairs(data, "FILTER a.x = b.x PARTITION BY k") == [("u", "u")]


def test_whole_numbers_without_sign_keep_their_value():
    assert pairs(table(pa.array([2**63, 2**64 - 1], pa.uint64())), "FILTER a.x > 5") == [(2**63, 2**64 - 1)]


def test_whole_numbers_of_64_bits_without_sign_are_refused_between_events():
    with pytest.raises(BindError, match="UNSUPPORTED_VALUE"):
        pairs(table(pa.array([1, 2], pa.uint64())), "FILTER a.x < b.x")


def test_whole_numbers_of_64_bits_without_sign_compare_as_doubles_when_asked():
    found = pairs(table(pa.array([1, 2], pa.uint64())), "FILTER CAST(a.x AS DOUBLE) < CAST(b.x AS DOUBLE)")
    assert found == [(1, 2)]


def test_a_sum_that_does_not_fit_is_refused():
    for values in (pa.array([2**62, 2**62]), pa.array([1, 2**64 - 1], pa.uint64())):
        with pytest.raises(DataError, match="SUM_OVERFLOW"):
            match(table(values, "BB"), "SELECT SUM(b.x) AS s WHERE B{2} AS b")


def test_narrow_decimals_compare_between_events():
    values = pa.array([Decimal("1.10"), Decimal("1.20")], pa.decimal128(5, 2))
    assert pairs(table(values), "FILTER a.x < b.x") == [(Decimal("1.10"), Decimal("1.20"))]


def test_wide_decimals_are_refused_between_events_only():
    values = table(pa.array([Decimal("1.10"), Decimal("1.20")], pa.decimal128(30, 2)))
    with pytest.raises(BindError, match="UNSUPPORTED_VALUE"):
        pairs(values, "FILTER a.x < b.x")
    assert match(values, "SELECT SUM(b.x) AS s, MIN(b.x) AS m WHERE A ; B AS b") == [{"s": Decimal("1.20"), "m": Decimal("1.20")}]


def test_decimals_wider_than_the_engine_knows_are_refused():
    values = table(pa.array([Decimal(1), Decimal(2)], pa.decimal256(50, 2)))
    with pytest.raises((BindError, DataError)):
        pairs(values)


def test_a_whole_number_times_a_fraction_is_a_double():
    assert pairs(table([10, 16]), "FILTER a.x * 1.5 < b.x") == [(10, 16)]


def test_the_largest_and_the_smallest_number_compare():
    assert pairs(table([-(2**63), 2**63 - 1]), "FILTER a.x < b.x") == [(-(2**63), 2**63 - 1)]


def test_division_by_zero_between_events_is_null():
    assert pairs(table([1, 0]), "FILTER a.x / b.x > 0 OR a.x % b.x = 0") == []


def test_an_expression_that_fails_on_a_value_is_an_error():
    with pytest.raises(DataError, match=r"\[BAD_VALUE\] An expression failed on the data: "):
        match(table([2**62], "A"), "SELECT a.x * a.x AS square WHERE A AS a")
