"""Cases on Flink SQL, in batch mode; many cases make one job, because a job costs about three seconds."""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableDescriptor, TableEnvironment

CASES_OF_A_JOB = 20
TYPES = {"bigint": "BIGINT", "double": "DOUBLE", "string": "STRING", "timestamp": "TIMESTAMP(3)"}


def make_environment(parallelism: int, managed_memory: str = "512m", *, streaming: bool = False) -> TableEnvironment:
    """Return a table environment in batch or streaming mode."""
    settings = EnvironmentSettings.in_streaming_mode() if streaming else EnvironmentSettings.in_batch_mode()
    environment = TableEnvironment.create(settings)
    options = environment.get_config()
    options.set("parallelism.default", str(parallelism))
    options.set("taskmanager.memory.managed.size", managed_memory)
    return environment


def run_all(cases):
    """Return the result of each case."""
    environment = make_environment(1)
    results = []
    for begin in range(0, len(cases), CASES_OF_A_JOB):
        results.extend(run_some(environment, cases[begin : begin + CASES_OF_A_JOB]))
    return results


def run_some(environment, cases):
    """Run the cases as one job; when that fails, one by one, to see which are to blame."""
    folder = Path(tempfile.mkdtemp(prefix="eventide-flink-"))
    try:
        return run_job(environment, cases, folder)
    except Exception as error:  # noqa: BLE001 - whatever a peer raises is its answer
        if len(cases) == 1:
            return [{"error": root_cause(error)}]
    finally:
        shutil.rmtree(folder)
    return [result for case in cases for result in run_some(environment, [case])]


def run_job(environment, cases, folder):
    """Run the cases as one job, each into a folder of JSON lines."""
    statements = environment.create_statement_set()
    columns = []
    for number, case in enumerate(cases):
        make_table(environment, f"t{number}", case, folder / f"{number}.csv")
        found = environment.sql_query(case["sql"].replace("FROM t ", f"FROM t{number} "))
        columns.append(found.get_schema().get_field_names())
        sink = TableDescriptor.for_connector("filesystem").option("path", str(folder / f"out{number}")).format("json").build()
        statements.add_insert(sink, found)
    statements.execute().wait()
    return [{"columns": names, "rows": read_rows(folder / f"out{number}", names)} for number, names in enumerate(columns)]


def make_table(environment, name: str, case, path: Path) -> None:
    """Write the rows as one file (with several, Flink loses matches) and register it with its time attribute."""
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(case["rows"])
    fields = ", ".join(f"`{column}` {TYPES[kind]}" for column, kind in case["columns"])
    time = next(column for column, kind in case["columns"] if kind == "timestamp")
    environment.execute_sql(f"DROP TEMPORARY TABLE IF EXISTS {name}")
    environment.execute_sql(
        f"CREATE TEMPORARY TABLE {name} ({fields}, WATERMARK FOR `{time}` AS `{time}`) WITH "
        f"('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv', 'csv.null-literal' = '')"
    )


def read_rows(folder: Path, names):
    """Read the JSON lines of a sink."""
    lines = [json.loads(line) for path in sorted(folder.glob("*")) for line in path.read_text().splitlines()]
    return [[line[name] for name in names] for line in lines]


def root_cause(error) -> str:
    """Return the message at the end of a chain of Java exceptions."""
    java = getattr(error, "java_exception", None)
    if java is None:
        return f"{type(error).__name__}: {error}"
    while java.getCause() is not None:
        java = java.getCause()
    return str(java.toString()).splitlines()[0]
