"""Several queries on one open stream: they come and go, and the others do not notice."""

from __future__ import annotations

import pytest

import eventide as et
from eventide.errors import BindError
from live.test_open_streams import COLUMNS, rows

AB = "SELECT a.ts AS a, b.ts AS b WHERE A AS a ; B AS b PARTITION BY k WITHIN 10"
AC = "SELECT a.ts AS a, c.ts AS c WHERE A AS a ; C AS c WITHIN 10"
BC = "SELECT b.ts AS b, c.ts AS c WHERE B AS b ; NOT A ; C AS c PARTITION BY k WITHIN 10"


def opened(queries: dict, **settings) -> et.LiveQueries:
    return et.queries(queries).open(COLUMNS, time="ts", type="kind", **settings)


def told(found) -> list[tuple]:
    return sorted((row["query"], *(row[name] for name in row if name != "query" and row[name] is not None)) for row in found.to_pylist())


def test_queries_share_a_pass() -> None:
    live = opened({"ab": AB, "ac": AC}, lateness=2)
    assert live.schema.names == ["query", "a", "b", "c"]
    assert told(live.push(rows("a1/p b2/p c3/q"))) == [("ab", 1, 2), ("ac", 1, 3)]
    assert live.progress.matches == 2


def test_a_query_that_is_added_sees_events_from_then_on() -> None:
    live = opened({"ab": AB}, lateness=2)
    live.push(rows("a1/p b1/q"))
    live.add("ac", AC)
    live.add("bc", et.query(BC))
    assert live.queries == ("ab", "ac", "bc")
    assert told(live.push(rows("b2/p c3/p"))) == [("ab", 1, 2)]
    assert told(live.push(rows("x6/p"))) == [("bc", 2, 3)]
    assert told(live.push(rows("a7/p c8/p"))) == [("ac", 7, 8)]


def test_the_others_keep_their_state_when_a_query_goes() -> None:
    live = opened({"ab": AB, "ac": AC, "bc": BC}, lateness=5)
    live.push(rows("a1/p b2/q"))
    live.drop("ac")
    live = et.resume(live.dump())
    assert live.queries == ("ab", "bc")
    assert told(live.push(rows("b3/p c4/q"))) == [("ab", 1, 3)]
    assert told(live.finish()) == [("bc", 2, 4)]


def test_a_query_of_the_same_name_begins_anew() -> None:
    live = opened({"ab": AB, "ac": AC}, lateness=2)
    live.push(rows("a1/p"))
    live.drop("ab")
    live.add("ab", AB)
    assert told(live.push(rows("b2/p c2/p"))) == [("ac", 1, 2)]


@pytest.mark.parametrize("output", ["ordered", "early"])
def test_outputs_are_those_of_one_query(output: str) -> None:
    live = opened({"ab": AB, "ac": AC}, lateness=3, output=output)
    found = [*live.push(rows("a1/p c5/q b3/p")).to_pylist(), *live.finish().to_pylist()]
    if output == "early":
        assert [row["change"] for row in found] == ["+", "+"]
        assert len({row["match_id"] for row in found}) == 2
    else:
        assert [row["query"] for row in found] == ["ab", "ac"]
        assert set(found[0]) == {"query", "a", "b", "c"}


def test_what_cannot_be_added_or_dropped_changes_nothing() -> None:
    live = opened({"ab": AB}, lateness=2)
    live.push(rows("a1/p"))
    wrong = {
        "ab": (AB, "BAD_REGISTRY"),
        "other": ("SELECT a.x WHERE A AS a ; B WITHIN 5", "UNKNOWN_ATTRIBUTE"),
        "types": ("SELECT a.k AS a WHERE A AS a ; C WITHIN 5", "QUERY_COLUMNS_DIFFER"),
        "own": ("SELECT a.k AS query WHERE A AS a ; C WITHIN 5", "DUPLICATE_COLUMN"),
    }
    for name, (text, condition) in wrong.items():
        with pytest.raises(BindError) as refused:
            live.add(name, text)
        assert refused.value.condition == condition
    with pytest.raises(BindError, match="NO_QUERIES"):
        live.drop("ab")
    with pytest.raises(BindError, match="BAD_REGISTRY"):
        live.drop("cd")
    assert told(live.push(rows("b2/p"))) == [("ab", 1, 2)]
