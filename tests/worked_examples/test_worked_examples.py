"""The worked examples through both runtimes and both matchers."""

from __future__ import annotations

import warnings

import pyarrow as pa
import pytest

import eventide as et
from worked_examples.cases import EXAMPLES, Example


def table_of(example: Example) -> pa.Table:
    names = example.events.split()
    columns = {"name": names, "kind": [name[0].upper() for name in names], "ts": [int(name[1:]) for name in names]}
    return pa.table({**columns, **example.attributes, "seq": list(range(len(names)))})


def supports(rows: list[dict]) -> list[str]:
    found = []
    for row in rows:
        events = {event["seq"]: event["name"] for value in row.values() if isinstance(value, list) for event in value}
        found.append(" ".join(events[key] for key in sorted(events)))
    return sorted(found)


def check(example: Example, rows: list[dict]) -> None:
    found = supports(rows)
    if example.expected is not None:
        assert found == sorted(example.expected)
    if example.count is not None:
        assert len(found) == example.count
    assert set(example.at_least) <= set(found)
    assert not set(example.never) & set(found)


@pytest.mark.parametrize("matcher", [None, "runs"])
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_comes_out_embedded(example, matcher):
    events = et.events(table_of(example), time="ts", type="kind", tie_break="seq", time_unit=example.time_unit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", et.EventideWarning)
        check(example, et.query(example.query).match(events, matcher=matcher).to_pylist())


@pytest.mark.filterwarnings("ignore:count enumerates every match:eventide.EventideWarning")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_number_of_matches_comes_out_by_counting(example):
    if example.count is None and example.expected is None:
        pytest.skip("the example lists some matches only")
    events = et.events(table_of(example), time="ts", type="kind", tie_break="seq", time_unit=example.time_unit)
    counted = et.query(example.query).count(events)["matches"].to_pylist()
    assert sum(map(int, counted)) == (example.count if example.count is not None else len(example.expected or ()))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_comes_out_on_spark(spark, example):
    frame = spark.createDataFrame(table_of(example).to_pandas())
    events = et.events(frame, time="ts", type="kind", tie_break="seq", time_unit=example.time_unit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", et.EventideWarning)
        found = et.query(example.query).match(events).collect()
    check(example, [row.asDict(recursive=True) for row in found])
