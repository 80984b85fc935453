"""A stream goes on with a changed query where its state stays valid, and says what has changed where it does not."""

from __future__ import annotations

import warnings
from random import Random

import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import DataError

COLUMNS = pa.schema([("ts", pa.timestamp("us")), ("kind", pa.string()), ("k", pa.string()), ("x", pa.int64()), ("y", pa.float64())])
FROM_A_TO_B = "WHERE A AS a ; B+ AS b FILTER a.x < b.x PARTITION BY k WITHIN 10 seconds"


def made_rows(seed, size=60):
    rng = Random(seed)
    return [
        {"ts": 1_000_000 * second, "kind": rng.choice("ABBC"), "k": rng.choice("uv"), "x": rng.randrange(9), "y": rng.random()}
        for second in range(size)
    ]


def opened(text, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", et.EventideWarning)
        if "MATCH_RECOGNIZE" in text:
            return et.statement(text).open(COLUMNS, **settings)
        return et.query(text).open(COLUMNS, time="ts", type="kind", **settings)


def read(text):
    return et.statement(text) if "MATCH_RECOGNIZE" in text else et.query(text)


def resumed(live, text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", et.EventideWarning)
        return et.resume(live.dump(), read(text))


def of_table(text, rows):
    table = pa.Table.from_pylist(rows, schema=COLUMNS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", et.EventideWarning)
        if "MATCH_RECOGNIZE" in text:
            return et.sql(text, t=table).to_pylist()
        return et.query(text).match(et.events(table, time="ts", type="kind")).to_pylist()


def comparable(rows):
    return sorted(repr(sorted(row.items())) for row in rows)


def clause(measures, definition="B.x > A.x"):
    return f"""SELECT * FROM t MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY ts MEASURES {measures}
        PATTERN (A B+ C) WITHIN INTERVAL 20 SECONDS DEFINE A AS kind = 'A', B AS {definition}, C AS kind = 'C')"""


VALID = {
    "alias": (f"SELECT a.x AS p, LAST(b.y) AS q {FROM_A_TO_B}", f"SELECT a.x AS first, LAST(b.y) AS second {FROM_A_TO_B}"),
    "order": (f"SELECT a.x AS p, LAST(b.y) AS q {FROM_A_TO_B}", f"SELECT LAST(b.y) AS q, a.x AS p {FROM_A_TO_B}"),
    "fewer": (f"SELECT a.x, a.y, MAX(b.x) AS m, MAX(b.y) AS n {FROM_A_TO_B}", f"SELECT MAX(b.y) AS n, a.y {FROM_A_TO_B}"),
    "further": (f"SELECT a.x, MAX(b.x) AS m {FROM_A_TO_B}", f"SELECT COUNT(b) AS n, MIN(b.x) AS l, a.x + MAX(b.x) AS s {FROM_A_TO_B}"),
    "star": (f"SELECT * {FROM_A_TO_B}", f"SELECT k, a.y AS y, COUNT(b) AS n {FROM_A_TO_B}"),
    "measures": (clause("A.x AS p, LAST(B.y) AS q"), clause("LAST(B.y) AS q2, A.x AS p, COUNT(*) AS n")),
    "fewer measures": (clause("A.x AS p, LAST(B.y) AS q, SUM(B.x) AS s"), clause("SUM(B.x) AS total")),
}


@pytest.mark.parametrize("change", VALID)
@pytest.mark.parametrize("lateness", ["0 seconds", "5 seconds"])
def test_what_the_result_shows_may_change(change, lateness):
    before, after = VALID[change]
    for seed in range(5):
        rows = made_rows(seed)
        live = opened(before, lateness=lateness)
        first = live.push(rows[:30]).to_pylist()
        again = et.resume(live.dump(), read(after))
        second = again.push(rows[30:]).to_pylist() + again.finish().to_pylist()
        whole = opened(before, lateness=lateness)
        assert comparable(first) == comparable(whole.push(rows[:30]).to_pylist())
        # What comes out behind the change is what the changed query would have put out there.
        changed = opened(after, lateness=lateness)
        changed.push(rows[:30])
        assert comparable(second) == comparable(changed.push(rows[30:]).to_pylist() + changed.finish().to_pylist())
        assert len(first) + len(second) == len(of_table(after, rows))


INVALID = {
    "within": (FROM_A_TO_B, FROM_A_TO_B.replace("WITHIN 10", "WITHIN 11"), "WITHIN was 10 seconds and is 11 seconds"),
    "filter": (FROM_A_TO_B, FROM_A_TO_B.replace("<", "<="), "FILTER was a.x < b.x and is a.x <= b.x"),
    "pattern": (FROM_A_TO_B, FROM_A_TO_B.replace("B+", "B"), r"WHERE was A AS a ; B\+ AS b and is A AS a ; B AS b"),
    "key": (FROM_A_TO_B, FROM_A_TO_B.replace("PARTITION BY k ", ""), "PARTITION BY was k and is not there"),
}


@pytest.mark.parametrize("change", INVALID)
def test_any_other_change_is_named(change):
    before, after, what = INVALID[change]
    live = opened(f"SELECT a.x AS p, LAST(b.y) AS q {before}")
    live.push(made_rows(1)[:20])
    with pytest.raises(DataError, match=rf"QUERY_CHANGED(.|\n)*{what}"):
        et.resume(live.dump(), et.query(f"SELECT a.x AS p, LAST(b.y) AS q {after}"))


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (f"SELECT a.x AS p, LAST(b.y) AS q {FROM_A_TO_B}", f"SELECT a.x AS p, LAST(b.ts) AS t {FROM_A_TO_B}", r"the result reads \S*ts\S*, which the state does not hold"),
        (f"SELECT a.x AS p, LAST(b.y) AS q {FROM_A_TO_B}", f"SELECT a.x AS p {FROM_A_TO_B}", "SELECT was ALL of a, b and is ALL of a"),
        (f"SELECT a.x AS p {FROM_A_TO_B}", f"SELECT NEXT a.x AS p {FROM_A_TO_B}", "SELECT was ALL of a and is NEXT of a"),
        (clause("A.x AS p"), clause("A.x AS p", "B.x >= A.x"), "DEFINE B was B.x > A.x and is B.x >= A.x"),
        (clause("A.x AS p"), clause("A.y AS p"), r"the result reads \S*y\S*, which the state does not hold"),
        (clause("A.x AS p"), clause("PREV(A.x) AS p"), "what MEASURES read around a match"),
    ],
)
def test_a_result_cannot_show_what_was_not_held(before, after, what):
    live = opened(before)
    live.push(made_rows(1)[:20])
    with pytest.raises(DataError, match=rf"QUERY_CHANGED(.|\n)*{what}"):
        resumed(live, after)


@pytest.mark.parametrize("output", ["ordered", "early"])
def test_results_that_wait_as_they_are_keep_their_values_and_may_change_their_names(output):
    before = f"SELECT a.x AS p, LAST(b.y) AS q {FROM_A_TO_B}"
    live = opened(before, output=output, lateness="5 seconds")
    live.push(made_rows(1)[:20])
    again = et.resume(live.dump(), et.query(before.replace("AS p", "AS first")))
    assert "first" in again.schema.names
    with pytest.raises(DataError, match="the values that SELECT shows was"):
        et.resume(live.dump(), et.query(f"SELECT LAST(b.y) AS q, a.x AS p {FROM_A_TO_B}"))


def test_a_registry_keeps_the_state_of_queries_that_only_show_something_else():
    texts = {"one": f"SELECT a.x AS p, LAST(b.y) AS q {FROM_A_TO_B}", "two": f"SELECT a.x AS p {FROM_A_TO_B}"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", et.EventideWarning)
        live = et.queries(texts).open(COLUMNS, time="ts", type="kind")
        live.push(made_rows(1)[:20])
        changed = {"one": texts["one"].replace("AS p", "AS first"), "two": texts["two"].replace("10", "11")}
        again = et.resume(live.dump(), et.queries(changed))
    found = again.push(made_rows(1)[20:]).to_pylist()
    assert {row["query"] for row in found} == {"one", "two"}
    fresh = [row for row in found if row["query"] == "two"]
    assert len([row for row in found if row["query"] == "one"]) > len(fresh) > 0
