"""The SQL around the clause: where it may stand, and what names mean there. Every query runs embedded and on Spark."""

from __future__ import annotations

import warnings
from datetime import date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import BindError, EventideWarning
from harness.comparison import bag

TICKS = pa.table(
    {
        "sym": ["a", "a", "a", "a", "b", "b", "b"],
        "t": [1, 2, 3, 4, 1, 2, 3],
        "price": [10, 8, 9, 12, 5, 4, 6],
    }
)
NAMES = pa.table({"sym": ["a", "b", "c"], "full name": ["Acme", "Bolt", "Core"]})
RISE = """MATCH_RECOGNIZE (
    PARTITION BY sym ORDER BY t
    MEASURES FIRST(t) AS since, LAST(UP.price) AS high
    PATTERN (LOW UP+) DEFINE UP AS price > PREV(price)
)"""
# The rises: a from 2 to 12, b from 2 to 6.

QUERIES = {
    "over a table": (f"SELECT * FROM ticks {RISE}", [("a", 2, 12), ("b", 2, 6)]),
    "with an alias": (f"SELECT m.high, m.sym FROM ticks {RISE} AS m", [(12, "a"), (6, "b")]),
    "with an alias without AS": (f"SELECT m.high FROM ticks {RISE} m WHERE m.since = 2 AND m.sym = 'a'", [(12,)]),
    "with a column list": (f"SELECT s, h + f FROM ticks {RISE} AS m (s, f, h)", [("a", 14), ("b", 8)]),
    "over an aliased table": (f"SELECT high FROM ticks AS x {RISE} AS m", [(12,), (6,)]),
    "over a sub-query": (f"SELECT * FROM (SELECT * FROM ticks WHERE sym <> 'b') {RISE}", [("a", 2, 12)]),
    "over an aliased sub-query": (f"SELECT * FROM (SELECT sym, t, -price AS price FROM ticks) AS q {RISE}",
                                  [("a", 1, -8), ("b", 1, -4)]),
    "over values": (
        """SELECT * FROM (VALUES (1, 'x'), (2, 'y'), (3, 'x')) AS v (i, k) MATCH_RECOGNIZE (
            ORDER BY i MEASURES A.i AS a, B.k AS k PATTERN (A B) DEFINE A AS k = 'y')""",
        [(2, "x")],
    ),
    "over range": (
        "SELECT * FROM range(5) MATCH_RECOGNIZE (ORDER BY id MEASURES FIRST(id) AS f, LAST(id) AS l PATTERN (A B))",
        [(0, 1), (2, 3)],
    ),
    "in a CTE": (f"WITH r AS (SELECT * FROM ticks {RISE}) SELECT MAX(high), COUNT(*) FROM r", [(12, 2)]),
    "over a CTE": (f"WITH a AS (SELECT * FROM ticks WHERE sym = 'a') SELECT * FROM a {RISE}", [("a", 2, 12)]),
    "a CTE that uses a CTE with a clause": (
        f"WITH r AS (SELECT * FROM ticks {RISE}), big AS (SELECT sym FROM r WHERE high > 10) SELECT * FROM big",
        [("a",)],
    ),
    "a CTE over a CTE with a clause": (
        f"""WITH r AS (SELECT * FROM ticks {RISE}),
            pairs AS (SELECT * FROM r MATCH_RECOGNIZE (ORDER BY sym MEASURES A.sym AS one, B.sym AS two PATTERN (A B)))
            SELECT one, two FROM pairs""",
        [("a", "b")],
    ),
    "nested WITH": (
        f"SELECT * FROM (WITH b AS (SELECT * FROM ticks WHERE sym = 'b') SELECT * FROM b {RISE}) AS inner_query",
        [("b", 2, 6)],
    ),
    "a nested WITH that hides an outer one": (
        f"""WITH q AS (SELECT * FROM ticks WHERE sym = 'a')
            SELECT sym FROM (WITH q AS (SELECT * FROM ticks WHERE sym = 'b') SELECT * FROM q {RISE}) AS i
            UNION ALL SELECT sym FROM q {RISE}""",
        [("a",), ("b",)],
    ),
    "a CTE hides a given table": (
        f"WITH ticks AS (SELECT 'z' AS sym, t, price FROM other) SELECT * FROM ticks {RISE}",
        [("z", 2, 12)],
    ),
    "several in one query": (
        f"SELECT x.sym AS one, y.sym AS two FROM ticks {RISE} AS x, ticks {RISE} AS y WHERE x.high < y.high",
        [("b", "a")],
    ),
    "joined": (
        f"SELECT n.`full name`, m.high FROM ticks {RISE} AS m JOIN names AS n ON n.sym = m.sym",
        [("Acme", 12), ("Bolt", 6)],
    ),
    "left joined": (
        f"SELECT n.sym, m.high FROM names AS n LEFT JOIN ticks {RISE} AS m USING (sym)",
        [("a", 12), ("b", 6), ("c", None)],
    ),
    "in IN": (f"SELECT sym FROM names WHERE sym IN (SELECT sym FROM ticks {RISE} WHERE high > 10)", [("a",)]),
    "in NOT EXISTS": (
        f"SELECT n.sym FROM names AS n WHERE NOT EXISTS (SELECT 1 FROM ticks {RISE} AS m WHERE m.sym = n.sym)",
        [("c",)],
    ),
    "in a scalar sub-query": (f"SELECT (SELECT MAX(high) FROM ticks {RISE}) + 1 AS h", [(13,)]),
    "in UNION": (
        f"SELECT sym FROM ticks {RISE} UNION ALL SELECT sym FROM names UNION SELECT sym FROM ticks {RISE} AS m",
        [("a",), ("b",), ("c",)],
    ),
    "over another": (
        f"""SELECT * FROM ticks {RISE} MATCH_RECOGNIZE (
            ORDER BY sym MEASURES SUM(high) AS total, COUNT(*) AS n PATTERN (A+))""",
        [(18, 2)],
    ),
    "over a sub-query with another": (
        f"""SELECT total FROM (SELECT sym AS s, high FROM ticks {RISE}) AS i MATCH_RECOGNIZE (
            ORDER BY s DESC MEASURES FIRST(s) AS f, SUM(high) AS total PATTERN (A+)) AS o""",
        [(18,)],
    ),
    "grouped, filtered, ordered": (
        f"SELECT since, COUNT(*) AS n, SUM(high) AS h FROM ticks {RISE} GROUP BY since HAVING COUNT(*) > 1 ORDER BY n LIMIT 1",
        [(2, 2, 18)],
    ),
    "in a window function": (f"SELECT sym, ROW_NUMBER() OVER (ORDER BY high) AS r FROM ticks {RISE}", [("a", 2), ("b", 1)]),
    "names in any case": (f"SELECT M.HIGH FROM TICKS {RISE.upper().replace('RISE', 'rise')} AS m WHERE SYM = 'b'", [(6,)]),
    "without a clause": ("SELECT sym FROM names WHERE sym > 'a'", [("b",), ("c",)]),
    "quoted names with blanks": (
        """SELECT `the total` FROM names MATCH_RECOGNIZE (
            ORDER BY `full name` MEASURES LAST(`My Var`.`full name`) AS `the total` PATTERN (`My Var`+)) AS `m m`""",
        [("Core",)],
    ),
    "braces and quotes in literals": (
        """SELECT '{x} {0} }{', "it's" AS q, MATCH_RECOGNIZED.k FROM (SELECT '{y}' AS k, 1 AS i) MATCH_RECOGNIZE (
            ORDER BY i MEASURES A.k AS k, '{{' AS b PATTERN (A) DEFINE A AS k = '{y}') AS MATCH_RECOGNIZED WHERE b = '{{'""",
        [("{x} {0} }{", "it's", "{y}")],
    ),
    "the word in a literal and in a comment": (
        f"SELECT 'MATCH_RECOGNIZE (PATTERN (A))' AS s /* MATCH_RECOGNIZE ( */ FROM ticks {RISE} -- MATCH_RECOGNIZE (",
        [("MATCH_RECOGNIZE (PATTERN (A))",)] * 2,
    ),
}  # fmt: skip


