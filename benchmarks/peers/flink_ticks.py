"""Time Flink SQL over a CSV file of ticks: `.venv-peers/bin/python flink_ticks.py job.json results.json`.

Each query runs twice in this process: first counted, then, warm and timed, into a sink that keeps nothing.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from flink_engine import make_environment

COLUMNS = "ts TIMESTAMP(3), seq BIGINT, company STRING, price DOUBLE, volume BIGINT"


def measure(environment, query: str):
    """Return the matches of a query, and the seconds of its first and its second run."""
    started = time.perf_counter()
    # A stream counts up, and the last number is the one; in mini-batches it does not report every step.
    _count_in_steps(environment, enabled=True)
    with environment.execute_sql(f"SELECT COUNT(*) FROM ({query})").collect() as rows:
        matches = max((row[0] for row in rows), default=0)
    cold = time.perf_counter() - started
    _count_in_steps(environment, enabled=False)
    started, used = time.perf_counter(), processor_seconds()
    environment.execute_sql(f"INSERT INTO nowhere {query}").wait()
    warm = time.perf_counter() - started
    return {"matches": matches, "cold": cold, "warm": warm, "processor": processor_seconds() - used}


def processor_seconds() -> float:
    """Return the processor time of this process and of all that it started, Flink's JVM among them; as Linux tells it."""
    parents, used = {}, {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name of a program stands in brackets and may contain anything.
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        process = int(status.parent.name)
        parents[process], used[process] = int(fields[1]), int(fields[11]) + int(fields[12])
    ours = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(used[process] for process in ours) / os.sysconf("SC_CLK_TCK")


def _count_in_steps(environment, *, enabled: bool) -> None:
    settings = environment.get_config()
    settings.set("table.exec.mini-batch.enabled", str(enabled).lower())
    settings.set("table.exec.mini-batch.allow-latency", "10 s")
    settings.set("table.exec.mini-batch.size", "1000000")


def main() -> None:
    """Run the job."""
    source, target = map(Path, sys.argv[1:])
    job = json.loads(source.read_text())
    environment = make_environment(job["parallelism"], managed_memory="1g", streaming=job.get("streaming", False))
    # To Flink an event at the watermark is late, so that one of two with the same time might be lost.
    watermark = "WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND"
    environment.execute_sql(
        f"CREATE TEMPORARY TABLE ticks ({COLUMNS}, {watermark}) WITH "
        f"('connector' = 'filesystem', 'path' = '{job['csv']}', 'format' = 'csv')"
    )
    environment.execute_sql(
        "CREATE TEMPORARY TABLE nowhere (company STRING, first_seq BIGINT, last_seq BIGINT) WITH ('connector' = 'blackhole')"
    )
    with Path(job["csv"]).open() as lines:
        rows = sum(1 for _ in lines)
    target.write_text(json.dumps({name: {"rows": rows, **measure(environment, query)} for name, query in job["queries"].items()}))


if __name__ == "__main__":
    main()
