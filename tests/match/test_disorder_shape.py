"""Which queries the disorder-native operator runs, why not the others, and how it is run: compiled, checked, as plain Python."""

from __future__ import annotations

import json

import numpy as np
import pytest

from eventide.match.disorder.settings import ForbiddenEvent
from eventide.match.state_bytes import pack_arrays, unpack_arrays
from eventide.plan.matchers.disorder import disorder_reason, disorder_shape
from match.building import plan_of, stream
from match.disordered import Disordered, arrivals, by_oracle
from match.test_jit_modes import elsewhere

SUITABLE = {
    "SELECT * WHERE A WITHIN 5": ([0], []),
    "SELECT * WHERE A ; B ; C WITHIN 5": ([0, 1, 2], []),
    "SELECT * WHERE A ; (B ; C) WITHIN 5": ([0, 1, 2], []),
    "SELECT * WHERE A{2} ; B WITHIN 5": ([0, 0, 1], []),
    "PATTERN SEQ(A a, !C c, B b) WITHIN 5": ([0, 1], [(1, False)]),
    "SELECT * WHERE NOT D ; A ; NOT C ; B ; NOT D WITHIN 5": ([0, 1], [(0, False), (1, False), (2, False)]),
    "SELECT * WHERE A AS a ; NOT C AS c ; B FILTER c.v > a.v WITHIN 5": ([0, 1], [(1, True)]),
    "SELECT * WHERE A AS a ; B AS b FILTER a.v < b.v PARTITION BY key WITHIN 5": ([0, 1], []),
    "SELECT b WHERE A ; B AS b ; C WITHIN 5": ([0, 1, 2], []),
}
UNSUITABLE = {
    "SELECT * WHERE A ; B": "without WITHIN",
    "SELECT * WHERE A ; B WITHIN 5 events": "not a plain length of time",
    "SELECT * WHERE A ; B WITHIN 6 SLIDE 3": "not a plain length of time",
    "SELECT * WHERE A ; B+ WITHIN 5": "a repetition",
    "SELECT * WHERE A ; B? ; C WITHIN 5": "a repetition",
    "SELECT * WHERE A OR B WITHIN 5": "OR",
    "SELECT * WHERE A AND B WITHIN 5": "AND",
    "SELECT * WHERE A : B WITHIN 5": "a gap that is not free",
    "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { a.v > 0 } WITHIN 5": "a gap that is not free",
    "SELECT LAST * WHERE A ; B WITHIN 5": "the selector LAST",
    "SELECT STRICT * WHERE A ; B WITHIN 5": "the selector STRICT",
    "SELECT * WHERE A ; B WITHIN 5 LIMIT 3": "LIMIT",
    "SELECT * WHERE A ; B WITHIN 5 CONSUME BY ANY": "CONSUME BY",
    "SELECT a, c WHERE A AS a ; B ; C AS c WITHIN 5": "forgets a step",
}


@pytest.mark.parametrize("text", SUITABLE)
def test_a_sequence_of_single_events_in_a_time_window_is_suitable(text):
    plan = plan_of(text)
    shape = disorder_shape(plan)
    steps, forbidden = SUITABLE[text]
    assert disorder_reason(plan) is None
    assert list(shape.steps) == steps and shape.window == 5
    assert sorted((absence.gap, absence.number >= 0) for absence in shape.forbidden) == forbidden
    assert all(isinstance(absence, ForbiddenEvent) for absence in shape.forbidden)


@pytest.mark.parametrize("text", UNSUITABLE)
def test_other_queries_are_refused_with_the_reason(text):
    plan = plan_of(text)
    assert disorder_shape(plan) is None
    assert UNSUITABLE[text] in disorder_reason(plan)


def test_packed_arrays_come_back_as_they_were_and_can_be_written():
    given = {
        "empty": np.empty((2, 0), np.int32),
        "odd": np.array([1, 2, 3], np.uint8),
        "square": np.arange(6, dtype=np.int64).reshape(2, 3)[:, ::-1],
        "doubles": np.array([0.5, np.nan]),
        "last": np.empty(0, np.int64),
    }
    back = unpack_arrays(pack_arrays(given))
    assert list(back) == list(given)
    for name, array in back.items():
        np.testing.assert_array_equal(array, given[name])
        assert array.dtype == given[name].dtype and array.flags.writeable


QUERIES = [
    "SELECT * WHERE A ; B ; C WITHIN 6",
    "SELECT * WHERE NOT D ; A ; NOT C ; B ; NOT D PARTITION BY key WITHIN 9",
    "SELECT * WHERE A AS a ; NOT D AS d ; B AS b FILTER d.v > a.v AND a.v <= b.v WITHIN 9",
]
SCRIPT = "import json; from match.test_disorder_shape import answers; print(json.dumps(answers()))"


def answers():
    """Run all queries over one stream, event by event and moved once."""
    events = stream(
        "c9 a3 b5 a1 d4 c6 b2 b7 a8 c3 d9 b11 c12 a10",
        v=[1, 2, 1, 3, 1, 2, 2, 1, 1, 2, 3, 1, 2, 2],
        keys=[1, 1, 2, 1, 2, 2, 1, 2, 1, 2, 2, 1, 1, 1],
    )
    results = []
    for text in QUERIES:
        plan = plan_of(text)
        given = arrivals(plan, events)
        run = Disordered(plan)
        for at in range(len(events)):
            run.feed(given.part(at, at + 1)).tell(max(event["time"] for event in events[: at + 1]) - 10)
            if at == 7:
                run = run.moved()
        results.append(run.finish())
    return results


def test_the_answers_are_those_of_the_oracle():
    events = stream("c9 a3 b5 a1 d4 c6 b2 b7 a8 c3 d9 b11 c12 a10")
    assert answers()[0] == by_oracle(plan_of(QUERIES[0]), events)


def test_plain_python_finds_the_same():
    assert elsewhere(SCRIPT, NUMBA_DISABLE_JIT="1") == json.loads(json.dumps(answers()))


@pytest.mark.long
def test_kernels_stay_inside_their_arrays(tmp_path):
    assert elsewhere(SCRIPT, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path)) == json.loads(json.dumps(answers()))