def run(text, **tables):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EventideWarning)
        return et.sql(text, **tables)


def embedded(text, **tables):
    return bag(tuple(row.values()) for row in run(text, **tables).to_pylist())


@pytest.fixture(scope="module")
def frames(spark):
    return {name: spark.createDataFrame(table) for name, table in {"ticks": TICKS, "names": NAMES, "other": TICKS_OF_A}.items()}


TICKS_OF_A = TICKS.slice(0, 4)


@pytest.mark.parametrize(("text", "expected"), QUERIES.values(), ids=QUERIES)
def test_the_clause_stands_where_a_table_may_embedded(text, expected):
    assert embedded(text, ticks=TICKS, names=NAMES, other=TICKS_OF_A) == bag(expected)


@pytest.mark.parametrize(("text", "expected"), QUERIES.values(), ids=QUERIES)
def test_the_clause_stands_where_a_table_may_on_spark(spark, frames, text, expected):
    assert bag(run(text, spark=spark, **frames).collect()) == bag(expected)


TYPED = pa.table(
    {
        "i": pa.array([1, 2, 3], pa.int32()),
        "s": pa.array([{"f": 1, "g": {"h": "x"}}, {"f": 2, "g": {"h": "y"}}, None]),
        "l": pa.array([[1, 2], [7], None], pa.list_(pa.int64())),
        "d": pa.array([Decimal("1.50"), Decimal("2.25"), None], pa.decimal128(10, 2)),
        "at": pa.array(["2026-01-01 10:00:00", "2026-01-01 11:00:00", None]).cast(pa.timestamp("us")),
        "day": pa.array([date(2026, 1, 1), None, date(2026, 1, 3)]),
        "ok": pa.array([True, None, False]),
        "x": pa.array([1.5, float("nan"), None], pa.float64()),
        "small": pa.array([1, 2, 3], pa.int16()),
        "single": pa.array([0.5, 1.5, 2.5], pa.float32()),
    }
)
TEN = datetime(2026, 1, 1, 10)  # noqa: DTZ001 - times of day without a zone
VALUES = {
    "A.s": {"f": 1, "g": {"h": "x"}},
    "A.s.f": 1,
    "FIRST(A.s.g.h)": "x",
    "A.l": [1, 2],
    "A.l[0]": 1,
    "size(FIRST(A.l))": 2,
    "A.d": Decimal("1.50"),
    "A.d + A.d": Decimal("3.00"),
    "SUM(A.d)": Decimal("1.50"),
    "A.at": TEN,
    "FIRST(A.at) + INTERVAL 1 HOUR": TEN + timedelta(hours=1),
    "A.day": date(2026, 1, 1),
    "A.ok": True,
    "A.x": 1.5,
    "MAX(x)": 1.5,
    "A.small": 1,
    "MAX(A.small)": 1,
    "SUM(A.small)": 1,
    "A.single": 0.5,
    "SUM(A.single)": 0.5,
    "AVG(A.i)": 1.0,
    "NEXT(A.ok)": None,
    "PREV(A.d)": None,
    "COUNT(*)": 1,
    "CLASSIFIER()": "A",
    "MATCH_NUMBER()": 1,
    "CASE WHEN A.ok THEN 'it is {ok}' END": "it is {ok}",
}
ALL_VALUES = f"""SELECT * FROM typed MATCH_RECOGNIZE (
    ORDER BY i MEASURES {", ".join(f"{text} AS m{number}" for number, text in enumerate(VALUES))}
    PATTERN (A) DEFINE A AS A.s.f = 1 AND A.d < 2.0 AND A.ok)"""


