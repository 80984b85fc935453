"""Matches that leave in batches, as they are found."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import eventide as et
from eventide.cli import app
from harness.limited import outcomes

EVENTS = pa.table({"ts": range(600), "kind": ["A", "B"] * 300, "id": range(600)})
PAIRS = "SELECT a.id AS a, b.id + 1 AS b WHERE A AS a ; B AS b"


def given() -> et.Events:
    return et.events(EVENTS, time="ts", type="kind")


@pytest.mark.parametrize(
    "text", [PAIRS, "SELECT * WHERE A AS a ; B AS b", f"{PAIRS} LIMIT 7", "SELECT COUNT(*) AS n WHERE A ; B GROUP BY PARTITION"]
)
def test_batches_hold_the_same_rows_in_the_same_order(text) -> None:
    query = et.query(text)
    reader = query.match(given(), batches=True)
    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.schema == query.match(given()).schema
    assert reader.read_all().to_pylist() == query.match(given()).to_pylist()


def test_nothing_is_searched_before_it_is_read() -> None:
    reader = et.query(PAIRS).match(given(), batches=True, max_matches=10)
    with pytest.raises(et.LimitError, match="TOO_MANY_MATCHES"):
        reader.read_next_batch()


def test_a_reader_that_is_left_ends_the_search() -> None:
    reader = et.query(PAIRS).match(given(), batches=True)
    assert reader.read_next_batch().num_rows
    reader.close()
    assert et.query(PAIRS).count(given())["matches"].to_pylist() == [str(300 * 301 // 2)]


def test_more_rows_than_the_memory_allows_can_be_read_in_batches() -> None:
    script = """
text = "SELECT a.ts AS at, a.amount AS first, b.amount AS second WHERE Pay AS a ; Pay AS b WITHIN 1 hour"
limit_memory(300 << 20)
outcome(lambda: et.query(text).match(payments(4000), max_memory="100 MB"))
outcome(lambda: sum(batch.num_rows for batch in et.query(text).match(payments(4000), max_memory="100 MB", batches=True)))
"""
    (refused, _), (found, _) = outcomes(script, seconds=120)
    assert refused.startswith("[TOO_MUCH_MEMORY]")
    assert found == sum(4001 - seconds for seconds in range(1, 3601))


def test_the_command_line_writes_as_it_finds(tmp_path) -> None:
    pq.write_table(EVENTS, tmp_path / "events.parquet")
    place = tmp_path / "pairs.json"
    asked = ["run", PAIRS, "--data", str(tmp_path / "events.parquet"), "--time", "ts", "--type", "kind", "-o", str(place)]
    told = CliRunner().invoke(app, asked)
    assert told.exit_code == 0, told.output
    assert [json.loads(line) for line in place.read_text().splitlines()] == et.query(PAIRS).match(given()).to_pylist()


def test_the_command_line_leaves_no_half_of_a_file(tmp_path) -> None:
    pq.write_table(EVENTS, tmp_path / "events.parquet")
    place = tmp_path / "pairs.parquet"
    asked = ["run", PAIRS, "--data", str(tmp_path / "events.parquet"), "--time", "ts", "--type", "kind", "-o", str(place)]
    told = CliRunner().invoke(app, [*asked, "--max-matches", "10"])
    assert told.exit_code == 4
    assert not place.exists()
