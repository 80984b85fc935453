"""The command `eventide`: check, explain, run, generate, demo, doctor, kernels.

Exit codes: 0 all went well, 1 something failed that is neither the query nor the data, 2 wrong usage or a wrong query,
3 files or data that cannot be used, 4 stopped by a cap such as --max-matches.
"""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

import eventide as et
from eventide import console, datasets
from eventide.console.choices import STANDARD_OUTPUT, Emit, Engine
from eventide.errors import EventideWarning
from eventide.explain import ExplainFormat
from eventide.sources.formats import Format

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from eventide.console import Output, Source

DEFAULT_TIME = "ts"
DEMO_EVENTS = 200_000
DEMO_STREAM_EVENTS = 3_000


class GuardedGroup(TyperGroup):
    """Commands whose mistakes end in a message and an exit code, never in a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command and turn what it raises into what a user can read."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("always", EventideWarning)
                warnings.showwarning = _show_warning
                with et.errors():
                    return super().invoke(ctx)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except Exception as error:
            if _is_usage_error(error):
                raise
            console.show_error(error)
            raise typer.Exit(console.exit_code(error)) from error


def _is_usage_error(error: Exception) -> bool:
    # click's own errors know how to show themselves and their exit code.
    return hasattr(error, "exit_code") and hasattr(error, "show")


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    console.show_warning(str(message))


app = typer.Typer(
    cls=GuardedGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Find patterns of events and rows: check, explain and run queries and SQL over Parquet, CSV and JSON.",
    epilog="Exit codes: 0 well, 1 unexpected failure, 2 wrong usage or query, 3 unusable data, 4 stopped by a cap.",
)

QueryArgument = Annotated[str, typer.Argument(metavar="QUERY", help="A file, - for standard input, or the text itself.")]
LanguageOption = Annotated[str | None, typer.Option("--language", help="ceql, sase or sql; detected if left out.")]
TableOption = Annotated[
    list[str] | None, typer.Option("--table", metavar="NAME=FILE", help="A table of SQL with MATCH_RECOGNIZE; repeat.")
]
DataOption = Annotated[str | None, typer.Option("--data", help="The events: a Parquet, CSV or JSON lines file.")]
StreamOption = Annotated[
    list[str] | None, typer.Option("--stream", metavar="NAME=FILE", help="One of several streams, by its name in FROM; repeat.")
]
TimeOption = Annotated[str | None, typer.Option("--time", help="The column with the event time.", show_default=DEFAULT_TIME)]
TypeOption = Annotated[str | None, typer.Option("--type", help="The column with the event type.")]
TieBreakOption = Annotated[str | None, typer.Option("--tie-break", help="The column that orders events of equal time.")]
TimeUnitOption = Annotated[str | None, typer.Option("--time-unit", help="Unit of an integer time column: s, ms, us or ns.")]
InputFormatOption = Annotated[Format | None, typer.Option("--input-format", help="When the suffix does not say it.")]
OutputFormatOption = Annotated[Format | None, typer.Option("--output-format", help="When the suffix does not say it.")]
FOLLOWING = "With --follow"
SparkConfOption = Annotated[
    list[str] | None, typer.Option("--spark-conf", metavar="NAME=VALUE", help="A setting of the Spark session; repeat.")
]


def main() -> None:
    """Run the command line.

    >>> main()  # doctest: +SKIP
    """
    app(prog_name="eventide")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"eventide {et.__version__}")
        raise typer.Exit


@app.callback()
def common(
    *,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Find patterns of events and rows: check, explain and run queries and SQL over Parquet, CSV and JSON."""


@app.command()
def check(
    query: QueryArgument,
    *,
    language: LanguageOption = None,
    table: TableOption = None,
    data: DataOption = None,
    stream: StreamOption = None,
    time: TimeOption = None,
    type: TypeOption = None,  # noqa: A002 - the name of the option
    tie_break: TieBreakOption = None,
    time_unit: TimeUnitOption = None,
    input_format: InputFormatOption = None,
) -> None:
    """Say whether a query is right, and with --data or --table whether it fits the events or tables."""
    text = console.read_query(query)
    if console.is_sql(text, language, table):
        console.refuse_event_options(_event_options(data, stream, time, type, tie_break, time_unit))
        _check_sql(text, table, input_format)
        return
    console.refuse_sql_options({"--table": table})
    parsed = et.query(text, language)
    sources = _sources(data, stream, time, type, tie_break, time_unit, input_format)
    if not sources:
        console.say("The query is well formed. Give --data to check it against events.")
        return
    positional, named = console.as_arguments(console.load(sources, Engine.LOCAL, _no_session))
    parsed.check(*positional, **named)
    console.show_schema(parsed.output_schema(*positional, **named))
    console.say("The query fits the events.")


