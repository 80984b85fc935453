from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eventide.errors import DataError
from eventide.sources.disorder import disordered, measure_disorder

SPREAD = np.arange(2000, dtype=np.int64) * 10


@pytest.mark.parametrize("share", [0.001, 0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("bound", [100, 1000, 12345])
def test_measured_disorder_equals_the_request(share, bound):
    measured = measure_disorder(SPREAD[disordered(SPREAD, share, bound, seed=3)])
    assert measured.late == round(share * len(SPREAD))
    assert measured.largest_delay <= bound


def test_every_event_arrives_once():
    order = disordered(SPREAD, 0.4, 500, seed=3)
    assert np.array_equal(np.sort(order), np.arange(len(SPREAD)))


def test_delays_spread_up_to_the_bound():
    arrived = SPREAD[disordered(SPREAD, 0.5, 1000, seed=3)]
    delays = np.maximum.accumulate(arrived) - arrived
    assert 950 < delays.max() <= 1000
    assert 450 < delays[delays > 0].mean() < 600


def test_the_same_seed_gives_the_same_order_and_another_seed_another():
    first = disordered(SPREAD, 0.3, 100, seed=1)
    assert np.array_equal(first, disordered(SPREAD, 0.3, 100, seed=1))
    assert not np.array_equal(first, disordered(SPREAD, 0.3, 100, seed=2))


def test_without_disorder_the_order_is_that_of_time_and_stable():
    times = np.array([5, 3, 5, 1], dtype=np.int64)
    assert disordered(times, 0.0, 10).tolist() == [3, 1, 0, 2]


def test_more_disorder_than_the_bound_allows_is_refused_with_what_is_possible():
    with pytest.raises(DataError, match="at most 50 percent") as refused:
        disordered(SPREAD, 0.6, 10, seed=1)
    assert refused.value.condition == "TOO_MUCH_DISORDER"


def test_as_much_disorder_as_the_bound_allows_is_granted():
    assert measure_disorder(SPREAD[disordered(SPREAD, 0.5, 10, seed=1)]).share == 0.5


@given(
    times=st.lists(st.integers(0, 60), min_size=1, max_size=60),
    share=st.floats(0, 1),
    bound=st.integers(1, 40),
    seed=st.integers(0, 1000),
)
def test_number_and_bound_hold_for_any_times(times, share, bound, seed):
    given_times = np.array(times, dtype=np.int64)
    try:
        order = disordered(given_times, share, bound, seed)
    except DataError:
        assume(False)
    measured = measure_disorder(given_times[order])
    assert measured.late == round(share * len(times))
    assert measured.largest_delay <= bound
    assert sorted(order.tolist()) == list(range(len(times)))


@given(times=st.lists(st.integers(0, 8), min_size=1, max_size=7), bound=st.integers(1, 4))
def test_a_refusal_means_that_no_order_would_do(times, bound):
    # By trying all sets of late events: each needs one in time, later and not farther than the bound.
    ordered = sorted(times)
    most = max(
        late.bit_count()
        for late in range(2 ** len(times))
        if all(
            any(not late >> j & 1 and 0 < ordered[j] - ordered[i] <= bound for j in range(len(times)))
            for i in range(len(times))
            if late >> i & 1
        )
    )
    given_times = np.array(times, dtype=np.int64)
    disordered(given_times, most / len(times), bound)
    if most < len(times):
        with pytest.raises(DataError):
            disordered(given_times, (most + 1) / len(times), bound)
