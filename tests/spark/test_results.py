"""Results over all matches on Spark: as on Arrow data, and on streams refused where these never know them."""

from __future__ import annotations

import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import BindError

TABLE = pa.table(
    {
        "ts": range(120),
        "kind": ["A", *["B"] * 118, "C"],
        "k": [number % 3 for number in range(120)],
        "x": [(37 * number) % 11 for number in range(120)],
    }
)
QUERIES = (
    "SELECT k, COUNT(*) AS n, SUM(b.x) AS s, MAX(b.x) AS top WHERE B AS a ; B+ AS b PARTITION BY k GROUP BY PARTITION",
    "SELECT match_end, COUNT(*) AS n, AVG(b.x) AS mean WHERE A ; B+ AS b FILTER b.x <= NEXT(b.x) WITHIN 30 GROUP BY END",
    "SELECT SUM(b.x) AS s WHERE B AS a ; B+ AS b PARTITION BY k WITHIN 20 ORDER BY SUM(b.x) - a.x DESC LIMIT 4",
    "SELECT k, SUM(b.x) AS s, COUNT(b) AS n WHERE B ; B+ AS b PARTITION BY k SAMPLE 5 SEED 3",
    "SELECT k, SUM(b.x) AS s WHERE B AS a ; B+ AS b FILTER b.x <= NEXT(b.x) PARTITION BY k ORDER BY SUM(b.x) - a.x DESC LIMIT 3",
    "SELECT k, SUM(b.x) AS s, COUNT(b) AS n WHERE B+ AS b FILTER b.x <= NEXT(b.x) PARTITION BY k SAMPLE 7 SEED 3",
    "SELECT k, a.x AS first, SUM(b.x) AS s WHERE B AS a ; B+ AS b FILTER b.x >= a.x PARTITION BY k WITHIN 60 SAMPLE 5 SEED 3",
)


@pytest.mark.parametrize("text", QUERIES)
def test_spark_and_the_embedded_engine_agree(spark, text):
    local = et.query(text).match(et.events(TABLE, time="ts", type="kind")).to_pylist()
    frame = spark.createDataFrame(TABLE.to_pandas())
    on_spark = [row.asDict() for row in et.query(text).match(et.events(frame, time="ts", type="kind")).collect()]
    assert sorted(map(repr, on_spark)) == sorted(map(repr, local))


def test_streams_refuse_what_they_never_know(spark):
    stream = spark.readStream.format("rate").load().selectExpr("timestamp AS ts", "'A' AS kind", "value AS x")
    events = et.events(stream, time="ts", type="kind")
    with pytest.raises(BindError, match="RESULTS_ON_STREAM"):
        et.query("SELECT COUNT(*) AS n WHERE A AS a GROUP BY PARTITION").match(events)
    with pytest.raises(BindError, match="RESULTS_ON_STREAM"):
        et.query("SELECT COUNT(*) AS n WHERE A AS a GROUP BY END").match(events, output="early")
    for clause in ("ORDER BY a.x LIMIT 3", "SAMPLE 3"):
        with pytest.raises(BindError, match="RESULTS_ON_STREAM"):
            et.query(f"SELECT a.x WHERE A AS a {clause}").match(events)
