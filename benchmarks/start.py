"""What a new process costs until it has its first matches: processor time of whole processes, caches warm.

Every round starts each process once, one after another, so that a busy machine slows all of them alike. Python may keep the
bytecode of all modules, as it does for installed packages, whatever the environment says.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.ipc

from benchmarks.report import Figure

EVENTS = 300
SEQUENCE = "SELECT * FROM s WHERE A AS a ; B AS b ; C AS c"
WITHIN = "WITHIN 9 events"
MATCHES = {
    "A ; B ; C": f"et.query('{SEQUENCE} {WITHIN}').match(events)",
    "A ; B ; C with conditions": f"et.query('{SEQUENCE} FILTER a.v < b.v AND b.v < c.v {WITHIN}').match(events)",
    "loop with conditions": "et.query('SELECT * FROM s WHERE A AS a ; B+ AS b ; C AS c"
    f" FILTER b.v > a.v AND b.v <= NEXT(b.v) {WITHIN}').match(events)",
    "count": f"et.query('{SEQUENCE} {WITHIN}').count(events)",
    "GROUP BY END": f"et.query('SELECT COUNT(*) AS n, SUM(b.v) AS total{SEQUENCE[8:]} {WITHIN} GROUP BY END').match(events)",
    "MATCH_RECOGNIZE with PREV": "et.sql('SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(D.v) AS f"
    " PATTERN (S D{2,}) DEFINE D AS D.v > PREV(D.v))', s=table)",
    "MATCH_RECOGNIZE with SUM in DEFINE": "et.sql('SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES SUM(D.v) AS f"
    " PATTERN (D+ E) DEFINE D AS SUM(D.v) < 10)', s=table)",
}
# Reads its events from a file of Arrow's own: tables of Python lists and `pq.read_table` import pandas where it is installed.
FIRST_MATCH = """
import sys, time
import pyarrow.ipc
import eventide as et
def run():
    table = pyarrow.ipc.open_file(sys.argv[1]).read_all()
    events = et.events(table, time="ts", type="kind")
    assert {run}.num_rows
run()
before = time.process_time()
run()
print(time.process_time() - before)
"""
FLOOR = "import numpy, pyarrow"
MATCH_FLOOR = "import numpy, pyarrow, duckdb"
PLAIN = {
    FLOOR: ["-c", FLOOR],
    MATCH_FLOOR: ["-c", MATCH_FLOOR],
    "import eventide": ["-c", "import eventide"],
    "eventide --help": ["-m", "eventide", "--help"],
    "eventide --version": ["-m", "eventide", "--version"],
}


IDENTITY = "identity mapInArrow"
WORKER_MATCHES = {
    "A ; B ; C": f"{SEQUENCE} {WITHIN}",
    "A ; B ; C with conditions": f"{SEQUENCE} FILTER a.v < b.v AND b.v < c.v {WITHIN}",
}


def start(rounds: int = 7) -> list[Figure]:
    """Measure new processes and new workers of Spark; a first round that fills the caches is not counted."""
    return processes(rounds) + workers(rounds)


def processes(rounds: int) -> list[Figure]:
    """Measure whole processes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events.arrow")
        numbers = range(EVENTS)
        kinds, values = ["ABC"[number % 3] for number in numbers], [float(number % 7) for number in numbers]
        table = pa.table({"ts": list(numbers), "kind": kinds, "v": values})
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
        commands = PLAIN | {
            f"first match, {name}": ["-c", FIRST_MATCH.replace("{run}", run), str(path)] for name, run in MATCHES.items()
        }
        spent: dict[str, list[float]] = {name: [] for name in commands}
        again: dict[str, list[float]] = {name: [] for name in commands}
        for number in range(rounds + 1):
            for name, command in commands.items():
                seconds, repeated = processor_time(command, Path(folder, "bytecode"))
                if number:
                    spent[name].append(seconds - (repeated or 0.0))
                    again[name].extend([] if repeated is None else [repeated])
    floor = median(spent[FLOOR])
    figures = []
    for name, seconds in spent.items():
        figures.append(Figure(f"start, {name}", median(seconds), "CPU s"))
        if name != FLOOR:
            figures.append(Figure(f"start, {name}, against the floor", median(seconds) / floor, "ratio"))
        if again[name]:
            # The least of each, which a busy machine disturbs least.
            above = min(seconds) - min(spent[MATCH_FLOOR])
            figures.append(Figure(f"start, {name}, above the floor with duckdb", above, "CPU s"))
            figures.append(Figure(f"start, {name}, the same again", 1e3 * median(again[name]), "CPU ms"))
    return figures


def processor_time(command: list[str], bytecode: Path) -> tuple[float, float | None]:
    """Return the processor time of a Python process, and what it says itself of a repetition."""
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True, env=environment(bytecode))
    assert process.stdout is not None
    said = process.stdout.read()
    process.stdout.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return used.ru_utime + used.ru_stime, float(said) if command[-1].endswith(".arrow") else None


def environment(bytecode: Path) -> dict[str, str]:
    """Return the environment of a process that keeps bytecode in a folder."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(bytecode)}


def workers(rounds: int) -> list[Figure]:
    """Measure workers of Spark that are new for every task: what each has spent when its last batch is out."""
    with tempfile.TemporaryDirectory() as folder:
        script = [sys.executable, "-m", "benchmarks.start", folder, str(rounds)]
        subprocess.run(script, env=environment(Path(folder, "bytecode")) | {"PYSPARK_PYTHON": sys.executable}, check=True)
        spent = json.loads(Path(folder, "spent.json").read_text())
    figures = []
    for name, seconds in spent.items():
        figures.append(Figure(f"start, Spark worker, {name}", median(seconds), "CPU s"))
        if name != IDENTITY:
            above = min(seconds) - min(spent[IDENTITY])
            figures.append(Figure(f"start, Spark worker, {name}, above the identity", above, "CPU s"))
    return figures


def run_workers(folder: Path, rounds: int) -> None:
    """Run the jobs of `workers` in a process that has the environment its workers shall have."""
    from pyspark.sql import SparkSession

    import eventide as et
    from eventide.runtime.relational.spark import SparkAdapter

    def timed(run, name):
        def measured(batches):
            yield from run(batches)
            with Path(folder, f"{name}.txt").open("a") as file:
                file.write(f"{time.process_time()}\n")

        return measured

    plain, asked = SparkAdapter.through, [IDENTITY]
    SparkAdapter.through = lambda self, relation, run, schema: plain(self, relation, timed(run, asked[0]), schema)
    settings = {"spark.ui.enabled": "false", "spark.python.worker.reuse": "false", "spark.sql.shuffle.partitions": "1"}
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    rows = [(number, "ABC"[number % 3], float(number % 7)) for number in range(EVENTS)]
    frame = spark.createDataFrame(rows, "ts long, kind string, v double").repartition(1).cache()
    events = et.events(frame, time="ts", type="kind")
    for _ in range(rounds + 1):
        frame.mapInArrow(timed(iter, IDENTITY), frame.schema).collect()
        for name, query in WORKER_MATCHES.items():
            asked[0] = name
            assert et.query(query).match(events, distribution="plain").collect()
    spark.stop()
    names = (IDENTITY, *WORKER_MATCHES)
    spent = {name: [float(line) for line in Path(folder, f"{name}.txt").read_text().split()][1:] for name in names}
    Path(folder, "spent.json").write_text(json.dumps(spent))


if __name__ == "__main__":
    run_workers(Path(sys.argv[1]), int(sys.argv[2]))
