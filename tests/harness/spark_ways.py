"""The ways to run a case on Spark: as a table, as a table in slices, and as a stream of files."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from harness.kinds.row_patterns.kind import RowPatternCase
from harness.kinds.row_patterns.tables import as_table as as_rows
from harness.kinds.sequences.kind import SequenceCase
from harness.tight_places import pieces
from harness.ways import Way
from spark.streaming import FileStream, Sink

PIECES = 3
FAR = 1_000_000_000
NOBODY = -1
"""The case of the event that ends a stream: it has a partition of its own."""


def on_spark(spark: Any) -> Way:
    """Return the way as a table on Spark."""
    return Way("Spark", lambda case, rng: case.ask(spark.createDataFrame).toArrow())


def sliced_on_spark(spark: Any) -> Way:
    """Return the way in which every task has all events and a slice of the matches."""

    def run(case: SequenceCase, rng: Random) -> pa.Table:
        return case.ask(spark.createDataFrame, distribution="slices", slices=rng.choice((2, 3))).toArrow()

    return Way("Spark, sliced", run, refusals=frozenset({"SLICES_NOT_SOUND"}))


def shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the results that are left when corrections are added up."""
    if not rows or "change" not in rows[0]:
        return rows
    values = {row["match_id"]: {name: value for name, value in row.items() if name not in ("change", "match_id")} for row in rows}
    left = dict.fromkeys(values, 0)
    for row in rows:
        left[row["match_id"]] += 1 if row["change"] == "+" else -1
    assert set(left.values()) <= {0, 1}, "shown twice, or taken back without being shown"
    return [row for match, row in values.items() if left[match]]


class Rows(list):
    """Rows in the form in which results are compared."""

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows."""
        return self


def streamed_on_spark(spark: Any, folder: Path, output: str) -> Way:
    """Return the way of a sequence as a stream of files."""

    def run(case: SequenceCase, rng: Random) -> Rows:
        ends = [{**case.rows[0], "id": FAR + place, "case_id": NOBODY, "time": FAR, "stream": stream, "type": "END"}
                for place, stream in enumerate(("S1", "S2"))]  # fmt: skip
        batches = [case.tables(rows) for rows in (*pieces(case.rows, (-(-len(case.rows) // PIECES),)), ends)]
        streams = iter([
            FileStream(spark, folder / name, table.schema).add(*(batch[name] for batch in batches))
            for name, table in batches[0].items()
        ])  # fmt: skip
        lateness = f"{case.lateness} seconds" if case.trial.timestamps else case.lateness
        frame = case.ask(lambda _: next(streams).frame(), lateness=lateness, output=output, buckets=rng.choice((1, 3)))
        return Rows(_written(spark, folder, frame))

    return Way(f"Spark, streamed, {output}", run)


def rows_streamed_on_spark(spark: Any, folder: Path, output: str) -> Way:
    """Return the way of a row pattern as a stream of files."""

    def run(case: RowPatternCase, rng: Random) -> list[tuple[Any, ...]]:
        first = case.rows[0]
        last = {**first, "case_id": NOBODY, "id": 0, "ts": first["ts"] + timedelta(days=9999), "day": date(2090, 1, 1)}
        stream = FileStream(spark, folder / "input", as_rows([]).schema)
        stream.add(*map(as_rows, pieces(case.rows, (-(-len(case.rows) // PIECES),))), as_rows([last]))
        frame = case.ask(lambda _: stream.frame(), lateness=f"{case.lateness // 1_000_000} seconds", output=output, buckets=3)
        return [tuple(row.values()) for row in _written(spark, folder, frame) if row["case_id"] != NOBODY]

    return Way(
        f"Spark, streamed, {output}", run, judge=lambda case, rows: case.expected.rows_differ(rows, ordered=False)
    )


def _written(spark: Any, folder: Path, frame: Any) -> list[dict[str, Any]]:
    sink = Sink(spark, folder / "sink").run(frame)
    assert not sum(sink.counted("late")), "events are late"
    return shown(sink.frame().toArrow().to_pylist())