def _check_sql(text: str, table: list[str] | None, input_format: Format | None) -> None:
    statement = et.statement(text)
    if not table:
        console.say("The query is well formed. Give --table NAME=FILE to check it against tables.")
        return
    with console.tables_named():
        console.show_schema(statement.output_schema(**console.load_tables(table, Engine.LOCAL, input_format, _no_session)))
    console.say("The query fits the tables.")


@app.command()
def explain(
    query: QueryArgument,
    *,
    format: Annotated[ExplainFormat, typer.Option("--format", help="How to draw it.")] = ExplainFormat.TEXT,  # noqa: A002
    language: LanguageOption = None,
    table: TableOption = None,
    data: DataOption = None,
    stream: StreamOption = None,
    time: TimeOption = None,
    type: TypeOption = None,  # noqa: A002 - the name of the option
    tie_break: TieBreakOption = None,
    time_unit: TimeUnitOption = None,
    input_format: InputFormatOption = None,
    engine: Annotated[Engine, typer.Option("--engine", help="Whose plan to show with --data or --table.")] = Engine.LOCAL,
    spark_conf: SparkConfOption = None,
) -> None:
    """Show what a query means and how it will be run; with --data or --table also the relational plan."""
    text = console.read_query(query)
    if console.is_sql(text, language, table):
        console.refuse_event_options(_event_options(data, stream, time, type, tie_break, time_unit))
        statement = et.statement(text)
        with console.tables_named():
            tables = console.load_tables(table, engine, input_format, cache(lambda: _session(spark_conf)))
            typer.echo(statement.explain(format.value, **tables))
        return
    console.refuse_sql_options({"--table": table})
    parsed = et.query(text, language)
    sources = _sources(data, stream, time, type, tie_break, time_unit, input_format)
    positional, named = console.as_arguments(console.load(sources, engine, lambda: _session(spark_conf)))
    typer.echo(parsed.explain(format.value, *positional, **named))


