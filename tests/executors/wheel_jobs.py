"""One query of each matcher, embedded or with the argument "spark" on Spark; prints the rows, and what was loaded."""

from __future__ import annotations

import json
import sys
import warnings

import pyarrow as pa

import eventide as et

warnings.simplefilter("ignore")
KINDS = list("ABCAABBC")
TABLE = pa.table({"ts": range(8), "kind": KINDS, "v": [1.0, 2.0, 3.0, 1.0, 5.0, 4.0, 6.0, 7.0], "k": [1] * 8})
QUERIES = {
    "automaton": "SELECT * WHERE A AS a ; B AS b ; C PARTITION BY k WITHIN 8",
    "conditions": "SELECT * WHERE A AS a ; B+ AS b ; C FILTER a.v < b.v AND b.v < NEXT(b.v) PARTITION BY k WITHIN 8",
    "selected": "SELECT LAST * WHERE A AS a ; B AS b ; C PARTITION BY k WITHIN 8",
    "grouped": "SELECT k, COUNT(*) AS n, SUM(b.v) AS s WHERE A ; B+ AS b ; C PARTITION BY k WITHIN 8 GROUP BY PARTITION",
    "best": "SELECT b.v AS v WHERE A ; B AS b ; C PARTITION BY k WITHIN 8 ORDER BY SUM(b.v) DESC LIMIT 1",
    "sampled": "SELECT b.v AS v WHERE A ; B AS b PARTITION BY k WITHIN 8 SAMPLE 2 SEED 7",
}
FORCED = {"runs": "SELECT * WHERE A AS a ; B AS b PARTITION BY k WITHIN 8", "recompute": QUERIES["conditions"]}
CLAUSE = """SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES SUM(U.v) AS s, COUNT(*) AS n
    PATTERN (S U+) DEFINE U AS U.v > PREV(U.v))"""


def results(data):
    """Yield the name of a matcher and its rows."""
    events = et.events(data, time="ts", type="kind")
    for name, text in QUERIES.items():
        yield name, et.query(text).match(events)
    for name, text in FORCED.items():
        yield name, et.query(text).match(events, matcher=name)
    yield "counted", et.query(QUERIES["automaton"]).count(events)
    yield "rows", et.sql(CLAUSE, t=data)


def rows_of(frame):
    """Return the rows in an order that does not depend on the engine."""
    rows = frame.to_pylist() if isinstance(frame, pa.Table) else [row.asDict(recursive=True) for row in frame.collect()]
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in rows)


def main():
    data = TABLE
    if sys.argv[1:] == ["spark"]:
        from executors.jobs import session

        spark = session()
        data = spark.createDataFrame(TABLE)
    found = {name: rows_of(frame) for name, frame in results(data)}
    sys.stdout.write(json.dumps({"found": found, "numba": "numba" in sys.modules, "from": et.__file__}) + "\n")


if __name__ == "__main__":
    main()
