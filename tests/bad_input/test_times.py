"""Times of every kind, at every edge."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from bad_input.tables import match, pairs, table
from eventide.errors import BindError, ParseError

SMALLEST, LARGEST = -(2**63), 2**63 - 1
SPAN = "SELECT match_start AS s, match_end AS e WHERE A ; B"


def spans(times, clauses: str, kinds: str = "AB", **roles) -> list[tuple]:
    rows = match(table([0] * len(kinds), kinds, ts=times), f"{SPAN} {clauses}", **roles)
    return [(row["s"], row["e"]) for row in rows]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_timestamps_of_every_unit_and_zone_measure_the_same_duration(unit, zone):
    second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    times = pa.array([0, 5 * second, 6 * second], pa.timestamp(unit, tz=zone))
    assert len(spans(times, "WITHIN 5 seconds", "ABB")) == 1


def test_a_time_with_a_zone_comes_back_as_the_same_instant():
    instant = dt.datetime(2024, 7, 1, 12, tzinfo=dt.UTC)
    times = pa.array([instant, instant], pa.timestamp("us", tz="Europe/Berlin"))
    assert spans(times, "") == [(instant, instant)]


def test_times_before_1970_are_times():
    first, second = dt.datetime(1900, 1, 1), dt.datetime(1900, 1, 1, 0, 0, 1)  # noqa: DTZ001
    assert spans(pa.array([first, second]), "WITHIN 1 second") == [(first, second)]


def test_sliding_windows_before_1970_are_aligned_to_the_epoch():
    times = pa.array([-3, -2, -1], pa.timestamp("s"))
    found = spans(times, "WITHIN 2 seconds SLIDE 2 seconds", "ABB")
    assert [(s.second, e.second) for s, e in found] == []
    assert len(spans(pa.array([-4, -3], pa.timestamp("s")), "WITHIN 2 seconds SLIDE 2 seconds")) == 1


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
def test_dates_are_times(kind):
    times = pa.array([dt.date(2024, 2, 28), dt.date(2024, 2, 29), dt.date(2024, 3, 1)], kind)
    assert spans(times, "WITHIN 1 day", "ABB") == [(dt.date(2024, 2, 28), dt.date(2024, 2, 29))]


def test_negative_numbers_are_times():
    assert spans([-5, -3, -2], "WITHIN 2", "ABB") == [(-5, -3)]


def test_the_ends_of_the_number_range_are_not_near_each_other():
    assert spans([SMALLEST, LARGEST], "WITHIN 5") == []
    assert spans([SMALLEST, LARGEST], "") == [(SMALLEST, LARGEST)]


def test_a_window_reaches_below_the_smallest_number():
    assert spans([SMALLEST, SMALLEST + 3], "WITHIN 5") == [(SMALLEST, SMALLEST + 3)]


def test_sliding_windows_hold_at_the_ends_of_the_number_range():
    assert spans([5, LARGEST], "WITHIN 10 SLIDE 5") == []
    assert spans([LARGEST - 1, LARGEST], "WITHIN 10 SLIDE 5") == [(LARGEST - 1, LARGEST)]
    assert spans([SMALLEST, SMALLEST + 1], "WITHIN 10 SLIDE 5") == [(SMALLEST, SMALLEST + 1)]


def test_events_between_windows_that_do_not_touch_match_nothing():
    assert spans([0, 1, 7, 8], "WITHIN 3 SLIDE 5", "ABAB") == [(7, 8)]


def test_a_window_of_zero_holds_events_of_one_time():
    assert spans([1, 1, 2], "WITHIN 0", "ABB") == [(1, 1)]


def test_a_window_of_zero_events_holds_one_event():
    assert spans([0, 1], "WITHIN 0 events") == []
    assert match(table([7], "A"), "SELECT a.x AS x WHERE A AS a WITHIN 0 events") == [{"x": 7}]


@pytest.mark.parametrize("size", ["99999999999999999999", "99999999999999999999 events", "99999999999999 days", "9e99 [x]"])
def test_a_window_larger_than_numbers_reach_is_refused(size):
    with pytest.raises(ParseError, match=r"\[BAD_WINDOW\]"):
        pairs(table([1, 2]), f"WITHIN {size}")


def test_the_largest_windows_hold_everything():
    assert spans([0, 2**60], "WITHIN 4611686018427387903") == [(0, 2**60)]
    data = table([1, 2], ts=pa.array([0, 2**60], pa.timestamp("us")))
    assert pairs(data, "WITHIN 50000000 days") == [(1, 2)]


@pytest.mark.parametrize(
    ("times", "kind"),
    [
        (pa.array([1, 2], pa.uint64()), "a value of another type"),
        (pa.array([0, 1], pa.time32("s")), "a value of another type"),
        (pa.array([True, False]), "a boolean"),
        (pa.array(["2024-01-01", "2024-01-02"]), "a string"),
        (pa.array([1.0, 2.0]), "a double"),
    ],
)
def test_a_column_that_is_no_time_is_refused(times, kind):
    with pytest.raises(BindError) as caught:
        pairs(table([1, 2], ts=times))
    assert caught.value.condition == "BAD_TIME_COLUMN"
    assert kind in caught.value.message


def test_the_unit_of_numbers_gives_durations_a_meaning():
    assert spans([0, 5, 6], "WITHIN 5 seconds", "ABB", time_unit="s") == [(0, 5)]
    assert spans([0, 5000, 6000], "WITHIN 5 seconds", "ABB", time_unit="ms") == [(0, 5000)]