def test_values_of_every_type_come_out_embedded():
    (row,) = run(ALL_VALUES, typed=TYPED).to_pylist()
    assert dict(zip(VALUES, row.values(), strict=True)) == VALUES


def test_values_of_every_type_come_out_on_spark(spark):
    (row,) = run(ALL_VALUES, typed=spark.createDataFrame(TYPED)).collect()
    assert dict(zip(VALUES, row.asDict(recursive=True).values(), strict=True)) == VALUES


def test_types_are_the_same_embedded_and_on_spark(spark):
    from pyspark.sql.pandas.types import to_arrow_type

    def simple(kind):
        return str(kind).replace("[us, tz=UTC]", "[us]").replace("element: ", "l: ").replace(" not null", "")

    here = run(ALL_VALUES, typed=TYPED).schema
    there = run(ALL_VALUES, typed=spark.createDataFrame(TYPED)).schema
    kinds = {text: simple(to_arrow_type(field.dataType, timezone="UTC")) for text, field in zip(VALUES, there, strict=True)}
    assert kinds.pop("size(FIRST(A.l))") == "int32"  # a bigint in DuckDB
    embedded_kinds = {text: simple(field.type) for text, field in zip(VALUES, here, strict=True)}
    assert {text: embedded_kinds[text] for text in kinds} == kinds


