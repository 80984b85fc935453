"""Every error that a statement with MATCH_RECOGNIZE can raise for its own text, each with a statement that raises it."""

from __future__ import annotations

from tools.support.model import Refusal, over_ticks

_ORDERED = "ORDER BY ts MEASURES COUNT(*) AS n"


def _pattern(pattern: str) -> str:
    return over_ticks(f"{_ORDERED} PATTERN ({pattern})")


def _measured(measures: str) -> str:
    return over_ticks(f"ORDER BY ts MEASURES {measures} PATTERN (A B+)")


def _defined(define: str) -> str:
    return over_ticks(f"{_ORDERED} PATTERN (A B+) DEFINE {define}")


def _skipped(target: str) -> str:
    return over_ticks(f"{_ORDERED} AFTER MATCH SKIP {target} PATTERN (A B? C)")


_MANY = [f"V{number}" for number in range(63)]
_MANY_CONDITIONS = ", ".join(f"{name} AS price > {number}" for number, name in enumerate(_MANY))

_STATEMENT = (
    Refusal("EMPTY_QUERY", "a text without a statement", "-- nothing", "write a query"),
    Refusal("NOT_A_QUERY", "a statement that is not a query", "DELETE FROM ticks", "begin with SELECT or WITH"),
    Refusal("SEVERAL_STATEMENTS", "several statements", "SELECT 1 AS a; SELECT 2 AS b", "give each to a call of its own"),
    Refusal("BAD_QUERY", "SQL around the clause that cannot be read", "SELECT * FROM ticks WHERE", "write Spark SQL"),
    Refusal("QUERY_TOO_DEEP", "brackets nested too deeply", _pattern("(" * 70 + "A" + ")" * 70), "use fewer brackets"),
    Refusal("UNBALANCED_PARENTHESIS", "a bracket without its other half", "SELECT (1 AS a", "add or remove it"),
    Refusal("UNTERMINATED_STRING", "a string or quoted name that is not closed", "SELECT 'a", "close it"),
    Refusal("UNTERMINATED_COMMENT", "a comment that is not closed", "SELECT 1 AS a /* b", "add */"),
    Refusal(
        "BAD_MATCH_INPUT",
        "MATCH_RECOGNIZE after something that is not a table",
        "SELECT * FROM MATCH_RECOGNIZE (PATTERN (A))",
        "put it behind a table or a query in parentheses",
    ),
    Refusal("UNKNOWN_TABLE", "a table that was not given", "SELECT * FROM tocks", "give it by name: et.sql(text, tocks=data)"),
    Refusal(
        "AMBIGUOUS_COLUMN",
        "on Spark, an input with two columns of one name",
        "SELECT * FROM (SELECT *, 1 AS price FROM ticks) MATCH_RECOGNIZE (ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A))",
        "rename one in a sub-query",
        on_spark=True,
    ),
    Refusal(
        "VARIABLE_OUTSIDE_CLAUSE",
        "a pattern variable in the query around the clause",
        "SELECT A.price FROM ticks MATCH_RECOGNIZE (ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A)) AS m",
        "make a measure of it",
    ),
)

