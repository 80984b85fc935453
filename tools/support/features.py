"""The features of MATCH_RECOGNIZE, clause by clause, with what peers say about theirs.

What peers have is taken from their public documentation and tests as of late 2026; NOT_STATED where these do not say. Oracle is
the reference for R010, so what its documentation does not restrict is AS_STANDARD.
"""

from __future__ import annotations

from tools.support.model import Feature, Ours, over_ticks

NOT_STATED = "n/s"
AS_STANDARD = "as R010"
_YES, _PARTLY, _NO = Ours.YES, Ours.PARTLY, Ours.NO
_UNKNOWN = (NOT_STATED, NOT_STATED, NOT_STATED, NOT_STATED, NOT_STATED)
_ONLY_STANDARD = (NOT_STATED, NOT_STATED, NOT_STATED, AS_STANDARD, NOT_STATED)
_ALL_ROWS = ("yes", "no", "yes", AS_STANDARD, "yes")
_VALUES = "VALUES (1, 5.0), (2, 6.0) AS v(i, p)"
_OVER_VALUES = f"SELECT * FROM {_VALUES} MATCH_RECOGNIZE (ORDER BY i MEASURES COUNT(*) AS n PATTERN (A+)) AS m"


def _measured(measures: str, rest: str = "PATTERN (A B+) DEFINE B AS B.price > PREV(B.price)") -> str:
    return over_ticks(f"PARTITION BY symbol ORDER BY ts MEASURES {measures} {rest}")


def _pattern(pattern: str, define: str = "") -> str:
    return over_ticks(f"PARTITION BY symbol ORDER BY ts MEASURES COUNT(*) AS n PATTERN ({pattern}) {define}")


def _defined(condition: str) -> str:
    return _pattern("A B+", f"DEFINE B AS {condition}")


def _rows(mode: str, pattern: str = "A B+") -> str:
    return _measured("CLASSIFIER() AS v", f"{mode} PATTERN ({pattern}) DEFINE B AS price > PREV(price)")


def _skip(target: str) -> str:
    return _measured("A.id AS first", f"AFTER MATCH SKIP {target} PATTERN (A B+) DEFINE B AS price < 10")


_AROUND = "around the clause"

