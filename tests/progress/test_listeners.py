"""The listeners beside a real streaming query that observes the metrics of a match."""

from __future__ import annotations

import io
import re
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as et
from eventide.errors import EventideError

MOMENT = 1704188700


@pytest.fixture
def numbers(tmp_path):
    target = tmp_path / "numbers.parquet"
    pq.write_table(pa.table({"n": range(100)}), target)
    return str(target)


def observed(spark, numbers, repeat=1):
    """Return 100 rows in batches of 40 with the metrics of a match: every tenth row one, every fiftieth late."""
    from pyspark.sql import functions as f

    n = f.col("n")
    return et.replay(spark, numbers, rows_per_batch=40, repeat=repeat).observe(
        "eventide",
        f.count("n").alias("events"),
        f.sum(f.when(n % 50 == 0, 1).otherwise(0)).alias("late"),
        f.sum(f.when(n % 10 == 0, 1).otherwise(0)).alias("matches"),
        f.lit(0).alias("timeouts"),
        f.lit(0).alias("expired"),
        f.lit(0).alias("dropped"),
        f.max("n").alias("partial"),
        f.min("n").alias("held"),
        (f.count("n") * 100).alias("state_bytes"),
        f.timestamp_seconds(f.max("n") + MOMENT).alias("watermark"),
    )


def run(spark, frame, checkpoint, name, *listeners):
    for listener in listeners:
        spark.streams.addListener(listener)
    try:
        writer = frame.writeStream.format("noop").queryName(name).option("checkpointLocation", str(checkpoint))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination(120)
        # Reports come on a thread of their own, a little behind the query.
        for listener in listeners:
            wait_until(lambda listener=listener: ended(listener, str(query.id)))
        return query
    finally:
        for listener in listeners:
            spark.streams.removeListener(listener)


def ended(listener, query_id):
    return query_id in listener._ended if isinstance(listener, et.PrometheusExporter) else query_id not in listener._tallies


def wait_until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def fetched(exporter):
    with urlopen(exporter.url, timeout=10) as answer:
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        return answer.read().decode()


def sample(text, name):
    return re.search(rf"^{name}{{[^}}]*}} (\S+)$", text, re.MULTILINE)[1]


def test_the_exporter_serves_the_totals_of_a_query(spark, numbers, tmp_path):
    with et.PrometheusExporter(port=0) as exporter:
        query = run(spark, observed(spark, numbers), tmp_path / "checkpoint", 'the "tenth"', exporter)
        text = fetched(exporter)
    assert f'eventide_matches_total{{query="the \\"tenth\\"",id="{query.id}"}} 10\n' in text
    assert "# TYPE eventide_matches_total counter\n" in text
    assert sample(text, "eventide_events_total") == "100"
    assert sample(text, "eventide_late_events_total") == "2"
    assert sample(text, "eventide_batches_total") == "3"
    assert sample(text, "eventide_held_events") == "80"
    assert sample(text, "eventide_state_bytes") == "2000"
    assert float(sample(text, "eventide_watermark_timestamp_seconds")) == MOMENT + 99
    assert sample(text, "eventide_query_active") == "0"


def test_the_counters_go_on_over_a_restart_of_the_query(spark, numbers, tmp_path):
    with et.PrometheusExporter(port=0) as exporter:
        run(spark, observed(spark, numbers), tmp_path / "checkpoint", "again", exporter)
        run(spark, observed(spark, numbers, repeat=2), tmp_path / "checkpoint", "again", exporter)
        text = fetched(exporter)
    assert sample(text, "eventide_events_total") == "200"
    assert text.count("eventide_events_total{") == 1


def test_the_printer_writes_a_line_for_every_batch(spark, numbers, tmp_path):
    file = io.StringIO()
    run(spark, observed(spark, numbers), tmp_path / "checkpoint", "tenth", et.ProgressPrinter(file))
    lines = file.getvalue().splitlines()
    assert len(lines) == 3
    assert re.match(r"tenth  batch 1 +40 events +4 matches +1 late  watermark 2024-01-02 09:46:19.000  40 held, 79 partial, state 4.0 kB", lines[1])


def test_a_query_without_metrics_is_told_by_its_rows(spark, numbers, tmp_path):
    file = io.StringIO()
    with et.PrometheusExporter(port=0) as exporter:
        run(spark, et.replay(spark, numbers), tmp_path / "checkpoint", "plain", et.ProgressPrinter(file), exporter)
        text = fetched(exporter)
    assert re.match(r"plain  batch 0 +100 events  in ", file.getvalue())
    assert sample(text, "eventide_input_rows_total") == "100"
    assert "eventide_held_events" not in text


def test_there_is_nothing_but_the_metrics():
    with et.PrometheusExporter(port=0) as exporter:
        assert fetched(exporter) == ""
        with pytest.raises(HTTPError, match="404"):
            urlopen(exporter.url + "2", timeout=10)
        with urlopen(exporter.url.removesuffix("metrics"), timeout=10) as answer:
            assert b"/metrics" in answer.read()
        with urlopen(Request(exporter.url, method="HEAD"), timeout=10) as answer:
            assert answer.read() == b""


def test_a_port_that_is_taken_is_an_error_with_a_hint():
    with et.PrometheusExporter(port=0) as exporter, pytest.raises(EventideError, match="port=0 takes a free one") as refused:
        et.PrometheusExporter(port=exporter.port)
    assert refused.value.condition == "PORT_NOT_FREE"


def test_a_closed_exporter_answers_no_more_and_can_be_closed_again():
    exporter = et.PrometheusExporter(port=0)
    exporter.close()
    exporter.close()
    with pytest.raises(OSError, match="refused"):
        urlopen(exporter.url, timeout=5)
    et.PrometheusExporter(port=exporter.port).close()