_CLAUSES = (
    Refusal("MISSING_CLAUSE", "no PATTERN", over_ticks(_ORDERED), "add PATTERN"),
    Refusal("DUPLICATE_CLAUSE", "a clause twice", over_ticks(f"{_ORDERED} PATTERN (A) PATTERN (B)"), "keep one"),
    Refusal(
        "CLAUSE_ORDER",
        "clauses in another order than the standard's",
        over_ticks("PATTERN (A) ORDER BY ts"),
        "PARTITION BY, ORDER BY, MEASURES, rows per match, AFTER MATCH SKIP, PATTERN, WITHIN, SUBSET, DEFINE",
    ),
    Refusal(
        "UNKNOWN_CLAUSE",
        "a misspelt or foreign clause",
        _defined("B AS price > 3").replace("DEFINE", "DEFIN"),
        "the hint names one",
    ),
    Refusal("UNSUPPORTED_CLAUSE", "SEEK, which belongs to R020", over_ticks(f"{_ORDERED} SEEK PATTERN (A)"), "remove it"),
    Refusal("UNEXPECTED_TOKEN", "a word or sign that cannot stand there", _pattern("A, B"), "the hint says what can"),
    Refusal("UNEXPECTED_END", "an item that is missing", over_ticks("PARTITION BY symbol, PATTERN (A)"), "complete the list"),
    Refusal(
        "MATCH_RECOGNIZE_PARTITION_BY_MUST_BE_COLUMN",
        "an expression in PARTITION BY",
        over_ticks("PARTITION BY UPPER(symbol) PATTERN (A)"),
        "compute it in a sub-query",
    ),
    Refusal(
        "ORDER_BY_MUST_BE_COLUMN",
        "an expression in ORDER BY",
        over_ticks("ORDER BY price * 2 PATTERN (A)"),
        "compute it in a sub-query",
    ),
    Refusal("UNKNOWN_COLUMN", "a column that the input does not have", _measured("A.prise AS p"), "the hint names one"),
    Refusal(
        "BAD_ROWS_PER_MATCH",
        "rows per match that do not exist",
        over_ticks("ORDER BY ts ALL ROWS PER MATCH SHOW ALL PATTERN (A)"),
        "see the features above",
    ),
    Refusal("BAD_SKIP", "AFTER MATCH SKIP that cannot be read", _skipped("PAST NEXT ROW"), "see the features above"),
    Refusal(
        "MATCH_RECOGNIZE_SKIP_TO_FIRST_ROW",
        "a skip to the first row of the match, at run time",
        _skipped("TO A"),
        "skip to another variable or TO NEXT ROW",
    ),
    Refusal(
        "MATCH_RECOGNIZE_SKIP_TO_MISSING_ROW",
        "a skip to a variable that has no row in the match, at run time",
        over_ticks(f"{_ORDERED} AFTER MATCH SKIP TO B PATTERN (A B? C) DEFINE B AS price > 100"),
        "skip to a variable that every match has",
    ),
    Refusal(
        "BAD_WINDOW",
        "WITHIN without a duration",
        over_ticks(f"{_ORDERED} PATTERN (A) WITHIN 5 EVENTS"),
        "WITHIN INTERVAL '5' MINUTE",
    ),
    Refusal(
        "WITHIN_NEEDS_TIME",
        "WITHIN over an order that does not begin with an ascending time",
        over_ticks("ORDER BY id MEASURES COUNT(*) AS n PATTERN (A) WITHIN 5 MINUTES"),
        "order by a timestamp or date first",
    ),
    Refusal("NO_COLUMNS", "a result without columns", over_ticks("ORDER BY ts PATTERN (A)"), "add MEASURES"),
    Refusal(
        "DUPLICATE_COLUMN",
        "a measure with the name of another column",
        over_ticks("PARTITION BY symbol MEASURES COUNT(*) AS symbol PATTERN (A)"),
        "rename it",
    ),
)

_PATTERNS = (
    Refusal("BAD_QUANTIFIER", "a quantifier without a part, doubled, or with wrong bounds", _pattern("A{3,2}"), "{2,3}"),
    Refusal("EMPTY_ALTERNATIVE", "a side of | without a pattern", _pattern("A |"), "write () for no row"),
    Refusal(
        "MATCH_RECOGNIZE_PERMUTE_TOO_FEW_PATTERNS", "a part of PERMUTE that is missing", _pattern("PERMUTE(A, )"), "PERMUTE(A, B)"
    ),
    Refusal(
        "MATCH_RECOGNIZE_PERMUTE_TOO_MANY_PATTERNS",
        "PERMUTE of more than 6 parts",
        _pattern("PERMUTE(A, B, C, D, E, F, G)"),
        "permute fewer parts, or use (A | B)+ with counts in DEFINE",
    ),
    Refusal("PATTERN_TOO_LARGE", "bounds that make the pattern too large", _pattern("A{20001}"), "+ with a count in DEFINE"),
    Refusal(
        "DUPLICATE_VARIABLE",
        "a subset with the name of a variable",
        over_ticks(f"{_ORDERED} PATTERN (A B) SUBSET A = (A, B)"),
        "rename it",
    ),
    Refusal("DUPLICATE_SUBSET", "a subset twice", over_ticks(f"{_ORDERED} PATTERN (A B) SUBSET U = (A), U = (B)"), "rename one"),
    Refusal("UNKNOWN_VARIABLE", "a variable that is not in PATTERN", _defined("C AS price > 3"), "the hint names one"),
    Refusal(
        "EXCLUSION_WITH_UNMATCHED_ROWS",
        "{- -} together with WITH UNMATCHED ROWS",
        over_ticks("ORDER BY ts ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A {- B -})"),
        "SHOW EMPTY MATCHES, or filter by CLASSIFIER()",
    ),
)

