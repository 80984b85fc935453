"""The demo: a whole job from generated events to written matches."""

from __future__ import annotations

from shutil import rmtree
from typing import TYPE_CHECKING

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

    import pyarrow as pa

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


def run_demo(events: int, seed: int, folder: Path, engine: Engine | None, spark_settings: Mapping[str, str]) -> None:
    """Generate trades as Parquet, search them embedded and on Spark, write the matches as Parquet and show the first ones.

    >>> run_demo(1000, 7, Path("demo-output"), Engine.LOCAL, {})  # doctest: +SKIP
    """
    trades = folder / "trades.parquet"
    matches, matches_of_spark = folder / "matches.parquet", folder / "matches-spark.parquet"
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
    if engine is not Engine.SPARK:
        _show(_locally(trades, matches))
    if engine is None:
        report.say("\nNow the same query on Spark.")
    if engine is not Engine.LOCAL:
        on_spark = _on_spark(trades, matches_of_spark, folder / "spark.log", spark_settings)
        if engine is Engine.SPARK:
            _show(on_spark)
    report.say("\nChange the query and try your own:")
    report.say(f"  eventide run query.ceql --data {trades} --time ts --type kind --tie-break seq")


def _show(found: pa.Table) -> None:
    report.show_rows(found.slice(0, ROWS_SHOWN), title=f"The first of {found.num_rows:,} matches", total=found.num_rows)


def _on_spark(trades: Path, matches: Path, log: Path, settings: Mapping[str, str]) -> pa.Table:
    with report.working("Starting Spark") as watch:
        session = start_session(settings, log=log)
    report.say(f"Spark {session.version} started ({watch}); its log is {log}")
    with report.working("Matching on Spark") as watch:
        events = et.events(session.read.parquet(str(trades)), time="ts", type="kind", tie_break="seq")
        write_parquet(et.query(QUERY).match(events), str(matches))
    return _read_back(matches, watch)


def _locally(trades: Path, matches: Path) -> pa.Table:
    with report.working("Matching, embedded in this process") as watch:
        events = et.events(pyarrow.parquet.read_table(trades), time="ts", type="kind", tie_break="seq")
        _remove_earlier_result(matches)
        write_table(et.query(QUERY).match(events), str(matches))
    return _read_back(matches, watch)


def _remove_earlier_result(matches: Path) -> None:
    if matches.is_dir():
        rmtree(matches)


def _read_back(matches: Path, watch: report.Stopwatch) -> pa.Table:
    table = pyarrow.parquet.read_table(matches)
    report.say(f"{table.num_rows:,} matches found and written to {matches} ({watch})")
    return table
