"""When is a match certain? When it is there whatever comes: all short continuations of a stream are tried in one batch run."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from random import Random

import pyarrow as pa

from eventide.errors import BindError
from eventide.pattern.row_patterns import primary_variables
from eventide.plan.row_patterns.plan import RowPlan
from eventide.runtime.streams.queries.row_patterns import check_streamable
from harness.kinds.row_patterns.patterns import VARIABLES, make_pattern, pattern_text
from stream_rows.letters import EPOCH, micros
from stream_rows.running import plan_of, rows_of_table, stream_of

DEPTH = 3
LETTERS = (*VARIABLES, "?")
CONTINUATIONS = [letters for depth in range(DEPTH + 1) for letters in product(LETTERS, repeat=depth)]
SCHEMA = pa.schema([("p", pa.int64()), ("ts", pa.timestamp("us", "UTC")), ("id", pa.int64()), ("type", pa.string())])
WATERMARK = 9
Match = tuple[tuple[int, str | None], ...]


def make_query(rng: Random) -> str:
    """Return a clause whose variables stand for one letter each, so that continuations can make every move possible."""
    pattern = make_pattern(rng, rng.randint(1, 4), exclusions=False)
    variables = primary_variables(pattern)
    # A condition on the match so far that always holds makes the search run.
    searched = rng.choice(variables) if variables and rng.random() < 0.4 else None
    defined = [f"{name} AS type = '{name}'" + f" AND COUNT({name}.*) > 0" * (name == searched) for name in variables]
    within = f"WITHIN {rng.randint(1, 8)} SECONDS" if rng.random() < 0.5 else ""
    skip = rng.choice(("PAST LAST ROW", "TO NEXT ROW"))
    return f"""
        SELECT * FROM input MATCH_RECOGNIZE (
          PARTITION BY p ORDER BY ts, id MEASURES MATCH_NUMBER() AS number, CLASSIFIER() AS class
          ALL ROWS PER MATCH AFTER MATCH SKIP {skip}
          PATTERN ({pattern_text(pattern)}) {within} {"DEFINE " + ", ".join(defined) if defined else ""}
        )"""


def make_plan(rng: Random) -> tuple[str, RowPlan]:
    """Return a clause that can always be completed within the continuations that are tried."""
    while True:
        text = make_query(rng)
        plan = plan_of(text, SCHEMA.empty_table())
        try:
            check_streamable(plan)
        except BindError:
            continue
        if longest_way(plan) <= DEPTH:
            return text, plan


def longest_way(plan: RowPlan) -> int:
    """Return how many rows the state that is farthest from an end needs, of those that can be completed."""
    states = plan.automaton.states
    away = {number: 0 for number, moves in enumerate(states) if -1 in moves}
    distance = 0
    while True:
        distance += 1
        nearer = {n: distance for n, moves in enumerate(states) if n not in away and any(move in away for move in moves)}
        if not nearer:
            # A first move into the continuation stands before the way from there.
            return distance
        away |= nearer


def rows_of(partition: int, letters: str, seconds: list[int]) -> list[dict[str, object]]:
    return [
        {"p": partition, "ts": EPOCH + timedelta(seconds=second), "id": number, "type": letter}
        for number, (letter, second) in enumerate(zip(letters, seconds, strict=True))
    ]


def matches_of(table: pa.Table) -> dict[int, list[Match]]:
    """Return the matches of each partition in their order."""
    found: dict[int, dict[int, list[tuple[int, str | None]]]] = {}
    for row in sorted(table.to_pylist(), key=lambda row: (row["p"], row["number"], row["id"])):
        found.setdefault(row["p"], {}).setdefault(row["number"], []).append((row["id"], row["class"]))
    return {partition: [tuple(match) for match in matches.values()] for partition, matches in found.items()}


def check_promptness(rng: Random, prefixes: int) -> int:
    """Compare what is certain with what all continuations share; returns how many matches were certain."""
    text, plan = make_plan(rng)
    starts = []
    for _ in range(prefixes):
        size = rng.randint(1, 7)
        starts.append(("".join(rng.choices(LETTERS, k=size)), sorted(rng.choices(range(WATERMARK), k=size))))
    known = [row for number, (letters, seconds) in enumerate(starts) for row in rows_of(number, letters, seconds)]
    stream = stream_of(plan, pa.Table.from_pylist(known, schema=SCHEMA))
    stream.advance(len(known), micros(WATERMARK))
    certain = matches_of(_named(stream.finished(stream.certain)))
    width = len(CONTINUATIONS)
    possible = [
        row
        for number, (letters, seconds) in enumerate(starts)
        for place, more in enumerate(CONTINUATIONS)
        for row in rows_of(number * width + place, letters + "".join(more), seconds + [WATERMARK] * len(more))
    ]
    table = pa.Table.from_pylist(possible, schema=SCHEMA)
    whole = matches_of(rows_of_table(plan, table).select(["p", "number", "class", "id"]))
    count = 0
    for number, (letters, seconds) in enumerate(starts):
        right = common_start([whole.get(number * width + place, []) for place in range(width)])
        mine = certain.get(number, [])
        assert mine == right, f"{text}\n{letters} at {seconds}: {mine} is certain, should be {right}"
        count += len(mine)
    return count


def _named(rows: list[tuple[object, ...]]) -> pa.Table:
    """Return finished rows with their names: PARTITION BY, ORDER BY, measures."""
    return pa.Table.from_pylist([{"p": row[0], "id": row[2], "number": row[3], "class": row[4]} for row in rows])


def common_start(lists: list[list[Match]]) -> list[Match]:
    """Return what all lists begin with."""
    shared = lists[0]
    for other in lists:
        length = next((n for n, (one, two) in enumerate(zip(shared, other, strict=False)) if one != two), min(len(shared), len(other)))
        shared = shared[:length]
    return shared
