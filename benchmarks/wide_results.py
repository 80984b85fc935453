"""Results far larger than their events: ten million matches to Parquet, in batches and as one table."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.report import Figure

QUERIES = {"two columns": "SELECT a.id AS a, b.id AS b WHERE A AS a ; B AS b", "SELECT *": "SELECT * WHERE A AS a ; B AS b"}
SCRIPT = """
import sys, tempfile
from resource import RUSAGE_SELF, getrusage
from time import process_time
import pyarrow as pa, pyarrow.parquet as pq
import eventide as et
text, size, batches = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "batches"
ids = range(2 * size)
columns = {"ts": ids, "kind": ["A"] * size + ["B"] * size, "id": ids, "x": [float(n) for n in ids]}
columns["name"] = [f"event {n}" for n in ids]
events = et.events(pa.table(columns), time="ts", type="kind")
et.query(text + " LIMIT 1").match(events)
before, began = getrusage(RUSAGE_SELF).ru_maxrss, process_time()
with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
    if batches:
        reader = et.query(text).match(events, batches=True)
        with pq.ParquetWriter(file.name, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
    else:
        pq.write_table(et.query(text).match(events), file.name)
    rows = pq.read_metadata(file.name).num_rows
assert rows == size * size, rows
print((getrusage(RUSAGE_SELF).ru_maxrss - before) / 1024, process_time() - began)
"""


def wide_results(matches: int) -> list[Figure]:
    """Measure memory above the events and processor time, each in a process of its own."""
    size = max(1, round(matches**0.5))
    figures = []
    for columns, text in QUERIES.items():
        for way in ("batches", "table"):
            command = [sys.executable, "-W", "ignore", "-c", SCRIPT, text, str(size), way]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            memory, seconds = map(float, done.stdout.split())
            name = f"{size * size:,} matches to Parquet, {columns}, {way}"
            target = "<= 500" if way == "batches" else None
            figures.append(Figure(f"{name}: memory above the events", memory, "MB", target))
            figures.append(Figure(name, seconds, "s of processor time"))
    return figures
