"""A look at the first events says how many matches to expect, before a run and in explain."""

from __future__ import annotations

import warnings

import pyarrow as pa
import pytest

import eventide as et

QUERY = "SELECT * WHERE B+ AS b ; C WITHIN {}"
NOTHING = et.events(pa.table({"ts": pa.array([], pa.int64()), "kind": pa.array([], pa.string())}), time="ts", type="kind")


def given(size: int) -> et.Events:
    return et.events(pa.table({"ts": range(size + 1), "kind": ["B"] * size + ["C"]}), time="ts", type="kind")


def test_a_window_that_holds_too_many_events_is_warned_of_before_the_run() -> None:
    expected = r"101 events and 1\.27e\+30 matches\. Every event that fits b can be taken or left"
    with pytest.warns(et.EventideWarning, match=expected) as told, pytest.raises(et.LimitError, match="TOO_MANY_MATCHES"):
        et.query(QUERY.format(1000)).match(given(100))
    assert told[0].filename == __file__


@pytest.mark.parametrize(("window", "options"), [(10, {}), (1000, {"max_matches": 10**6})])
def test_small_windows_and_capped_runs_warn_of_nothing(window, options) -> None:
    size = 100 if window == 10 else 15
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert et.query(QUERY.format(window)).match(given(size), **options).num_rows == 2 ** min(size, window) - 1


def test_explain_estimates_what_conditions_may_leave() -> None:
    query = et.query("SELECT * WHERE B+ AS b ; C AS c FILTER SUM(b.ts) < c.ts WITHIN 1000")
    assert "has 101 events and up to 1.27e+30 matches" in query.explain(events=given(100))
    assert "matches. Every event" not in query.explain(events=given(5))
    assert "matches. Every event" not in query.explain(events=NOTHING)
