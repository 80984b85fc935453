"""The same matches however the kernels are run: compiled, checked for bounds, as plain Python, and without a cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import eventide as et
from eventide.compilation.library import digest_of_sources
from match.building import matches_of, plan_of, prepare, stream

NOWHERE = "/dev/null/nowhere"
QUERIES = [
    ("SELECT * WHERE A ; B+ ; C WITHIN 6 events", "automaton"),
    ("SELECT * WHERE A AS a ; B+ AS b ; C ; NOT D FILTER a.v < b.v PARTITION BY key WITHIN 9", "automaton"),
    ("SELECT b WHERE A ; B+ AS b ; C", "automaton"),
    ("SELECT LAST * WHERE A+ ; B+ ; C", "automaton"),
    ("SELECT MAX * WHERE A ; B* ; C", "runs"),
    ("SELECT b WHERE A ; B+ AS b ; C WITHIN 7 events", "runs"),
    ("SELECT * WHERE A AS a ; B AS b FILTER a.v <= b.v PARTITION BY key CONSUME BY PARTITION", "runs"),
    ("SELECT * WHERE A AS a ; B+ AS b ; C AS c FILTER a.v <= b.v AND b.v <= NEXT(b.v) AND c.v >= FIRST(b.v)", "recompute"),
    ("SELECT * WHERE A+ AS a ; NOT D AS d ; B{1,2} AS b FILTER a.v >= FIRST(a.v) AND a.w <= b.w AND SUM(b.v) < 5 AND d.v > b.v WITHIN 9", "recompute"),
    ("SELECT b WHERE A? AS a ; NOT D ; B* AS b ; C? FILTER a.v <= b.v AND b.v <= NEXT(b.v) AND COUNT(b) < 3 WITHIN 9", "recompute"),
]
ROW_CLAUSES = [
    "MEASURES COUNT(*) AS n, MIN(v) AS low PATTERN (A B+ C?) DEFINE B AS B.v > PREV(B.v), C AS C.v < PREV(C.v)",
    "MEASURES SUM(B.v) AS s ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A (B | C)*?) DEFINE B AS B.v > A.v, C AS COUNT(C.*) < 2",
    "MEASURES LAST(A.v, 1) AS w AFTER MATCH SKIP TO NEXT ROW PATTERN (A+ B) DEFINE A AS SUM(A.v) < 6, B AS B.v >= FIRST(A.v)",
    "MEASURES MATCH_NUMBER() AS m, CLASSIFIER() AS c PATTERN (A+ B+) WITHIN INTERVAL 3 SECONDS DEFINE B AS B.v = LAST(A.v)",
]
SCRIPT = "import json; from match.test_jit_modes import answers; print(json.dumps(answers()))"


def answers():
    """Run all queries over one small stream, cut in two."""
    events = stream("abacbbdcabcb", v=[1, 2, 1, 3, 1, 2, 2, 1, 1, 2, 3, 1], keys=[1, 1, 2, 1, 2, 2, 1, 2, 1, 2, 2, 1])
    plans = [plan_of(text, matcher) for text, matcher in QUERIES]
    return [matches_of(plan, prepare(plan, events).cut(4)) for plan in plans] + row_answers()


def row_answers():
    """Run row patterns over one small table."""
    v = [1, 2, 1, 3, 1, 2, 2, 1, 1, 2, 3, 1]
    rows = pa.table({"ts": pa.array(range(len(v)), pa.timestamp("s")), "k": [1, 2] * 6, "v": v})
    texts = [f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts {clause})" for clause in ROW_CLAUSES]
    return [[list(map(str, row.values())) for row in et.sql(text, t=rows).to_pylist()] for text in texts]


def elsewhere(script=SCRIPT, **environment):
    """Run a script in a Python of its own and return what it prints."""
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], env={**kept, "PYTHONPATH": path, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # DuckDB draws a bar before it where the machine is slow.
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.ci
def test_numba_finds_the_same_as_the_linked_kernels():
    assert elsewhere(EVENTIDE_KERNELS="numba") == expected()


def expected():
    return json.loads(json.dumps(answers()))


def test_plain_python_finds_the_same():
    assert elsewhere(NUMBA_DISABLE_JIT="1") == expected()


@pytest.mark.long
def test_kernels_stay_inside_their_arrays(tmp_path):
    assert elsewhere(NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path)) == expected()


@pytest.mark.long
def test_kernels_compile_where_no_cache_can_be_written():
    assert elsewhere(NUMBA_CACHE_DIR=NOWHERE, HOME=NOWHERE, XDG_CACHE_HOME=NOWHERE, TMPDIR=NOWHERE) == expected()


SMALL = "import json; from eventide.compilation import by_numba, kernel; print(json.dumps([by_numba._CACHED, kernel(lambda x: x + 1)(1)]))"


def test_a_cache_directory_that_cannot_be_written_is_done_without():
    assert elsewhere(SMALL, NUMBA_CACHE_DIR=NOWHERE) == [False, 2]


def test_a_home_that_cannot_be_written_is_done_without():
    assert elsewhere(SMALL, HOME=NOWHERE, XDG_CACHE_HOME=NOWHERE, TMPDIR=NOWHERE)[1] == 2


def test_nothing_that_can_be_written_at_all_is_no_error():
    nowhere = (
        "import pathlib, tempfile\n"
        "def fail(*_): raise FileNotFoundError\n"
        "def homeless(*_): raise RuntimeError\n"
        "tempfile.gettempdir = fail; pathlib.Path.home = homeless\n"
    )
    assert elsewhere(nowhere + SMALL, XDG_CACHE_HOME=NOWHERE) == [False, 2]


def test_kernels_of_another_version_are_not_taken_from_the_cache(tmp_path):
    show = "import json; from eventide.compilation import by_numba, library; import numba; print(json.dumps([numba.config.CACHE_DIR, library.digest_of_sources()]))"
    directory, version = elsewhere(show, NUMBA_CACHE_DIR=str(tmp_path))
    assert directory == str(tmp_path / version)


def test_a_cache_that_others_can_write_is_not_used(tmp_path):
    show = "import json; from eventide.compilation import by_numba; import numba; print(json.dumps([numba.config.CACHE_DIR]))"
    directory = tmp_path / "eventide" / "kernels" / digest_of_sources()
    directory.mkdir(parents=True)
    directory.chmod(0o777)
    assert elsewhere(show, XDG_CACHE_HOME=str(tmp_path)) != [str(directory)]
    directory.chmod(0o700)
    assert elsewhere(show, XDG_CACHE_HOME=str(tmp_path)) == [str(directory)]