_EXPRESSIONS = (
    Refusal(
        "MATCH_RECOGNIZE_EMPTY_MEASURES", "MEASURES without a measure", over_ticks("MEASURES PATTERN (A)"), "add one or remove it"
    ),
    Refusal("MATCH_RECOGNIZE_MEASURES_MUST_BE_ALIASED", "a measure without a name", _measured("COUNT(*)"), "add AS name"),
    Refusal("DUPLICATE_MEASURE", "two measures of one name", _measured("A.id AS x, B.id AS x"), "rename one"),
    Refusal(
        "MATCH_RECOGNIZE_DUPLICATE_PATTERN_VARIABLE",
        "a variable defined twice",
        _defined("B AS price > 3, B AS price < 9"),
        "join with AND",
    ),
    Refusal(
        "SUBSET_DEFINED",
        "a condition for a subset",
        over_ticks(f"{_ORDERED} PATTERN (A B) SUBSET U = (A, B) DEFINE U AS price > 3"),
        "define its members",
    ),
    Refusal(
        "BAD_EXPRESSION",
        "an expression that cannot be read, a sub-query, FILTER behind an aggregate",
        _measured("A.price + AS x"),
        "write Spark SQL",
    ),
    Refusal("CONDITION_NOT_BOOLEAN", "a condition that is not true or false", _defined("B AS price + 1"), "compare it"),
    Refusal("TYPE_MISMATCH", "values of types that do not fit together", _measured("SUM(A.note) AS x"), "convert one of them"),
    Refusal(
        "UNSUPPORTED_EXPRESSION",
        "functions that make several rows",
        _measured("EXPLODE(ARRAY(A.price)) AS x"),
        "put it around the clause",
    ),
    Refusal(
        "MATCH_RECOGNIZE_UNSUPPORTED_WINDOW_FUNCTION",
        "a window function",
        _measured("SUM(A.price) OVER (ORDER BY A.id) AS x"),
        "use FIRST, LAST, PREV, NEXT or an aggregate",
    ),
    Refusal(
        "UNSUPPORTED_AGGREGATE",
        "other aggregates than COUNT, SUM, AVG, MIN, MAX; aggregates of CLASSIFIER",
        _measured("STDDEV(A.price) AS x"),
        "ALL ROWS PER MATCH and GROUP BY around it",
    ),
    Refusal(
        "MATCH_RECOGNIZE_AGGREGATE_DISTINCT",
        "DISTINCT in an aggregate",
        _measured("COUNT(DISTINCT A.price) AS x"),
        "ALL ROWS PER MATCH and GROUP BY around it",
    ),
    Refusal(
        "MATCH_RECOGNIZE_AGGREGATE_MIXED_QUALIFIERS",
        "an aggregate over several variables",
        _measured("SUM(A.price + B.price) AS x"),
        "use a SUBSET, or two aggregates",
    ),
    Refusal(
        "SEVERAL_VARIABLES",
        "FIRST, LAST, PREV or NEXT over several variables",
        _measured("LAST(A.price + B.price) AS x"),
        "LAST(A.price) + LAST(B.price)",
    ),
    Refusal(
        "NESTED_NAVIGATION",
        "other nesting than PREV or NEXT of FIRST or LAST",
        _measured("FIRST(LAST(A.price)) AS x"),
        "PREV(LAST(A.price, 1))",
    ),
    Refusal(
        "BAD_OFFSET", "an offset that is not 0 or a whole number above", _measured("LAST(A.price, -1) AS x"), "LAST(A.price, 1)"
    ),
    Refusal(
        "BAD_ARGUMENT",
        "arguments that a function of row patterns does not take",
        _measured("MATCH_NUMBER(1) AS x"),
        "the hint shows it",
    ),
    Refusal("VARIABLE_WITHOUT_COLUMN", "a variable where a value is needed", _measured("A AS x"), "A.price, or COUNT(A.*)"),
    Refusal("FINAL_IN_DEFINE", "FINAL in DEFINE", _defined("B AS FINAL LAST(B.price) > 3"), "leave it out"),
    Refusal(
        "MATCH_RECOGNIZE_NONDETERMINISTIC_DEFINE",
        "functions with another value each time in DEFINE",
        _defined("B AS RAND() > 0.5"),
        "compute a column in the input",
    ),
    Refusal(
        "OPAQUE_CONDITION",
        "functions in DEFINE that mix rows of the match so far",
        _defined("B AS CONCAT(A.note, B.note) = 'ab'"),
        "compare, add and count values; apply other functions to one row",
    ),
    Refusal(
        "UNSUPPORTED_VALUE",
        "conditions on the match so far that read lists, structs or long decimals",
        "SELECT * FROM (SELECT *, ARRAY(price) AS list FROM ticks) "
        "MATCH_RECOGNIZE (ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A B) "
        "DEFINE B AS B.list = A.list)",
        "convert the value",
    ),
    Refusal(
        "TOO_MANY_CONDITIONS",
        "more than 62 different conditions",
        over_ticks(f"{_ORDERED} PATTERN ({' '.join(_MANY)}) DEFINE {_MANY_CONDITIONS}"),
        "use fewer variables",
    ),
)

