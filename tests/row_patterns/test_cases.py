"""Every case of `cases/` through the oracle, the embedded engine and Spark."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from functools import reduce

import pytest

import eventide as et
from eventide.errors import EventideError, EventideWarning
from eventide.language.sql.match_recognize import parse_match_recognize
from eventide_reference import recognize
from row_patterns.reading import CASES, all_cases, bag, read_file, rows_of

FOUND = all_cases()
ANSWERED = [case for case in FOUND if case.error is None]
REFUSED = [case for case in FOUND if case.error is not None]


def quiet(text, **tables):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EventideWarning)  # cases may leave out ORDER BY and PARTITION BY
        return et.sql(text, **tables)


def values(table):
    return [tuple(row.values()) for row in table.to_pylist()]


def by_oracle(case):
    query = parse_match_recognize(case.body, 0, case.body)
    return recognize(query, case.inputs, case.table.column_names)


@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case.name)
def test_a_case_comes_out_of_the_oracle(case):
    try:
        columns, rows = by_oracle(case)
    except NotImplementedError as missing:
        pytest.skip(str(missing))
    assert tuple(columns) == case.columns
    assert rows_of(rows) == rows_of(case.rows)


@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case.name)
def test_a_case_comes_out_embedded(case):
    found = quiet(case.sql, t=case.table)
    assert tuple(found.column_names) == case.columns
    assert bag(values(found)) == bag(case.rows)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_a_refused_case_fails_alike_in_the_oracle_and_embedded(case):
    with pytest.raises(EventideError) as caught:
        quiet(case.sql, t=case.table)
    assert caught.value.condition == case.error
    with pytest.raises(EventideError) as caught:
        by_oracle(case)
    assert caught.value.condition == case.error


@pytest.mark.parametrize("path", sorted(CASES.glob("*.txt")), ids=lambda path: path.stem)
def test_the_cases_of_a_file_come_out_on_spark(spark, path):
    cases = [case for case in read_file(path) if case.error is None]
    columns, found = in_one_job([quiet(case.sql, t=spark.createDataFrame(case.table)) for case in cases])
    wrong = {
        case.name: (names, rows)
        for case, names, rows in zip(cases, columns, found, strict=True)
        if names != case.columns or bag(rows) != bag(map(as_json, case.rows))
    }
    assert wrong == {}


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_a_refused_case_fails_on_spark(spark, case):
    result = quiet(case.sql, t=spark.createDataFrame(case.table))
    with pytest.raises(Exception, match=case.error):
        result.collect()


def in_one_job(frames):
    """The columns and the rows of several DataFrames; rows come as JSON, so that one job brings them all."""
    from pyspark.sql import functions as sf

    options = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd HH:mm:ss"}
    lines = [
        frame.select(sf.lit(number).alias("number"), sf.to_json(sf.struct(*map(sf.col, frame.columns)), options).alias("line"))
        for number, frame in enumerate(frames)
    ]
    collected = reduce(lambda one, other: one.unionAll(other), lines).collect()
    rows = [[tuple(json.loads(line).values()) for number, line in collected if number == wanted] for wanted in range(len(frames))]
    return [tuple(frame.columns) for frame in frames], rows


def as_json(row):
    return tuple(value if value is None or isinstance(value, bool | int | float | str) else str(value) for value in row)


def test_there_are_cases_enough_and_no_name_twice():
    assert len(FOUND) >= 90
    assert [name for name, times in Counter(case.name for case in FOUND).items() if times > 1] == []
