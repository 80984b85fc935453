"""Small tables of events for the tests of this folder."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import eventide as et

PAIRS = "SELECT a.x AS first, b.x AS second WHERE A AS a ; B AS b"


def table(x: Any, kinds: str = "AB", ts: Any = None, **columns: Any) -> pa.Table:
    """Return one event a letter of `kinds`, with the times 0, 1, 2, ... unless they are given."""
    return pa.table({"ts": list(range(len(kinds))) if ts is None else ts, "kind": list(kinds), "x": x, **columns})


def match(data: pa.Table, text: str, **roles: Any) -> list[dict[str, Any]]:
    """Return the matches as dictionaries."""
    return et.query(text).match(et.events(data, **({"time": "ts", "type": "kind"} | roles))).to_pylist()


def pairs(data: pa.Table, clauses: str = "", **roles: Any) -> list[tuple[Any, Any]]:
    """Return the values of all pairs of an A and a later B for which the clauses hold."""
    return [(row["first"], row["second"]) for row in match(data, f"{PAIRS} {clauses}", **roles)]