IN_A_JOIN = f"SELECT n.sym FROM names n JOIN ticks t ON n.sym = t.sym AND t.price = (SELECT MAX(high) FROM ticks {RISE} m)"


def test_a_clause_stands_in_the_condition_of_a_join_embedded():
    assert embedded(IN_A_JOIN, ticks=TICKS, names=NAMES) == bag([("a",)])


def test_spark_takes_no_clause_in_the_condition_of_a_join(spark, frames):
    # Spark refuses such sub-queries because it takes the numbering of rows for random; in WHERE they are fine.
    with pytest.raises(BindError):
        run(IN_A_JOIN, spark=spark, **frames)
    in_where = IN_A_JOIN.replace(" AND t.price", " WHERE t.price")
    assert bag(run(in_where, spark=spark, **frames).collect()) == bag([("a",)])


def test_a_temporary_view_of_the_catalog_is_found(spark, frames):
    frames["ticks"].createOrReplaceTempView("catalog_ticks")
    try:
        assert bag(run(f"SELECT * FROM catalog_ticks {RISE}", spark=spark).collect()) == bag([("a", 2, 12), ("b", 2, 6)])
        given_first = run(f"SELECT sym FROM catalog_ticks {RISE}", spark=spark, catalog_ticks=frames["other"])
        assert bag(given_first.collect()) == bag([("a",)])
    finally:
        spark.catalog.dropTempView("catalog_ticks")


def test_no_view_is_left_in_the_catalog(spark, frames):
    before = [table.name for table in spark.catalog.listTables()]
    run(f"SELECT * FROM ticks {RISE} AS m JOIN names USING (sym)", **frames).collect()
    assert [table.name for table in spark.catalog.listTables()] == before


def test_arrow_tables_go_to_spark_when_a_session_is_given(spark):
    assert bag(run(f"SELECT * FROM ticks {RISE}", spark=spark, ticks=TICKS).collect()) == bag([("a", 2, 12), ("b", 2, 6)])


def test_a_spark_result_is_lazy_and_knows_its_schema(spark):
    from pyspark.sql import functions as sf

    failing = spark.range(3).select("id", sf.raise_error(sf.lit("was run")).cast("int").alias("v"))
    text = """SELECT f, n + 1 AS more FROM failing MATCH_RECOGNIZE (
        ORDER BY id MEASURES FIRST(v) AS f, COUNT(*) AS n PATTERN (A+) DEFINE A AS v > 0 AND COUNT(A.*) < 5)"""
    result = run(text, failing=failing)
    assert [(field.name, field.dataType.simpleString()) for field in result.schema] == [("f", "int"), ("more", "bigint")]
    with pytest.raises(Exception, match="was run"):
        result.collect()


def test_a_spark_result_can_be_used_further(spark, frames):
    result = run(f"SELECT * FROM ticks {RISE} AS m", **frames)
    assert result.where("high > 10").join(frames["names"], "sym").select("full name").collect() == [("Acme",)]


WRONG = {
    "an unknown column": f"SELECT nothing FROM ticks {RISE} AS m",
    "a column of the input that the clause does not give": f"SELECT price FROM ticks {RISE} AS m",
    "a pattern variable outside": f"SELECT * FROM ticks {RISE} AS m WHERE UP.price > 3",
    "an unknown function": f"SELECT frobnicate(high) FROM ticks {RISE} AS m",
    "an unknown table": f"SELECT * FROM ticks {RISE} AS m JOIN nowhere ON true",
    "too many names in the column list": f"SELECT * FROM ticks {RISE} AS m (a, b, c, d)",
    "an unknown column in the sub-query below": f"SELECT * FROM (SELECT nothing FROM ticks) {RISE}",
    "grouping forgotten": f"SELECT sym, MAX(high) FROM ticks {RISE} AS m",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_mistakes_around_the_clause_are_our_errors_embedded(text):
    with pytest.raises(BindError) as caught:
        run(text, ticks=TICKS)
    assert caught.value.hint


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_mistakes_around_the_clause_are_our_errors_on_spark(spark, frames, text):
    with pytest.raises(BindError) as caught:
        run(text, spark=spark, **frames)
    assert caught.value.hint
    assert "JVM" not in str(caught.value)
