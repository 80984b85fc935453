"""Whatever is done to a query, it runs or gives an error of Eventide, never a traceback from inside."""

from __future__ import annotations

import logging
import re
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
    "SELECT * WHERE A AS a ; NOT B AS n ; C AS c FILTER a.company = c.company AND n.company = a.company AND a.day < c.day WITHIN 3 [ volume ]",
    "PATTERN SEQ( A a , ! B b , C + c[] ) WHERE skip_till_next_match { [ company ] AND a.price < c.price } WITHIN 10 seconds RETURN a.price",
)
WORDS = ["A", "B", "C", "a", "b", "c", ";", ":", "+", "*", "?", ",", "(", ")", "[", "]", "{2}", "{0,2}", "AS", "AND", "OR", "NOT", "FILTER", "WHERE", "SELECT", "PARTITION", "BY", "WITHIN", "LIMIT", "CONSUME", "<", ">", "=", "<=", "<=>", "1", "0", "3", "-1", "2.5", "1e400", "'x'", "NULL", "TRUE", "a.price", "b.price", "c.price", "a.volume", "b.company", "a.flag", "b.flag", "a.ts", "b.ts", "a.day", "b.cost", "a.items", "b.wide", "a.big", "b.part", "c.nothing", "company", "price", "NEXT(", "PREV(", "FIRST(", "LAST(", "SUM(", "COUNT(", "AVG(", "MIN(", "MAX(", "abs(", "length(", "nosuch(", "COUNT(*)", "minutes", "events", "SLIDE", "INTERVAL", "'abc'", "DAY", "/", "%", "-", "||", "IN", "BETWEEN", "LIKE", "IS", "CASE", "WHEN", "THEN", "ELSE", "END", "CAST(", "DOUBLE", ".", "@", "`", "--", "other>A", "items", "part", "nothing"]


def mutated(random: Random) -> str:
    words = random.choice(SEEDS).split()
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        place = random.randrange(len(words))
        kind = random.random()
        if kind < 0.2 and len(words) > 1:
            del words[place]
        elif kind < 0.4:
            words.insert(place, random.choice(WORDS))
        elif kind < 0.9 and re.match(r"[a-z]\.", words[place]):
            words[place] = random.choice([word for word in WORDS if re.match(r"[a-z]\.", word)])
        else:
            words[place] = random.choice(WORDS)
    return " ".join(words)


@pytest.mark.parametrize("seed", range(10))
def test_a_mutated_query_runs_or_is_explained(seed):
    random = Random(seed)
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    ran = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EventideWarning)
        for _ in range(40):
            text = mutated(random)
            try:
                query = et.query(text)
                query.match(EVENTS, max_matches=5000)
                query.explain(random.choice(("text", "mermaid", "dot")), events=EVENTS)
            except EventideError as error:
                assert str(error).startswith(f"[{error.condition}]"), text
            else:
                ran += 1
    assert ran > 0
