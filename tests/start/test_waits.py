"""Whatever takes longer than two seconds says what it does, in one line on standard error."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

import eventide as et
from eventide.compilation import kernels
from eventide.runtime import waiting as waits
from eventide.runtime.waiting import shown_otherwise, waiting


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.delenv("EVENTIDE_WAITS", raising=False)
    monkeypatch.setattr(waits, "SECONDS", 0.02)


def test_a_long_wait_says_what_it_waits_for(capsys):
    with waiting("Eventide looks for matches"):
        time.sleep(0.3)
    assert capsys.readouterr().err == "Eventide looks for matches ...\n"


def test_a_short_wait_says_nothing(capsys, monkeypatch):
    monkeypatch.setattr(waits, "SECONDS", 60.0)
    with waiting("Eventide looks for matches"):
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_it_can_be_switched_off(capsys, monkeypatch):
    with shown_otherwise(), waiting("Eventide looks for matches"):
        time.sleep(0.2)
    monkeypatch.setenv("EVENTIDE_WAITS", "no")
    with waiting("Eventide looks for matches"):
        time.sleep(0.2)
    assert capsys.readouterr().err == ""


def test_a_match_that_takes_long_says_so(capsys, monkeypatch):
    monkeypatch.setattr(waits, "SECONDS", 0.0)
    table = pa.table({"ts": range(20_000), "kind": ["A", "B"] * 10_000})
    et.query("SELECT COUNT(a) AS n WHERE A AS a ; B WITHIN 50").match(et.events(table, time="ts", type="kind"))
    assert "Eventide looks for matches ..." in capsys.readouterr().err


def test_numba_is_spoken_of_once(capsys, monkeypatch):
    if kernels.PLAIN:
        pytest.skip("nothing is compiled")
    monkeypatch.setattr(kernels, "NOTICE_SECONDS", 0.0)
    kernels._say_once.cache_clear()
    for number in range(2):
        # A kernel of a version of its own is never linked.
        compiled = kernels.kernel(_slow, version=f"test-{number}-{time.time_ns()}")
        assert compiled(1) == 2
        time.sleep(0.1)
    assert capsys.readouterr().err == kernels.NOTICE


def _slow(x):
    return x + 1