_RUNS = (
    Refusal(
        "TOO_MANY_MATCHES",
        "more matches than max_matches, at run time",
        _pattern("A"),
        "raise max_matches, narrow the pattern",
        (("max_matches", 3),),
    ),
    Refusal(
        "TOO_MANY_STEPS",
        "more steps of the search than max_steps, at run time",
        "WITH n AS (SELECT a.id FROM ticks a, ticks b, ticks c, ticks d) SELECT * FROM n "
        "MATCH_RECOGNIZE (ORDER BY id MEASURES COUNT(*) AS n "
        "PATTERN (A+ B+ C) DEFINE C AS C.id > COUNT(A.*) + 1000000)",
        "compare neighbouring rows, add WITHIN, raise max_steps",
        (("max_steps", 0),),
    ),
    Refusal(
        "TOO_MUCH_MEMORY",
        "more memory for the rows of matches than max_memory, at run time",
        _pattern("A"),
        "raise max_memory, narrow the pattern",
        (("max_memory", 1),),
    ),
    Refusal(
        "SUM_OVERFLOW",
        "a SUM that is too large for 64 bits, at run time",
        "SELECT * FROM (SELECT *, 9223372036854775807 AS big FROM ticks) "
        "MATCH_RECOGNIZE (ORDER BY ts MEASURES SUM(A.big) AS n PATTERN (A+))",
        "sum a double",
    ),
)

_STREAMS = (
    Refusal(
        "STATEMENT_ON_STREAM",
        "in `open`, a statement whose parts around the clause look at several rows",
        f"SELECT COUNT(*) AS n FROM ({_pattern('A B')})",
        "do that with what comes out, or run it on Spark",
        opened=True,
    ),
    Refusal(
        "STREAM_NEEDS_TIME",
        "on a stream, ORDER BY that does not begin with a time",
        over_ticks("ORDER BY id MEASURES COUNT(*) AS n PATTERN (A B)"),
        "order by the event time first",
        on_stream=True,
    ),
    Refusal("END_ANCHOR_ON_STREAM", "on a stream, `$`", _pattern("A B $"), "leave it out", on_stream=True),
    Refusal(
        "NEIGHBOURS_ON_STREAM",
        "on a stream, conditions that only a window over a table computes",
        _defined("B AS B.price / PREV(B.price) > 2"),
        "multiply instead of dividing, compute functions of one row in the input",
        on_stream=True,
    ),
    Refusal(
        "UNSUPPORTED_ORDER",
        "on a stream, ORDER BY of lists and structs",
        "SELECT * FROM (SELECT *, ARRAY(price) AS list FROM ticks) "
        "MATCH_RECOGNIZE (ORDER BY ts, list MEASURES COUNT(*) AS n PATTERN (A B))",
        "order by a number, text or time",
        on_stream=True,
    ),
    Refusal(
        "ORDER_WITHOUT_TIME",
        "on a stream, ordered output without WITHIN or with NEXT",
        _pattern("A B"),
        'add WITHIN, or use output="final"',
        on_stream=True,
        settings=(("output", "ordered"),),
    ),
    Refusal(
        "DROP_NOT_SOUND",
        'on a stream, overflow="drop_oldest"',
        _pattern("A B"),
        'use overflow="error"',
        on_stream=True,
        settings=(("overflow", "drop_oldest"),),
    ),
    Refusal(
        "ONLY_ON_TABLES",
        "on a stream, max_matches",
        _pattern("A B"),
        "cap the state with max_state",
        (("max_matches", 3),),
        on_stream=True,
    ),
)

REFUSALS: tuple[Refusal, ...] = (*_STATEMENT, *_CLAUSES, *_PATTERNS, *_EXPRESSIONS, *_RUNS, *_STREAMS)
