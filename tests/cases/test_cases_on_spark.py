"""The cases of the files in this folder on Spark: the tables of a file in one job, the first cases of each file as streams."""

from __future__ import annotations

import json
from functools import reduce

import pytest

from eventide.errors import EventideError
from harness.case_files import CASES, LANGUAGES, files, read_file
from harness.comparison import bag
from harness.spark_ways import FAR
from harness.stream_ways import REFUSALS
from harness.tight_places import pieces
from harness.written_row_patterns import case_of as clause_of
from harness.written_sequences import Rows, case_of
from spark.streaming import FileStream, Sink

QUICK = {"05_conditions", "10_results", "01_sase"}
QUICK_CLAUSES = {"02_navigation", "04_patterns", "05_rows_per_match"}
STREAMED = CASES / "ceql" / "04_not.txt"
"""The file whose cases are run as streams by every developer; CI runs them all."""
STREAMS = 3
"""How many cases of a file are streams: each is a job of its own, and all of them run on the buckets without Spark."""
JSON = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd HH:mm:ss"}


def in_one(frames):
    """One frame with the rows of several, each with the number of its frame, as JSON."""
    from pyspark.sql import functions as sf

    lines = [
        frame.select(sf.lit(number).alias("number"), sf.to_json(sf.struct(*map(sf.col, frame.columns)), JSON).alias("line"))
        for number, frame in enumerate(frames)
    ]
    return reduce(lambda one, other: one.unionAll(other), lines)


def rows_of(collected, number):
    return Rows(json.loads(line) for of_frame, line in collected if of_frame == number)


def as_json(row):
    return tuple(value if value is None or isinstance(value, bool | int | float | str) else str(value) for value in row)


def marked(paths, quick):
    return [path if path.stem in quick else pytest.param(path, marks=pytest.mark.ci) for path in paths]


# Tables --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", marked(files("match_recognize"), QUICK_CLAUSES), ids=lambda path: path.stem)
def test_the_clauses_of_a_file_come_out_on_spark(spark, path):
    cases = [clause_of(written) for written in read_file(path) if written.error is None]
    frames = [case.ask(spark.createDataFrame) for case in cases]
    collected = in_one(frames).collect()
    wrong = {}
    for number, (case, frame) in enumerate(zip(cases, frames, strict=True)):
        columns, rows = case.written.result_table()
        found = bag(row.values() for row in rows_of(collected, number))
        if tuple(frame.columns) != columns or found != bag(map(as_json, rows)):
            wrong[case.written.name] = (frame.columns, found)
    assert wrong == {}


REFUSED = [written for path in files("match_recognize") for written in read_file(path) if written.error is not None]


@pytest.mark.parametrize("written", REFUSED, ids=lambda written: written.name)
def test_a_clause_that_fails_fails_on_spark(spark, written):
    result = clause_of(written).ask(spark.createDataFrame)
    with pytest.raises(Exception, match=written.error):
        result.collect()


SEQUENCES = [path for language in LANGUAGES if language != "match_recognize" for path in files(language)]


@pytest.mark.parametrize("path", marked(SEQUENCES, QUICK), ids=lambda path: path.stem)
def test_the_queries_of_a_file_come_out_on_spark(spark, path):
    cases = [case_of(written) for written in read_file(path) if written.error is None]
    # Without it every query would be counted first, in a job of its own.
    collected = in_one([case.ask(spark.createDataFrame, distribution="plain") for case in cases]).collect()
    assert differences(cases, collected) == {}


def differences(cases, collected):
    outcomes = {case.written.name: case.expected.disagreement(rows_of(collected, number)) for number, case in enumerate(cases)}
    return {name: wrong for name, wrong in outcomes.items() if wrong is not None}


# Streams -------------------------------------------------------------------------------------------------------------


def stream_of(spark, folder, case):
    """A stream of a case: its events one by one, then one that ends the time of every stream."""
    blank = dict.fromkeys(case.written.table.column_names)
    ends = [{**blank, "event": "end", "type": "END", "time": FAR, "stream": name} for name in case.names]
    batches = [case.tables(rows) for rows in (*pieces(case.rows, (2, 1)), ends)]
    streams = iter([
        FileStream(spark, folder / name, table.schema).add(*(batch[name] for batch in batches))
        for name, table in batches[0].items()
    ])  # fmt: skip
    lateness = f"{case.lateness} seconds" if case.trial.timestamps else case.lateness
    return case.ask(lambda _: next(streams).frame(), lateness=lateness, buckets=1)


@pytest.mark.parametrize("path", marked(SEQUENCES, {STREAMED.stem}), ids=lambda path: path.stem)
def test_the_queries_of_a_file_come_out_of_streams_on_spark(spark, tmp_path, path):
    done = 0
    for number, written in enumerate(read_file(path)):
        if written.error is not None or done == STREAMS:
            continue
        case, folder = case_of(written), tmp_path / str(number)
        try:
            frame = stream_of(spark, folder, case)
        except EventideError as refusal:
            assert refusal.condition in REFUSALS  # noqa: PT017
            continue
        found = Sink(spark, folder / "sink").run(frame).frame().toArrow()
        assert case.expected.disagreement(found) is None, written.name
        done += 1
    assert done
