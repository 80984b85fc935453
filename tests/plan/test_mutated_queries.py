"""Whatever is done to a query, it runs or gives an error of Eventide, never a traceback from inside."""

from __future__ import annotations

import logging
import warnings
from random import Random

import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import EventideError, EventideWarning

ROWS = 12
EVENTS = et.events(
    pa.table(
        {
            "ts": pa.array([number * 1_000_000 for number in range(ROWS)], pa.timestamp("us")),
            "kind": ["ABC"[number % 3] for number in range(ROWS)],
            "price": [float(number % 5) if number % 7 else None for number in range(ROWS)],
            "volume": pa.array([number % 4 for number in range(ROWS)], pa.int16()),
            "company": ["xy"[number % 2] for number in range(ROWS)],
            "flag": [bool(number % 3) for number in range(ROWS)],
            "items": [[number] for number in range(ROWS)],
            "day": pa.array(range(ROWS), pa.date32()),
            "cost": pa.array(range(ROWS), pa.decimal128(10, 2)),
            "wide": pa.array(range(ROWS), pa.decimal128(30, 2)),
            "big": pa.array(range(ROWS), pa.uint64()),
            "part": [{"p": number} for number in range(ROWS)],
            "nothing": pa.nulls(ROWS),
        }
    ),
    time="ts",
    type="kind",
)
SEEDS = (
    "SELECT a.price AS low , COUNT( b ) AS n WHERE A AS a ; B + AS b ; C AS c FILTER a.price < b.price AND b.price < NEXT( b.price ) WITHIN 5 seconds",
    "SELECT * WHERE NOT A AS n ; B AS b ; NOT C AS m FILTER n.price < b.price AND m.volume = b.volume WITHIN 5 seconds",
    "SELECT NEXT * WHERE A AS a ~> B ~+ AS b ~> C AS c FILTER b.price <= NEXT( b.price ) AND AVG( b.price ) > 1 PARTITION BY company WITHIN 8 events CONSUME BY ANY LIMIT 3",
    "SELECT COUNT( * ) AS n , SUM( b.volume ) AS s , AVG( b.cost ) AS c , FIRST( b.day ) AS d , match_start WHERE ( A AS a AND B + AS b ) ; C ? WITHIN 5 seconds LIMIT 4",
    "SELECT * WHERE A AS a ; NOT B AS n ; C AS c FILTER a.company = c.company AND n.company = a.company AND a.day < c.day WITHIN 3 [ cost ]",
    "PATTERN SEQ( A a , ! B b , C + c[] ) WHERE skip_till_next_match { [ company ] AND a.price < c.price } WITHIN 10 seconds RETURN a.price",
)

COLUMNS = tuple(EVENTS.schema.columns)
# A word is mostly replaced by one of its own kind, so that many mutants get past the parser.
KINDS = (
    (";", ":", "~>"),
    ("+", "~+", ":+", "*", "?", "{2}", "{0,2}"),
    ("<", ">", "=", "<=", "<>", "<=>", "+", "-", "*", "/", "%", "||", "AND", "OR", "LIKE", "IS NOT"),
    ("NEXT(", "PREV(", "FIRST(", "LAST(", "SUM(", "COUNT(", "AVG(", "MIN(", "MAX(", "abs(", "length(", "upper(", "nosuch(", "("),
    ("0", "1", "3", "5", "-1", "2.5", "1e400", "9223372036854775807", "'x'", "NULL", "TRUE", "INTERVAL 5 SECONDS", "INTERVAL 'abc' DAY"),
    ("seconds", "events", "minutes", "[ volume ]", "[ cost ]", ""),
    ("SELECT", "SELECT MAX", "SELECT LAST", "SELECT STRICT", "SELECT ANY", "SELECT 1 ,"),
    tuple(f"{variable}.{column}" for variable in "abcnm" for column in COLUMNS),
    COLUMNS,
    ("A", "B", "C", "other>A"),
)
WILD = ("(", ")", "NOT", "FILTER", "WHERE", "AS", ",", "CASE", "WHEN", "CAST(", "@", "`", "--", ".", "[", "}", "LIMIT", "CONSUME BY ANY")


def mutated(random: Random) -> str:
    words = random.choice(SEEDS).split()
    for _ in range(random.choice((1, 1, 2, 3))):
        place = random.randrange(len(words))
        alike = [kind for kind in KINDS if words[place] in kind]
        if alike:
            words[place] = random.choice(random.choice(alike))
        elif random.random() < 0.3:
            words[place] = random.choice(WILD)
        elif random.random() < 0.3 and len(words) > 1:
            del words[place]
    return " ".join(words)


@pytest.mark.parametrize("seed", range(10))
def test_a_mutated_query_runs_or_is_explained(seed):
    random = Random(seed)
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    outcomes = [outcome(mutated(random), random.choice(("text", "mermaid", "dot"))) for _ in range(30)]
    assert "ran" in outcomes


def outcome(text: str, form: str) -> str:
    """Return how a query ends; anything but an error of Eventide is let through."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EventideWarning)
        try:
            query = et.query(text)
            query.match(EVENTS, max_matches=5000)
            query.explain(form, events=EVENTS)
        except EventideError as error:
            return error.condition
    return "ran"
