"""Disagreements that random queries have found, kept as small queries: engine and oracle must agree on each."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

import eventide as et
from differential.checking import Way, outcome
from differential.queries import Trial
from eventide.errors import BindError
from eventide.language import parse

WAYS = [Way(), Way(cuts=1), Way(cuts=7), Way("runs"), Way("runs", cuts=3)]
DEFAULTS = {"tie": None, "stream": "S1", "k": 1, "v": 1, "w": 1.0, "s": "p", "ok": True, "m": 0, "f": 0.0}


def trial_of(text):
    return Trial(parse(text), tie_break=False, timestamps=False, seconds=False, several_streams=False, by_case=True)


def stream(*events, case=0, first=0):
    """Return events of one key, one for each (type, attributes), a unit of time apart."""
    return [
        {**DEFAULTS, "id": first + place, "case_id": case, "time": place, "type": kind, **attributes}
        for place, (kind, attributes) in enumerate(events)
    ]


def plain(letters, case=0, first=0):
    return stream(*((letter, {}) for letter in letters), case=case, first=first)


CASES = {
    "COALESCE between events asks which value is missing": (
        "SELECT * WHERE A AS a ; B AS b FILTER COALESCE(a.v, b.v) < b.v PARTITION BY case_id",
        stream(("A", {"v": 1}), ("A", {"v": None}), ("B", {"v": 2}), ("B", {"v": None})),
    ),
    "IN, BETWEEN and NULLIF between events may compare one event with a number": (
        "SELECT * WHERE A AS a ; B AS b FILTER a.v IN (b.v, 4) AND b.v BETWEEN a.v AND 9 AND NULLIF(b.v, 3) = a.v PARTITION BY case_id",
        stream(("A", {"v": 3}), ("A", {"v": 4}), ("B", {"v": 4}), ("B", {"v": 3}), ("B", {"v": None})),
    ),
    "NaN is the largest number for MAX in SELECT": (
        "SELECT MAX(C.w) AS c0, MIN(C.w) AS c1 WHERE C{2} PARTITION BY case_id",
        stream(("C", {"w": math.nan}), ("C", {"w": 2.5}), ("C", {"w": None})),
    ),
    "COUNT(*) in the condition of a NOT counts the match": (
        "SELECT * WHERE A ; NOT (C AS n FILTER n.v > COUNT(*) - 2) ; B PARTITION BY case_id",
        stream(("A", {}), ("C", {"v": 0}), ("B", {}), ("C", {"v": 3}), ("B", {})),
    ),
    "a type that is bound elsewhere does not mean the negated event": (
        "SELECT * WHERE NOT (C AS n FILTER n.s = C.s) ; C ; B PARTITION BY case_id WITHIN 9",
        stream(("C", {"s": "q"}), ("C", {"s": "p"}), ("B", {}), ("C", {"s": "q"}), ("B", {})),
    ),
    "a NOT whose last condition became a key forbids by its type": (
        "SELECT * WHERE A AS a ; NOT (C AS n FILTER n.k = a.k) ; B AS b FILTER a.k = b.k PARTITION BY case_id",
        stream(("A", {}), ("C", {"k": 2}), ("B", {}), ("C", {}), ("B", {})),
    ),
    "CASE between events reads its branches": (
        "SELECT * WHERE A AS a ; B AS b FILTER CASE WHEN a.ok THEN a.v ELSE b.v END > 1 PARTITION BY case_id",
        stream(("A", {"v": 2}), ("A", {"ok": None}), ("B", {"v": 3}), ("B", {"v": 0})),
    ),
    "open matches of a trailing NOT survive the end of a batch": (
        "SELECT * WHERE A ; C ; NOT X PARTITION BY case_id WITHIN 4",
        [*plain("AAACAXXC"), *plain("XAXA", 1, 20), *plain("XACXCX", 2, 40)],
    ),
    "a leading NOT sees the first events of a key whatever window the key before had": (
        "SELECT * WHERE NOT A ; B : B PARTITION BY case_id WITHIN 4 EVENTS",
        [*plain("BBAABBXB"), *plain("ABB", 1, 20)],
    ),
    "a selector compares all matches of an event although some are certain earlier": (
        "SELECT NEXT * WHERE B ; B? ; NOT A PARTITION BY case_id WITHIN 3",
        [*plain("BXBBXXB"), *plain("BBXBA", 1, 20)],
    ),
    "a NOT inside an operand of AND looks back to the operand's own last event": (
        "SELECT * WHERE A AS x AND C AND (A ; NOT (C AS n FILTER n.k = B.k) ; B) PARTITION BY case_id",
        plain("ACAB"),
    ),
    "COUNT(*) counts events of variables that SELECT forgets": (
        "SELECT COUNT(b) AS c0 WHERE A ; B+ AS b FILTER COUNT(*) = 3 PARTITION BY case_id",
        plain("ABBB"),
    ),
    "a loop whose rounds are tied to a later event alone is no key under next": (
        "SELECT * WHERE A~+ AS x ~> A AS y FILTER x.s = y.s PARTITION BY case_id",
        stream(("A", {"s": "p"}), ("A", {"s": "q"}), ("A", {"s": "p"})),
    ),
    "an operand of AND that is tied to a later event alone is no key under next": (
        "SELECT * WHERE A AS a AND (C AS c ~> B AS b) FILTER a.s = c.s AND a.s = b.s PARTITION BY case_id",
        stream(("C", {"s": "p"}), ("B", {"s": "q"}), ("B", {"s": "p"}), ("A", {"s": "p"})),
    ),
    "a condition over a set is judged where the match shows no event at all": (
        "SELECT x WHERE A ; C{0,2} AS x FILTER COUNT(x) >= 1 AND MAX(C.w) >= MIN(x.w) PARTITION BY case_id",
        plain("AXC") + plain("AX", 1, 20),
    ),
    "a condition that only rows decide is void for a missing variable": (
        "SELECT * WHERE A AS a OR B AS b FILTER a.s < b.s PARTITION BY case_id",
        plain("AB"),
    ),
}


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_engine_and_oracle_agree(name, way):
    text, rows = CASES[name]
    assert outcome(trial_of(text), rows, way) is None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * WHERE A AS a ~> B AS b FILTER a.s < b.s",
        "SELECT a WHERE A AS a ; B AS b FILTER a.s < b.s",
    ],
)
def test_a_condition_that_only_rows_decide_is_refused_where_it_would_change_the_matches(text):
    import pyarrow as pa

    import eventide as et

    table = pa.table({"ts": [1, 2], "kind": ["A", "B"], "s": ["p", "q"]})
    with pytest.raises(BindError, match="OPAQUE_CONDITION"):
        et.query(text).match(et.events(table, time="ts", type="kind"))


@pytest.mark.parametrize("kinds", ["CBB", "BCB", "BBC"])
def test_events_without_the_key_that_a_condition_compares_are_equal_to_nothing(kinds):
    query = "SELECT * WHERE B AS x1 AND (B AS x2 AND C AS x3) FILTER x1.k = x2.k AND x2.k = x3.k PARTITION BY k"
    for key, number in ((None, 0), (1, 2)):
        table = pa.table({"ts": [1, 2, 3], "kind": list(kinds), "k": pa.array([key] * 3, pa.int64())})
        assert et.query(query).match(et.events(table, time="ts", type="kind")).num_rows == number