@app.command()
def run(
    query: QueryArgument,
    *,
    table: TableOption = None,
    data: DataOption = None,
    stream: StreamOption = None,
    time: TimeOption = None,
    type: TypeOption = None,  # noqa: A002 - the name of the option
    tie_break: TieBreakOption = None,
    time_unit: TimeUnitOption = None,
    language: LanguageOption = None,
    engine: Annotated[Engine, typer.Option("--engine", help="Run embedded or on Spark.")] = Engine.LOCAL,
    input_format: InputFormatOption = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="A file by suffix, or - for standard output; a table when left out.")
    ] = None,
    output_format: OutputFormatOption = None,
    count: Annotated[bool, typer.Option("--count", help="Count the matches per partition without listing them.")] = False,
    max_matches: Annotated[int | None, typer.Option("--max-matches", min=0, help="Stop with exit code 4 above it.")] = None,
    limit_rows: Annotated[int, typer.Option("--limit-rows", min=0, help="Rows of the table that is shown.")] = 20,
    max_steps: Annotated[
        int | None, typer.Option("--max-steps", min=0, help="Stop with exit code 4 when a search takes more.")
    ] = None,
    max_memory: Annotated[
        str | None,
        typer.Option("--max-memory", help="Stop with exit code 4 above it, as 2GB; a quarter of what there is by default."),
    ] = None,
    distribution: Annotated[
        str | None, typer.Option("--distribution", help="How tasks share matches: auto, plain, slices, ...")
    ] = None,
    slices: Annotated[int | None, typer.Option("--slices", min=1, help="Tasks that share one enumeration.")] = None,
    matcher: Annotated[str | None, typer.Option("--matcher", help="Force a matcher; explain names them.")] = None,
    spark_conf: SparkConfOption = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Run on Spark as a stream and show matches as they come; --data is a folder that grows, or a file to replay.",
            rich_help_panel=FOLLOWING,
        ),
    ] = False,
    lateness: Annotated[
        str | None,
        typer.Option("--lateness", help="How late an event may come, as '10 seconds'.", rich_help_panel=FOLLOWING),
    ] = None,
    emit: Annotated[
        Emit | None,
        typer.Option(
            "--emit",
            help="Show a match when it is certain, also in order, or at once with corrections.",
            show_default="final",
            rich_help_panel=FOLLOWING,
        ),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option("--checkpoint", help="A folder; a later run with the same one goes on.", rich_help_panel=FOLLOWING),
    ] = None,
    run_for: Annotated[
        str | None, typer.Option("--for", help="End after a time, as 60s; else with Ctrl-C.", rich_help_panel=FOLLOWING)
    ] = None,
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="End when nothing comes any more.", rich_help_panel=FOLLOWING)
    ] = False,
    rate: Annotated[
        float | None, typer.Option("--rate", help="Replay a file with so many events a second.", rich_help_panel=FOLLOWING)
    ] = None,
    disorder: Annotated[
        float | None, typer.Option("--disorder", help="Replay so many percent of the events late.", rich_help_panel=FOLLOWING)
    ] = None,
    bound: Annotated[
        str | None, typer.Option("--bound", help="How late those are at most, as '10 seconds'.", rich_help_panel=FOLLOWING)
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="The same seed gives the same disorder.", rich_help_panel=FOLLOWING)
    ] = None,
) -> None:
    """Find the matches of a query in events, or run SQL over tables; write a table, or Parquet, CSV or JSON."""
    text = console.read_query(query)
    target = console.Output(output, output_format, limit_rows)
    following = console.FollowOptions(lateness, emit, checkpoint, rate, disorder, bound, seed, run_for, until_idle)
    if not follow:
        following.refuse()
    if console.is_sql(text, language, table):
        own = {"--count": count, "--distribution": distribution, "--slices": slices, "--matcher": matcher}
        limits = {"max_matches": max_matches, "max_steps": max_steps, "max_memory": max_memory}
        caps = {name: value for name, value in limits.items() if value is not None}
        if follow:
            console.refuse_event_options(_event_options(data, None, None, type, tie_break, time_unit) | own)
            console.refuse_batch_options({"--max-matches": max_matches is not None, "--max-memory": max_memory is not None})
            inputs = console.SqlInputs(stream or [], table or [], time, input_format)
            console.follow_sql(text, inputs, following, target, lambda: _session(spark_conf), **caps)
            return
        console.refuse_event_options(_event_options(data, stream, time, type, tie_break, time_unit) | own)
        _run_sql(text, table, engine, input_format, target, caps, spark_conf)
        return
    console.refuse_sql_options({"--table": table})
    parsed = et.query(text, language)
    sources = _sources(data, stream, time, type, tie_break, time_unit, input_format)
    if not sources:
        raise console.UsageMistakeError(
            "NO_DATA", "There are no events to search.", hint="--data FILE, or --stream NAME=FILE for each"
        )
    target.require_usable()
    options: dict[str, Any] = {
        "max_matches": max_matches,
        "max_memory": max_memory,
        "max_steps": max_steps,
        "distribution": distribution,
        "slices": slices,
        "matcher": matcher,
    }
    given = {name: value for name, value in options.items() if value is not None}
    if follow:
        batch = {"--max-matches": max_matches, "--max-memory": max_memory, "--max-steps": max_steps}
        console.refuse_batch_options({"--count": count, **{name: value is not None for name, value in batch.items()}})
        console.follow_query(parsed, sources, following, target, lambda: _session(spark_conf), **given)
        return
    with console.working("Reading events"):
        positional, named = console.as_arguments(console.load(sources, engine, lambda: _session(spark_conf)))
    paths = ", ".join(source.path for source in sources)
    if engine is Engine.LOCAL and target.path is not None:
        # Written as they are found: they may be more than memory holds.
        given["batches"] = True
    with console.working("Counting" if count else "Matching") as watch, console.data_errors_named(paths):
        result = parsed.count(*positional, **named, max_steps=max_steps) if count else parsed.match(*positional, **named, **given)
        delivered = console.deliver(result, target)
    if count:
        console.show_delivered(delivered, target, watch, title="Matches per partition", nouns=("partition", "partitions"))
    else:
        console.show_delivered(delivered, target, watch, title="Matches", nouns=("match", "matches"))


def _run_sql(
    text: str,
    table: list[str] | None,
    engine: Engine,
    input_format: Format | None,
    target: Output,
    caps: dict[str, Any],
    spark_conf: list[str] | None,
) -> None:
    statement = et.statement(text)
    target.require_usable()
    with console.working("Reading tables"):
        tables = console.load_tables(table, engine, input_format, cache(lambda: _session(spark_conf)))
    with console.working("Running") as watch, console.data_errors_named(", ".join(table or [])), console.tables_named():
        delivered = console.deliver(statement.run(**tables, **caps), target)
    console.show_delivered(delivered, target, watch, title="Rows", nouns=("row", "rows"))


_DATASETS_HELP = "; ".join(f"{dataset.name}: {dataset.summary}" for dataset in datasets.DATASETS.values())
_SETTINGS_HELP = "; ".join(
    f"{dataset.name} {setting.name}: {setting.meaning} ({setting.default})"
    for dataset in datasets.DATASETS.values()
    for setting in dataset.settings
)


