"""Natural queries whose matches, candidates or memory have no end: a LimitError that says why, never the end of the process."""

from __future__ import annotations

import json

import pytest

from harness.limited import outcomes

QUERY = "SELECT {} WHERE Pay+ AS s ; Pay AS b FILTER {} PARTITION BY card WITHIN 1 hour {}"
LARGE = "s.amount < 5 AND b.amount > 100"
DRIFTING = "AVG(s.amount) > 1.3 AND SUM(s.amount) % 7 = 3.14159 AND b.amount > 100"
"""No bound of a partial match can tell whether it comes true; it never does."""
GIGABYTE = 1 << 30

SCRIPT = """
limit_memory({beyond})
for text, call, options in json.loads({asks!r}):
    outcome(lambda: getattr(et.query(text), call)(payments(100), **options))
"""


def said_of(asks, beyond: int = 4 * GIGABYTE) -> list[str]:
    script = SCRIPT.format(beyond=beyond, asks=json.dumps(asks))
    said = outcomes(script, seconds=45 * len(asks) + 30)
    assert len(said) == len(asks)
    return [one for one, _ in said]


def test_more_matches_than_can_be_written_are_refused_before_they_are() -> None:
    asks = [
        (QUERY.format("*", LARGE, ""), "match", {}),
        (QUERY.format("*", LARGE, ""), "match", {"max_matches": 1_000_000}),
        (QUERY.format("COUNT(s) AS n", LARGE, ""), "match", {}),
        (QUERY.format("*", "b.amount > 100", ""), "match", {"max_memory": "100 MB"}),
    ]
    for one in said_of(asks, beyond=GIGABYTE):
        assert "The query has 1.27e+30 matches or more" in one
        assert "Every event that fits s can be taken or left" in one
        assert "count()" in one


@pytest.mark.ci
def test_candidates_that_are_walked_and_rejected_are_counted() -> None:
    asks = [
        (QUERY.format("*", DRIFTING, "LIMIT 1"), "match", {}),
        (QUERY.format("*", DRIFTING, ""), "count", {}),
        (QUERY.format("*", DRIFTING, "LIMIT 1"), "match", {"matcher": "runs"}),
        (QUERY.format("COUNT(*) AS n", DRIFTING, "GROUP BY PARTITION"), "match", {"max_steps": 1_000_000}),
    ]
    for one in said_of(asks):
        assert one.startswith("[TOO_MANY_STEPS]")
        assert "raise max_steps" in one


def test_what_selectors_compare_is_bounded_by_memory() -> None:
    asks = [(QUERY.format(f"{selector} *", f"{LARGE} AND SUM(s.amount) % 2 <> 0.123", ""), "match", {}) for selector in ("MAX", "LAST")]
    for one in said_of(asks, beyond=2 * GIGABYTE):
        assert one.startswith(("[TOO_MUCH_MEMORY]", "[TOO_MANY_STEPS]"))


@pytest.mark.parametrize("max_memory", ["2 MB", 2_000_000])
def test_rows_that_stay_in_memory_cost_their_bytes(max_memory) -> None:
    pairs = "SELECT * WHERE Pay AS a ; Pay AS b ; Pay AS c WITHIN 1 hour"
    refused, found = said_of([(pairs, "match", {"max_memory": max_memory}), (pairs, "match", {"max_memory": "1 GB"})])
    assert "[TOO_MUCH_MEMORY] The matches of the query need more than" in refused
    assert found == 101 * 100 * 99 // 6


def test_a_search_of_rows_ends_by_default() -> None:
    text = (
        "SELECT * FROM pay MATCH_RECOGNIZE (ORDER BY ts MEASURES COUNT(*) AS n PATTERN (((A+ B?)+ (C | A)*)+ D) "
        "DEFINE A AS A.amount < 5 AND SUM(A.amount) < 80, B AS SUM(B.amount) < SUM(A.amount), "
        "C AS AVG(C.amount) < AVG(A.amount), D AS D.amount > 10 * SUM(C.amount))"
    )
    script = f"limit_memory({2 * GIGABYTE})\noutcome(lambda: et.sql({text!r}, pay=payments(100).relation.table))"
    ((said, seconds),) = outcomes(script, seconds=90)
    assert said.startswith("[TOO_MANY_STEPS]")
    assert seconds < 60
