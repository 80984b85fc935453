"""What one engine refuses, the other refuses with the same words, before anything runs."""

from __future__ import annotations

import pyarrow as pa
import pytest

import eventide as et

TABLE = pa.table({"ts": [1, 2], "kind": ["A", "B"], "k": [[1], [1]], "x": [[1, 2], [3]]})
FRAME = "ts BIGINT, kind STRING, k ARRAY<INT>, x ARRAY<INT>"
QUERIES = {
    "SELECT MIN(b.x) AS low WHERE A ; B AS b": "MIN of b reads values",
    "SELECT SUM(b.x) AS low WHERE A ; B AS b": "SUM of b reads values",
    "SELECT * WHERE A ; B PARTITION BY k": "PARTITION BY cannot use k: it holds several values",
    "SELECT MIN(b.x) AS low WHERE A ; B AS b GROUP BY END": "MIN",
}
CLAUSES = {
    "MEASURES MIN(B.x) AS low PATTERN (A B)": "MIN cannot compare `x`, which holds several values",
    "PARTITION BY k ORDER BY ts MEASURES B.ts AS t PATTERN (A B)": "PARTITION BY cannot use k: it holds several values",
}


def clause_sql(clause: str) -> str:
    ordered = clause if "ORDER BY" in clause else f"ORDER BY ts {clause}"
    return f"SELECT * FROM input MATCH_RECOGNIZE ({ordered} DEFINE A AS A.kind = 'A', B AS B.kind = 'B')"


def refused(run) -> str:
    with pytest.raises(et.BindError) as error:
        run()
    assert error.value.condition == "TYPE_MISMATCH"
    return error.value.message


@pytest.mark.parametrize(("text", "message"), QUERIES.items())
@pytest.mark.parametrize("call", ["match", "output_schema", "check"])
def test_a_query_is_refused_embedded(text, message, call):
    events = et.events(TABLE, time="ts", type="kind")
    assert message in refused(lambda: getattr(et.query(text), call)(events))


@pytest.mark.parametrize(("clause", "message"), CLAUSES.items())
def test_a_clause_is_refused_embedded(clause, message):
    assert message in refused(lambda: et.sql(clause_sql(clause), input=TABLE))
    assert message in refused(lambda: et.statement(clause_sql(clause)).output_schema(input=TABLE))


@pytest.mark.filterwarnings("ignore::eventide.EventideWarning")
def test_spark_refuses_the_same_before_anything_runs(spark):
    frame = spark.createDataFrame([(1, "A", [1], [1, 2])], FRAME)
    events = et.events(frame, time="ts", type="kind")
    for text, message in QUERIES.items():
        for call in ("match", "output_schema", "check"):
            assert message in refused(lambda text=text, call=call: getattr(et.query(text), call)(events))
    for clause, message in CLAUSES.items():
        assert message in refused(lambda clause=clause: et.sql(clause_sql(clause), input=frame))
