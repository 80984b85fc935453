"""A process loads what it needs and nothing else: packages that take long to import are kept out where nobody asks for them."""

import json
import os
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pytest

import eventide as et
from eventide.compilation.library import library_path

HEAVY = ("numba", "duckdb", "pandas", "lark", "sqlglot", "typer", "pyspark", "pyarrow", "numpy")
# What a query never needs that only lists its matches.
NOT_FOR_CEQL = (
    "eventide.explain.kinds",
    "eventide.language.sase",
    "eventide.language.sql",
    "eventide.progress",
    "eventide.sources",
)
# No first match needs these. `pyarrow.compute` writes documentation when it is imported.
NOT_FOR_MATCHES = {"pandas", "pyarrow.compute", "pyarrow.dataset", "pyspark", "rich", "typer"}
# Slow to import and needed by few: a dialect for SQL that is more than comparisons, masked arrays, random numbers, timeouts.
SIMPLE = ("listed", "conditions", "fields")
NOT_FOR_SIMPLE = {"sqlglot.dialects.duckdb", "numpy.ma", "numpy.random", "eventide.plan.timeouts", "eventide.runtime.tables.together"}
LAZY = ("console", "datasets", "explain", "language", "runtime.collect")


def loaded(code, *arguments):
    """Return the modules that a new process has loaded in the end."""
    ending = "\nimport atexit, json, sys\natexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))\n"
    path = os.pathsep.join(place for place in sys.path if place)
    process = subprocess.run(
        [sys.executable, "-c", ending + code, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(process.stderr.splitlines()[-1]))


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    """Return a file of events: tables of Python values and `pq.read_table` import pandas themselves."""
    path = tmp_path_factory.mktemp("events") / "events.arrow"
    table = pa.table({"ts": pa.array(range(6), pa.timestamp("us")), "kind": list("ABCABC"), "v": [1.0, None, 3.0, 4.0, 5.0, 6.0]})
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    return str(path)


def test_importing_eventide_loads_no_other_package():
    assert not loaded("import eventide") & set(HEAVY)


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_needs_no_engine(option):
    code = "import sys\nfrom eventide.cli import main\nmain()"
    assert not loaded(code, option) & (set(HEAVY) - {"typer"})


MATCHES = {
    "listed": "et.query('SELECT * WHERE A AS a ; B AS b ; C AS c').match(events)",
    "conditions": "et.query('SELECT * WHERE A AS a ; C AS c FILTER a.v < c.v').match(events)",
    # Not with SUM(b.v): Arrow's own group_by imports pandas.
    "fields": "et.query('SELECT a.v AS v, COUNT(b) AS n, b WHERE A AS a ; B+ AS b').match(events)",
    "counted": "et.query('SELECT * WHERE A ; B ; C').count(events)",
    "grouped": "et.query('SELECT COUNT(*) AS n, MIN(a.v) AS v WHERE A AS a ; C GROUP BY END').match(events)",
    "best": "et.query('SELECT * WHERE A ; C AS c ORDER BY SUM(c.v) DESC LIMIT 1').match(events)",
    "rows": "et.sql('SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES SUM(U.v) AS s PATTERN (S U+)"
    " DEFINE U AS U.v > PREV(U.v))', t=table)",
}


@pytest.mark.parametrize("name", MATCHES)
def test_a_first_match_does_without(name, events):
    code = (
        "import sys, eventide as et, pyarrow.ipc\n"
        "table = pyarrow.ipc.open_file(sys.argv[1]).read_all()\n"
        "events = et.events(table, time='ts', type='kind')\n"
        f"assert {MATCHES[name]}.num_rows\n"
    )
    modules = loaded(code, events)
    assert not modules & NOT_FOR_MATCHES
    if library_path().exists():
        assert "numba" not in modules
    if name in SIMPLE:
        assert not modules & NOT_FOR_SIMPLE
    if name != "rows":
        assert not [module for module in modules if module.startswith(NOT_FOR_CEQL)]


def test_what_spark_ships_reads_no_text():
    modules = loaded("import eventide.runtime.stage.assembly, eventide.runtime.collect.matches")
    assert not modules & (NOT_FOR_MATCHES | {"duckdb", "lark", "numba", "sqlglot.dialects.spark"})
    assert not [module for module in modules if module.startswith("eventide.language")]


@pytest.mark.parametrize("package", LAZY)
def test_every_name_that_is_loaded_later_is_there(package):
    module = import_module(f"eventide.{package}")
    names = module.__all__
    assert names
    for name in names:
        assert getattr(module, name) is not None
        assert not Path(next(iter(module.__path__)), f"{name}.py").exists(), "a module would take its place"


def test_the_version_is_that_of_the_package():
    assert et.__version__ == version("eventide")
