"""The demo: a whole job from generated events to written matches."""

from __future__ import annotations

from shutil import rmtree
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet

import eventide as et
from eventide.console import report
from eventide.console.choices import Engine
from eventide.console.files import write_table
from eventide.console.spark import start_session, write_parquet
from eventide.datasets import stocks
from eventide.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

COMPANIES = 1000
ROWS_SHOWN = 10

QUERY = """\
SELECT a.price AS low, COUNT(b) AS steps, LAST(b.price) AS peak, c.price AS exit
FROM   trades
WHERE  Stock AS a ; Stock+ AS b ; Stock AS c
FILTER a.price < b.price AND b.price < NEXT(b.price) AND c.price < FIRST(b.price)
PARTITION BY company
WITHIN 3 minutes
"""


def run_demo(events: int, seed: int, folder: Path, engine: Engine, spark_settings: Mapping[str, str]) -> None:
    """Generate trades as Parquet, search them, write the matches as Parquet and show the first ones.

    >>> run_demo(1000, 7, Path("demo-output"), Engine.LOCAL, {})  # doctest: +SKIP
    """
    trades = folder / "trades.parquet"
    matches = folder / "matches.parquet"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            "UNWRITABLE_FILE", f"The folder {folder} cannot be made: {error.strerror}.", hint="Choose another --output."
        ) from error
    with report.working("Generating trades") as watch:
        table = stocks(events, COMPANIES, seed)
    with report.counting("Writing trades", table.num_rows) as advance:
        write_table(table, str(trades), advance=advance)
    report.say(f"{events:,} trades of {COMPANIES:,} companies, written to {trades} ({watch})")
    report.say(f"Looking for a price that rises step by step and then falls below where the rise began:\n\n{QUERY}")
    if engine is Engine.SPARK:
        found, first = _on_spark(trades, matches, folder / "spark.log", spark_settings)
    else:
        found, first = _locally(trades, matches)
    report.show_rows(first, title=f"The first of {found:,} matches", total=found)
    report.say(f"\nThe matches are in {matches}. Change the query and try your own:")
    report.say(f"  eventide run query.ceql --data {trades} --time ts --type kind --tie-break seq")


def _on_spark(trades: Path, matches: Path, log: Path, settings: Mapping[str, str]) -> tuple[int, pa.Table]:
    with report.working("Starting Spark") as watch:
        session = start_session(settings, log=log)
    report.say(f"Spark {session.version} started ({watch}); its log is {log}")
    with report.working("Matching on Spark") as watch:
        events = et.events(session.read.parquet(str(trades)), time="ts", type="kind", tie_break="seq")
        write_parquet(et.query(QUERY).match(events), str(matches))
    return _summary(matches, watch)


def _locally(trades: Path, matches: Path) -> tuple[int, pa.Table]:
    with report.working("Matching") as watch:
        events = et.events(pyarrow.parquet.read_table(trades), time="ts", type="kind", tie_break="seq")
        _remove_earlier_result(matches)
        write_table(et.query(QUERY).match(events), str(matches))
    return _summary(matches, watch)


def _remove_earlier_result(matches: Path) -> None:
    if matches.is_dir():
        rmtree(matches)


def _summary(matches: Path, watch: report.Stopwatch) -> tuple[int, pa.Table]:
    table = pyarrow.parquet.read_table(matches)
    report.say(f"{table.num_rows:,} matches found and written ({watch})\n")
    return table.num_rows, table.slice(0, ROWS_SHOWN)