@app.command()
def generate(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help=_DATASETS_HELP)],
    *,
    events: Annotated[int, typer.Option("--events", "-n", min=0, help="Number of events.")] = 10_000,
    keys: Annotated[int | None, typer.Option("--keys", min=1, help="Number of companies, keys or cards.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same events.")] = 0,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help=_SETTINGS_HELP,
        ),
    ] = None,
    output: Annotated[str, typer.Option("--output", "-o", help="A file by suffix, or - for standard output.")] = STANDARD_OUTPUT,
    output_format: OutputFormatOption = None,
) -> None:
    """Generate a seeded data set."""
    settings = dict(console.split_setting(text, "--set", "selectivity=0.3") for text in setting or [])
    with console.working(f"Generating {dataset}") as watch:
        table = datasets.generate(dataset, events, keys, seed, settings)
    with console.counting("Writing", table.num_rows) as advance:
        console.write_table(table, output, output_format, advance=advance)
    if output != STANDARD_OUTPUT:
        console.say(f"{table.num_rows:,} events in {watch}, written to {output}")


@app.command()
def demo(
    *,
    events: Annotated[
        int | None, typer.Option("--events", min=1, help="Number of events.", show_default="200000, with --stream 3000")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same events.")] = 7,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write to.")] = Path("demo-output"),
    engine: Annotated[
        Engine | None, typer.Option("--engine", help="Run embedded or on Spark only.", show_default="both, one after the other")
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Watch payments arrive out of order, and card testing being found among them.")
    ] = False,
    spark_conf: SparkConfOption = None,
) -> None:
    """Generate a stock stream, find rising runs that break, and show them; or watch a stream of payments."""
    if not stream:
        console.run_demo(DEMO_EVENTS if events is None else events, seed, output, engine, _spark_settings(spark_conf))
        return
    if engine is Engine.LOCAL:
        raise console.UsageMistakeError("BAD_OPTION", "A stream runs on Spark.", hint="Leave out --engine, or --stream.")
    if not console.run_stream_demo(DEMO_STREAM_EVENTS if events is None else events, seed, output, _spark_settings(spark_conf)):
        raise typer.Exit(console.UNEXPECTED)


@app.command()
def doctor(
    *,
    spark: Annotated[bool, typer.Option("--spark/--no-spark", help="Start Spark and ask its workers, too.")] = True,
    spark_conf: SparkConfOption = None,
) -> None:
    """Look at what this machine and Spark's workers have, and say what is missing and what to do."""
    if not console.examine(_spark_settings(spark_conf), with_spark=spark):
        raise typer.Exit(console.UNEXPECTED)


kernels = typer.Typer(no_args_is_help=True, help="Build, list or remove the compiled kernels.")
app.add_typer(kernels, name="kernels")


@kernels.command("build")
def build_kernels(
    *,
    processes: Annotated[int | None, typer.Option("--processes", min=1, help="How many; by default one per processor.")] = None,
) -> None:
    """Compile all kernels ahead of time, so that no query waits for it."""
    console.build_kernels(processes)


@kernels.command("list")
def list_kernels() -> None:
    """Show which kernels are compiled."""
    console.list_kernels()


@kernels.command("clean")
def clean_kernels() -> None:
    """Remove the compiled kernels; numba compiles at first use then."""
    console.clean_kernels()


def _event_options(
    data: str | None,
    streams: list[str] | None,
    time: str | None,
    type_column: str | None,
    tie_break: str | None,
    time_unit: str | None,
) -> dict[str, Any]:
    return {
        "--data": data,
        "--stream": streams,
        "--time": time,
        "--type": type_column,
        "--tie-break": tie_break,
        "--time-unit": time_unit,
    }


def _sources(
    data: str | None,
    streams: list[str] | None,
    time: str | None,
    type_column: str | None,
    tie_break: str | None,
    time_unit: str | None,
    input_format: Format | None,
) -> list[Source]:
    if data is not None and streams:
        raise console.UsageMistakeError(
            "BAD_OPTION", "--data and --stream exclude each other.", hint="Name every stream with --stream."
        )
    named: list[tuple[str | None, str]] = [console.split_setting(text, "--stream", "S1=a.parquet") for text in streams or []]
    places = named if data is None else [(None, data)]
    return [
        console.Source(path, time or DEFAULT_TIME, name, type_column, tie_break, time_unit, input_format) for name, path in places
    ]


def _spark_settings(spark_conf: list[str] | None) -> dict[str, str]:
    return dict(console.split_setting(text, "--spark-conf", "spark.master=local[4]") for text in spark_conf or [])


def _session(spark_conf: list[str] | None) -> SparkSession:
    return console.start_session(_spark_settings(spark_conf))


def _no_session() -> SparkSession:
    raise AssertionError("the local engine asks for no Spark session")
