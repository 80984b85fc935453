"""Linked kernels: what they refuse, what they give back, and that nothing leaks or blocks."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import threading

import numpy as np
import pytest

from eventide.compilation import copy_start
from eventide.compilation.kernels import BY_NUMBA, PLAIN, Kernel
from eventide.compilation.library import digest_of_sources, kernel_names, library_path, linked
from eventide.compilation.signatures import read_table
from eventide.index.tree import insert_all, new_forest

pytestmark = pytest.mark.skipif(PLAIN or BY_NUMBA or not kernel_names(), reason="the kernels are not linked: make kernels")

HORIZON = "match.row_pattern.horizon.horizon_of"
IN_BOX = "index.box_query.count_in_box"


def horizon(rows: int = 4, **changed):
    """Return the arguments of a kernel that takes arrays and numbers and gives an array."""
    given = {
        "micros": np.arange(rows, dtype=np.int64),
        "known": np.ones(rows, np.uint8),
        "offset": np.array([0, rows]),
        "end": np.array([rows]),
        "within": 1,
        "oldest": 2**62,
    }
    return [*(given | changed).values()]


def test_the_library_holds_the_kernels_of_the_table():
    assert set(kernel_names()) == {f"{one.module}.{one.function}" for one in read_table()}


def test_its_name_says_for_which_sources_it_is():
    assert digest_of_sources() in library_path().name


def test_an_array_comes_back():
    found = linked(HORIZON)(*horizon())
    assert found.dtype == np.int64
    assert len(found) == 4
    found[0] = 7


def test_a_number_comes_back():
    forest = insert_all(new_forest(1, 1), np.zeros(2, np.int64), np.array([[1], [2]], np.uint64), np.arange(2))
    assert linked(IN_BOX)(forest, 0, np.array([[0], [9], [0]], np.uint64)) == 2


def test_a_kernel_that_is_not_there_is_none():
    assert linked("match.nothing.at_all") is None


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"micros": np.zeros(4)}, "another type"),
        ({"micros": np.zeros(4, np.int32)}, "another type"),
        ({"micros": np.zeros(4, ">i8")}, "another type"),
        ({"micros": np.zeros((2, 2), np.int64)}, "dimensions"),
        ({"micros": np.zeros(8, np.int64)[::2]}, "contiguous"),
        ({"micros": [1, 2, 3, 4]}, "an array is expected"),
        ({"micros": None}, "an array is expected"),
        ({"within": 1.5}, "a whole number is expected"),
        ({"within": True}, "a whole number is expected"),
        ({"within": "1"}, "a whole number is expected"),
    ],
)
def test_what_does_not_fit_is_a_type_error(changed, reason):
    with pytest.raises(TypeError, match=reason):
        linked(HORIZON)(*horizon(**changed))


def test_a_number_that_is_too_large_is_an_overflow():
    with pytest.raises(OverflowError):
        linked(HORIZON)(*horizon(within=2**63))


def test_too_few_and_too_many_arguments_are_type_errors():
    for given in (horizon()[:-1], [*horizon(), 1], []):
        with pytest.raises(TypeError, match="arguments are expected"):
            linked(HORIZON)(*given)


def test_an_array_that_is_written_must_be_writable():
    name = "match.row_pattern.kernel.enter_partition"
    state, first, number = np.zeros(16, np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64)
    linked(name)(state, first, number)
    state.setflags(write=False)
    with pytest.raises(TypeError, match="read-only"):
        linked(name)(state, first, number)


def test_tuples_must_have_their_items():
    with pytest.raises(TypeError, match="a tuple is expected"):
        linked(IN_BOX)(np.zeros(1), 0, np.zeros((3, 1), np.uint64))
    with pytest.raises(TypeError, match="too few items"):
        linked(IN_BOX)((), 0, np.zeros((3, 1), np.uint64))


def test_an_inner_kernel_cannot_be_called_from_python():
    assert isinstance(copy_start, Kernel)
    with pytest.raises(TypeError, match="Only other kernels"):
        copy_start(np.zeros(1), np.zeros(1), 1)


def test_calls_leave_nothing_behind():
    run, given = linked(HORIZON), horizon(1000)
    for _ in range(1000):
        run(*given)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    references = [sys.getrefcount(one) for one in given]
    for _ in range(100_000):
        run(*given)
    assert [sys.getrefcount(one) for one in given] == references
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB; 800 MB would have leaked


def test_two_threads_run_at_once():
    run, given, results = linked(HORIZON), horizon(200_000, within=1000), []
    threads = [threading.Thread(target=lambda: results.extend(run(*given).sum() for _ in range(50))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 100
    assert len(set(results)) == 1


def test_a_first_match_compiles_nothing_and_does_not_load_numba():
    script = (
        "import sys, pyarrow as pa, eventide as et\n"
        "t = pa.table({'ts': [1, 2, 3], 'kind': ['A', 'B', 'C'], 'v': [1, 2, 3]})\n"
        "events = et.events(t, time='ts', type='kind')\n"
        "for text in ('A ; B ; C', 'A AS a ; B AS b FILTER a.v < b.v', 'A AS a ; B+ AS b ; C AS c FILTER a.v < b.v AND b.v < c.v'):\n"
        "    assert et.query(f'SELECT * WHERE {text} WITHIN 9').match(events).num_rows == 1\n"
        "    assert et.query(f'SELECT * WHERE {text} WITHIN 9').count(events)['matches'].to_pylist() == ['1']\n"
        "clause = 'ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A B+) DEFINE B AS {}'\n"
        "for condition in ('B.v > PREV(B.v)', 'SUM(B.v) < 9'):\n"
        "    et.sql(f'SELECT * FROM t MATCH_RECOGNIZE ({clause.format(condition)})', t=t)\n"
        "assert 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.ci
def test_what_the_table_does_not_name_is_compiled_by_numba_and_said():
    script = (
        "import numpy as np\n"
        "from eventide.match.row_pattern.horizon import horizon_of\n"
        "given = (np.arange(4), np.ones(4, np.uint8), np.array([0, 4]), np.array([4]), 1, 2**62)\n"
        "expected = horizon_of(*given).tolist()\n"
        "assert horizon_of(given[0].astype(np.int32), *given[1:]).tolist() == expected\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "EVENTIDE_KERNELS"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == (
        "eventide: match.row_pattern.horizon.horizon_of: an array has items of another type (argument 1); numba compiles this kernel.\n"
    )