FEATURES: tuple[Feature, ...] = (
    Feature(_AROUND, "over a table, with an alias", _YES, _pattern("A+"), ("yes", "yes", "yes", AS_STANDARD, "yes")),
    Feature(
        _AROUND,
        "over a sub-query",
        _YES,
        "SELECT * FROM (SELECT * FROM ticks WHERE price > 4) "
        "MATCH_RECOGNIZE (ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A+)) AS m",
        _UNKNOWN,
    ),
    Feature(_AROUND, "over inline VALUES with a column list", _YES, _OVER_VALUES, _UNKNOWN),
    Feature(
        _AROUND,
        "in a CTE, several times, joined",
        _YES,
        "WITH r AS (SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A+))) "
        "SELECT r.n, m.top FROM r JOIN ticks "
        "MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES MAX(price) AS top PATTERN (A+)) AS m "
        "ON r.symbol = m.symbol ORDER BY m.top",
        _UNKNOWN,
    ),
    Feature(
        _AROUND,
        "in sub-queries of WHERE and SELECT",
        _YES,
        "SELECT id FROM ticks WHERE id IN "
        "(SELECT x FROM ticks MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(A.id) AS x PATTERN (A{3})))",
        _UNKNOWN,
    ),
    Feature(
        _AROUND,
        "over another MATCH_RECOGNIZE",
        _YES,
        "SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(ts) AS ts PATTERN (A{2})) "
        "MATCH_RECOGNIZE (ORDER BY ts MEASURES COUNT(*) AS n PATTERN (B+)) AS m",
        _UNKNOWN,
    ),
    Feature(
        _AROUND,
        "over a stream",
        _YES,
        over_ticks("PARTITION BY symbol ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A B+) DEFINE B AS B.price < PREV(B.price)"),
        ("no", "yes", "no", NOT_STATED, NOT_STATED),
        note="in the order of event time; matches come out when no row to come can change them",
    ),
    Feature(
        _AROUND,
        "row patterns in a WINDOW clause (feature R020)",
        _NO,
        "",
        ("yes", "no", "no", NOT_STATED, "no"),
        "SELECT id, COUNT(*) OVER w FROM ticks "
        "WINDOW w AS (ORDER BY ts ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A+))",
        "BAD_QUERY",
    ),
    Feature(
        _AROUND,
        "INITIAL and SEEK",
        _PARTLY,
        over_ticks("ORDER BY ts MEASURES COUNT(*) AS n INITIAL PATTERN (A+)"),
        _UNKNOWN,
        over_ticks("ORDER BY ts MEASURES COUNT(*) AS n SEEK PATTERN (A+)"),
        "UNSUPPORTED_CLAUSE",
        "both belong to R020; INITIAL is what is done anyway",
    ),
    Feature("PARTITION BY", "columns", _YES, _pattern("A+"), ("yes", "yes", "yes", AS_STANDARD, "yes")),
    Feature("PARTITION BY", "left out", _YES, over_ticks("ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A+)"), _UNKNOWN),
    Feature(
        "PARTITION BY",
        "expressions",
        _NO,
        "",
        (NOT_STATED, NOT_STATED, "yes", NOT_STATED, "no"),
        over_ticks("PARTITION BY UPPER(symbol) ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A+)"),
        "MATCH_RECOGNIZE_PARTITION_BY_MUST_BE_COLUMN",
        "not in R010",
    ),
    Feature(
        "ORDER BY",
        "any number of columns of any type",
        _YES,
        over_ticks("ORDER BY symbol, price MEASURES COUNT(*) AS n PATTERN (A+)"),
        ("yes", "time first", "yes", AS_STANDARD, "yes"),
    ),
    Feature(
        "ORDER BY",
        "ASC, DESC, NULLS FIRST, NULLS LAST",
        _YES,
        over_ticks("ORDER BY volume DESC NULLS LAST, ts ASC NULLS FIRST MEASURES COUNT(*) AS n PATTERN (A+)"),
        (NOT_STATED, "no DESC first", NOT_STATED, AS_STANDARD, NOT_STATED),
    ),
    Feature(
        "ORDER BY",
        "left out",
        _YES,
        over_ticks("MEASURES COUNT(*) AS n PATTERN (A+)"),
        ("yes", "no", NOT_STATED, NOT_STATED, NOT_STATED),
        note="with a warning: rows are taken as they come",
    ),
    Feature(
        "ORDER BY",
        "expressions",
        _NO,
        "",
        _UNKNOWN,
        over_ticks("ORDER BY price * 2 MEASURES COUNT(*) AS n PATTERN (A+)"),
        "ORDER_BY_MUST_BE_COLUMN",
        "not in R010",
    ),
    Feature("MEASURES", "`FIRST(A.x)`, `LAST(A.x)`", _YES, _measured("FIRST(B.price) AS f, LAST(B.price) AS l"), _ONLY_STANDARD),
    Feature(
        "MEASURES",
        "`FIRST(A.x, n)`, `LAST(A.x, n)`",
        _YES,
        _measured("FIRST(B.price, 1) AS f, LAST(B.price, 1) AS l"),
        (NOT_STATED, "yes", NOT_STATED, AS_STANDARD, NOT_STATED),
    ),
    Feature(
        "MEASURES",
        "`PREV(A.x, n)`, `NEXT(A.x, n)`",
        _YES,
        _measured("PREV(A.price) AS p, NEXT(B.price, 2) AS n"),
        ("yes", "no", "yes", AS_STANDARD, "yes"),
    ),
    Feature(
        "MEASURES",
        "`PREV(FIRST(A.x, n), m)` and its like",
        _YES,
        _measured("PREV(FIRST(B.price, 1), 2) AS p, NEXT(LAST(B.price)) AS n"),
        ("yes", "no", NOT_STATED, AS_STANDARD, NOT_STATED),
    ),
    Feature(
        "MEASURES",
        "`RUNNING` and `FINAL`",
        _YES,
        _measured("RUNNING LAST(B.price) AS r, FINAL COUNT(*) AS f"),
        ("yes", "FINAL only", "yes", AS_STANDARD, NOT_STATED),
    ),
    Feature(
        "MEASURES",
        "`CLASSIFIER()`, `MATCH_NUMBER()`",
        _YES,
        _measured("CLASSIFIER() AS c, MATCH_NUMBER() AS n"),
        ("yes", "no", "yes", "yes", NOT_STATED),
    ),
    Feature(
        "MEASURES",
        "`CLASSIFIER(U)`",
        _YES,
        _measured("CLASSIFIER(U) AS c", "PATTERN (A B+) SUBSET U = (A, B)"),
        (NOT_STATED, "no", NOT_STATED, NOT_STATED, NOT_STATED),
    ),
    Feature(
        "MEASURES",
        "`CLASSIFIER()` inside FIRST, LAST, PREV, NEXT",
        _YES,
        _measured("FIRST(CLASSIFIER()) AS f, PREV(LAST(CLASSIFIER())) AS p"),
        (NOT_STATED, "no", NOT_STATED, "no", NOT_STATED),
    ),
    Feature(
        "MEASURES",
        "COUNT, SUM, AVG, MIN, MAX, also of expressions",
        _YES,
        _measured("COUNT(B.volume) AS c, SUM(B.price * 2) AS s, AVG(price) AS a, MIN(B.note) AS l, MAX(B.ts) AS h"),
        ("yes", "yes", "yes", AS_STANDARD, "yes"),
    ),
    Feature("MEASURES", "`COUNT(*)`, `COUNT(A.*)`", _YES, _measured("COUNT(*) AS n, COUNT(B.*) AS b"), _ONLY_STANDARD),
    Feature(
        "MEASURES",
        "aggregates over a SUBSET",
        _YES,
        _measured("SUM(U.price) AS s", "PATTERN (A B+) SUBSET U = (A, B)"),
        ("yes", "no", "no", AS_STANDARD, "no"),
    ),
    Feature(
        "MEASURES",
        "other aggregates",
        _NO,
        "",
        (NOT_STATED, NOT_STATED, NOT_STATED, NOT_STATED, "no"),
        _measured("STDDEV(B.price) AS s"),
        "UNSUPPORTED_AGGREGATE",
    ),
    Feature(
        "MEASURES",
        "aggregates with DISTINCT",
        _NO,
        "",
        ("not in DEFINE", "no", NOT_STATED, NOT_STATED, "no"),
        _measured("COUNT(DISTINCT B.price) AS n"),
        "MATCH_RECOGNIZE_AGGREGATE_DISTINCT",
    ),
    Feature(
        "MEASURES",
        "aggregates with FILTER",
        _NO,
        "",
        ("not in DEFINE", NOT_STATED, NOT_STATED, NOT_STATED, NOT_STATED),
        _measured("SUM(B.price) FILTER (WHERE B.price > 3) AS n"),
        "BAD_EXPRESSION",
        "use CASE inside the aggregate",
    ),
    Feature(
        "MEASURES",
        "aggregates of CLASSIFIER and MATCH_NUMBER",
        _NO,
        "",
        (NOT_STATED, "no", NOT_STATED, "no", NOT_STATED),
        _measured("MAX(CLASSIFIER()) AS n"),
        "UNSUPPORTED_AGGREGATE",
    ),
    Feature(
        "MEASURES",
        "any scalar function of Spark SQL",
        _YES,
        _measured("ROUND(AVG(B.price), 2) AS a, UPPER(CONCAT(A.note, LAST(B.note))) AS t, COALESCE(LAST(B.volume), 0) AS v"),
        ("no lambda, TRY", "no Python", NOT_STATED, NOT_STATED, NOT_STATED),
        note="embedded, those that DuckDB has too",
    ),
    Feature("rows per match", "`ONE ROW PER MATCH`", _YES, _rows("ONE ROW PER MATCH"), ("yes", "yes", "yes", AS_STANDARD, "yes")),
    Feature("rows per match", "`ALL ROWS PER MATCH`", _YES, _rows("ALL ROWS PER MATCH"), _ALL_ROWS),
    Feature(
        "rows per match",
        "`SHOW EMPTY MATCHES`",
        _YES,
        _rows("ALL ROWS PER MATCH SHOW EMPTY MATCHES", "B*"),
        ("yes", "no", "yes", AS_STANDARD, "no effect"),
    ),
    Feature(
        "rows per match",
        "`OMIT EMPTY MATCHES`",
        _YES,
        _rows("ALL ROWS PER MATCH OMIT EMPTY MATCHES", "B*"),
        ("yes", "no", "yes", AS_STANDARD, NOT_STATED),
    ),
    Feature(
        "rows per match",
        "`WITH UNMATCHED ROWS`",
        _YES,
        _rows("ALL ROWS PER MATCH WITH UNMATCHED ROWS"),
        ("yes", "no", "yes", AS_STANDARD, NOT_STATED),
    ),
    Feature(
        "rows per match",
        "columns in the standard's order: partition, order, measures, the others",
        _YES,
        _rows("ALL ROWS PER MATCH"),
        _UNKNOWN,
    ),
    Feature("AFTER MATCH SKIP", "`PAST LAST ROW`", _YES, _skip("PAST LAST ROW"), ("yes", "yes", "yes", AS_STANDARD, "yes")),
    Feature("AFTER MATCH SKIP", "left out: PAST LAST ROW", _YES, _pattern("A B"), ("yes", "NEXT ROW", "yes", "yes", "yes")),
    Feature("AFTER MATCH SKIP", "`TO NEXT ROW`", _YES, _skip("TO NEXT ROW"), ("yes", "yes", "yes", AS_STANDARD, "no")),
    Feature("AFTER MATCH SKIP", "`TO FIRST v`, `TO LAST v`", _YES, _skip("TO LAST B"), ("yes", "yes", "yes", AS_STANDARD, "no")),
    Feature("AFTER MATCH SKIP", "`TO v` is TO LAST v", _YES, _skip("TO B"), ("yes", NOT_STATED, NOT_STATED, AS_STANDARD, "no")),
    Feature(
        "AFTER MATCH SKIP",
        "error when it leads to no row or to the first row of the match",
        _YES,
        _skip("TO FIRST B"),
        ("yes", "yes", NOT_STATED, "yes", NOT_STATED),
        _skip("TO A"),
        "MATCH_RECOGNIZE_SKIP_TO_FIRST_ROW",
    ),
    Feature(
        "PATTERN",
        "preferment: the first match in the standard's order",
        _YES,
        _pattern("(A | A B)+? C", "DEFINE C AS price > 8"),
        _ONLY_STANDARD,
    ),
    Feature("PATTERN", "concatenation", _YES, _pattern("A B C"), ("yes", "yes", "yes", AS_STANDARD, "yes")),
    Feature(
        "PATTERN",
        "grouping with a quantifier, alternation",
        _YES,
        _pattern("(A | B C)+ D?", "DEFINE A AS price > 8"),
        ("yes", "no", "yes", AS_STANDARD, "yes"),
    ),
    Feature("PATTERN", "`* + ? {n} {n,} {,m} {n,m}`", _YES, _pattern("A? B{1} C{1,} D{,2} E{0,3} F* G+"), _ONLY_STANDARD),
    Feature("PATTERN", "a greedy quantifier at the end", _YES, _pattern("A B+"), ("yes", "no", "yes", AS_STANDARD, "yes")),
    Feature(
        "PATTERN",
        "reluctant quantifiers `*? +? ?? {n,m}?`",
        _YES,
        _pattern("A*? B+? C?? D{1,2}?"),
        ("yes", "no `??`", "yes", AS_STANDARD, "not documented"),
    ),
    Feature(
        "PATTERN",
        "`PERMUTE(A, B, C)`",
        _YES,
        _pattern("PERMUTE(A, B, C)", "DEFINE A AS price < 8"),
        ("yes", "no", "yes", AS_STANDARD, "yes"),
        note="up to 6 parts",
    ),
    Feature(
        "PATTERN", "exclusion `{- A -}`", _YES, _rows("ALL ROWS PER MATCH", "A {- B -}+"), ("yes", "no", "yes", AS_STANDARD, "no")
    ),
    Feature(
        "PATTERN",
        "anchors `^` and `$`, anywhere",
        _YES,
        _pattern("^ A B* $ | C"),
        ("yes", "no", "yes", AS_STANDARD, "outermost only"),
    ),
    Feature(
        "PATTERN", "the empty pattern `()`", _YES, _pattern("() | A"), (NOT_STATED, "no", NOT_STATED, AS_STANDARD, NOT_STATED)
    ),
    Feature(
        "PATTERN",
        "empty matches, numbered",
        _YES,
        _measured("MATCH_NUMBER() AS n", "PATTERN (A*) DEFINE A AS price > 8"),
        ("yes", "no", "yes", AS_STANDARD, "no effect"),
    ),
    Feature(
        "WITHIN",
        "`WITHIN INTERVAL '2' MINUTE`, `WITHIN 2 MINUTES`",
        _YES,
        over_ticks("ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A+) WITHIN INTERVAL '2' MINUTE"),
        ("no", "yes", "no", NOT_STATED, "no"),
        note="not in R010",
    ),
    Feature(
        "SUBSET",
        "`SUBSET U = (A, B)`",
        _YES,
        _measured("LAST(U.price) AS p", "PATTERN (A B+) SUBSET U = (A, B) DEFINE B AS price > 7"),
        ("yes", "no", "no", AS_STANDARD, "no"),
    ),
    Feature(
        "DEFINE", "variables without a condition take every row", _YES, _pattern("A B", "DEFINE B AS price > 3"), _ONLY_STANDARD
    ),
    Feature(
        "DEFINE",
        "`PREV` and `NEXT`",
        _YES,
        _defined("price > PREV(price) AND NEXT(price) > 3"),
        ("yes", "no", "yes", AS_STANDARD, "yes"),
    ),
    Feature(
        "DEFINE",
        "references to other variables and to subsets",
        _YES,
        _pattern("A B+", "SUBSET U = (A, B) DEFINE B AS price > A.price - 5 AND price < FIRST(U.price) + 5"),
        _ONLY_STANDARD,
    ),
    Feature(
        "DEFINE",
        "aggregates over the match so far",
        _YES,
        _defined("SUM(B.price) < 30 AND COUNT(*) < 4"),
        ("yes", "yes", NOT_STATED, AS_STANDARD, "no"),
    ),
    Feature(
        "DEFINE",
        "`CLASSIFIER()`, `MATCH_NUMBER()`",
        _YES,
        _defined("LAST(CLASSIFIER(), 1) = 'A' AND MATCH_NUMBER() < 3"),
        ("yes", "no", NOT_STATED, "no", NOT_STATED),
    ),
    Feature(
        "DEFINE",
        "any scalar function, of one row and its neighbours",
        _YES,
        _defined("note RLIKE '[a-z]' AND ABS(price - PREV(price)) < 100"),
        ("no lambda, TRY", "no Python", NOT_STATED, NOT_STATED, NOT_STATED),
    ),
    Feature(
        "DEFINE",
        "functions that mix rows of the match so far",
        _PARTLY,
        _defined("ABS(price - A.price) < 100 AND COALESCE(A.volume, 0) + B.volume > 1"),
        _UNKNOWN,
        _defined("CONCAT(A.note, B.note) = 'ab'"),
        "OPAQUE_CONDITION",
        "arithmetic, comparison, CASE and the like; not every function",
    ),
    Feature(
        "DEFINE",
        "sub-queries",
        _NO,
        "",
        (NOT_STATED, NOT_STATED, NOT_STATED, "not correlated", NOT_STATED),
        _defined("price > (SELECT AVG(price) FROM ticks)"),
        "BAD_EXPRESSION",
        "join the value to the input",
    ),
)
