"""Streams on Spark itself: files come in one by one, results go to files, runs stop and go on from their checkpoints."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import product
from random import Random

import pyarrow as pa
import pytest

import eventide as et
from harness.seeds import at_once
from spark.streaming import FileStream, Sink, comparable, configured, plain, quiet, spark_rows

SCHEMA = pa.schema([("ts", pa.int64()), ("n", pa.int64()), ("kind", pa.string()), ("k", pa.int64()), ("x", pa.int64())])
LATENESS = 4
FAR = 10**9
END = [{"ts": FAR, "n": -1, "kind": "Z", "k": 0, "x": 0}]
"""An event after which everything before it is certain."""
EPOCH = datetime(2024, 3, 9, 12, tzinfo=UTC)

QUERIES = {
    "ceql": "SELECT k, a.n AS first, SUM(b.x) AS total, c.n AS last WHERE A AS a ; B+ AS b ; C AS c PARTITION BY k WITHIN 25",
    "absent": "SELECT a.n AS first, b.n AS last WHERE A AS a ; B AS b ; NOT C PARTITION BY k WITHIN 12",
    "sase": "PATTERN SEQ(A a, !D, B+ b[], C c) WHERE skip_till_next_match(a, b[], c) { [k] AND a.x < b.x } WITHIN 30"
    " RETURN a.n AS first, COUNT(b[]) AS n, c.n AS last",
}
CLAUSE = """SELECT * FROM ticks MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY ts, n
    MEASURES FIRST(DOWN.n) AS first, LAST(UP.n) AS last, COUNT(*) AS length, MATCH_NUMBER() AS number
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (DOWN+ UP+) WITHIN 40 SECONDS
    DEFINE DOWN AS DOWN.x < PREV(DOWN.x), UP AS UP.x > PREV(UP.x)
)"""
OUTPUTS = ("final", "ordered", "early")


def some_of(kinds: dict, *usual: str) -> list:
    """Return all kinds as parameters; those that are not usual are left to the long run."""
    return [pytest.param(kind, marks=() if kind in usual else pytest.mark.long) for kind in kinds]


def made_events(seed: int = 1, size: int = 240, keys: int = 5) -> list[dict]:
    """Return events in an order of arrival in which none is later than the lateness."""
    rng = Random(seed)
    rows = [
        {"ts": number + rng.randint(0, 1), "n": number, "kind": rng.choice("ABCD"), "k": rng.randrange(keys), "x": rng.randrange(20)}
        for number in range(size)
    ]
    return sorted(rows, key=lambda row: (row["ts"] + rng.randint(0, LATENESS), row["n"]))


def cut(rows: list[dict], pieces: int) -> list[list[dict]]:
    size = -(-len(rows) // pieces)
    return [rows[begin : begin + size] for begin in range(0, len(rows), size)]


def timed(rows: list[dict]) -> list[dict]:
    return [{**row, "ts": EPOCH + timedelta(seconds=row["ts"])} for row in rows]


def schema_with(**kinds: pa.DataType) -> pa.Schema:
    return pa.schema([(field.name, kinds.get(field.name, field.type)) for field in SCHEMA])


TICKS = schema_with(ts=pa.timestamp("us", "UTC"))


def given(data, **roles):
    return et.events(data, time="ts", type="kind", tie_break="n", **roles)


def matched(query: str, frame, **options):
    with quiet():
        return et.query(query).match(given(frame), **({"lateness": LATENESS, "buckets": 2} | options))


def recognized(text: str, frame, **options):
    with quiet():
        return et.sql(text, ticks=frame, **({"lateness": f"{LATENESS} seconds", "buckets": 2} | options))


def of_table(query: str, rows: list[dict]) -> list:
    with quiet():
        return comparable(et.query(query).match(given(pa.Table.from_pylist(rows, schema=SCHEMA))).to_pylist())


def of_ticks(text: str, rows: list[dict]) -> list:
    with quiet():
        return comparable(et.sql(text, ticks=pa.Table.from_pylist(timed(rows), schema=TICKS)).to_pylist())


def added_up(rows: list[dict]) -> list:
    """Return what corrections leave."""
    left = Counter()
    for row in rows:
        values = {name: value for name, value in row.items() if name not in ("change", "match_id")}
        left[plain(values)] += 1 if row["change"] == "+" else -1
    assert min(left.values()) >= 0
    return sorted(left.elements(), key=repr)


@pytest.fixture
def stream(spark, tmp_path):
    return FileStream(spark, tmp_path / "events", SCHEMA)


@pytest.fixture
def ticks(spark, tmp_path):
    return FileStream(spark, tmp_path / "ticks", TICKS)


# The same as of a table ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ran(spark, tmp_path_factory):
    """Run a query over the same events once for each output."""
    rows = made_events(seed=9, keys=4)
    folder = tmp_path_factory.mktemp("streams")
    events = FileStream(spark, folder / "events", SCHEMA).add(*cut(rows, 3), END)
    prices = FileStream(spark, folder / "ticks", TICKS).add(*map(timed, cut(rows, 3)), timed(END))
    sinks = {}

    def run(name, output):
        if (name, output) not in sinks:
            clause = name == "row pattern"
            found = recognized(CLAUSE, prices.frame(), output=output) if clause else matched(QUERIES[name], events.frame(), output=output)
            sinks[name, output] = Sink(spark, folder / f"{name} {output}").run(found)
        return sinks[name, output]

    run.rows = rows
    return run


NAMES = (*QUERIES, "row pattern")
AT_ONCE = (("ceql", "final"), ("ceql", "early"), ("sase", "ordered"), ("absent", "early"), ("row pattern", "final"))
"""What is not left to CI: each query, and each output."""


@pytest.mark.parametrize(("name", "output"), at_once(product(NAMES, OUTPUTS), AT_ONCE))
def test_in_the_end_a_stream_has_given_the_result_of_a_table(ran, name, output):
    expected = of_ticks(CLAUSE, ran.rows + END) if name == "row pattern" else of_table(QUERIES[name], ran.rows + END)
    found = ran(name, output)
    assert len(expected) > 5
    found = added_up(found.rows()) if output == "early" else comparable(found.rows())
    assert found == expected


@pytest.mark.parametrize("name", at_once(NAMES, [name for name, output in AT_ONCE if output == "ordered"]))
def test_ordered_results_are_in_the_order_of_their_ends_across_micro_batches(ran, name):
    ends = [row["last"] for row in ran(name, "ordered").rows()]
    time = {row["n"]: row["ts"] for row in ran.rows}
    assert [time[end] for end in ends] == sorted(time[end] for end in ends)


@pytest.mark.parametrize("name", at_once(["absent", "row pattern"], ["absent"]))
def test_both_rows_of_a_match_that_is_taken_back_have_its_values_and_its_identity(ran, name):
    rows = ran(name, "early").rows()
    shown = {row["match_id"]: {**row, "change": "-"} for row in rows if row["change"] == "+"}
    taken = [row for row in rows if row["change"] == "-"]
    assert taken and all(shown[row["match_id"]] == row for row in taken)
    assert all(len(row["match_id"]) == 32 for row in rows)


@pytest.mark.parametrize("name", at_once(NAMES, [name for name, output in AT_ONCE if output == "final"]))
def test_results_come_out_while_the_stream_runs(ran, name):
    matches = ran(name, "final").counted("matches")
    assert len(matches) == 4 and all(matches[1:3])


def test_early_results_come_before_final_ones(ran):
    early, final = (ran("absent", output).rows(batches=1) for output in ("early", "final"))
    assert len(early) > len(final)


def test_the_watermark_is_the_latest_time_less_the_lateness(ran):
    watermarks = ran("ceql", "final").counted("watermark")
    assert watermarks[-1] == FAR - LATENESS
    assert watermarks[0] == max(row["ts"] for row in cut(ran.rows, 3)[0]) - LATENESS


def test_every_event_is_counted_once(ran):
    assert ran("ceql", "final").counted("events") == [*map(len, cut(ran.rows, 3)), 1]


def test_the_result_does_not_depend_on_how_spark_cuts_a_micro_batch(spark, stream, sink):
    rows = made_events(seed=2)
    stream.add(*cut(rows, 9), END)
    stream.files_at_once = 5
    with configured(spark, spark__sql__execution__arrow__maxRecordsPerBatch="1"):
        sink.run(matched(QUERIES["ceql"], stream.frame(), buckets=3))
    assert comparable(sink.rows()) == of_table(QUERIES["ceql"], rows + END)


def test_a_query_with_all_kinds_of_columns_gives_the_rows_of_a_table(spark, stream, sink):
    query = "SELECT * WHERE A AS a ; B AS b FILTER a.x > b.x PARTITION BY k WITHIN 10"
    rows = made_events(seed=3, size=100)
    sink.run(matched(query, stream.add(*cut(rows, 2), END).frame()))
    assert sink.read() == of_table(query, rows + END)


def test_conditions_that_only_spark_can_compute_are_kept(spark, stream, sink):
    query = "SELECT a.n AS first, upper(concat(a.kind, b.kind)) AS kinds WHERE A AS a ; B AS b FILTER sqrt(a.x + b.x) > 5 WITHIN 10"
    rows = made_events(seed=4, size=80)
    with pytest.warns(et.EventideWarning, match="no PARTITION BY"):
        found = et.query(query).match(given(stream.add(*cut(rows, 2), END).frame()), lateness=LATENESS, buckets=2)
    sink.run(found)
    assert comparable(sink.rows()) == of_table(query, rows + END)


def test_limit_keeps_as_many_matches_over_all_micro_batches(spark, stream, sink):
    rows = made_events(seed=5)
    query = "SELECT b.ts AS ended WHERE A ; B AS b PARTITION BY k WITHIN 9"
    sink.run(matched(f"{query} LIMIT 70", stream.add(*cut(rows, 3), END).frame()))
    ends = sorted(row["ended"] for row in sink.rows())
    assert ends == sorted(dict(row)["ended"] for row in of_table(query, rows + END))[:70]


# Going on ------------------------------------------------------------------------------------------------------------


@pytest.mark.connect
@pytest.mark.parametrize("output", at_once(OUTPUTS, ["early"]))
def test_a_run_goes_on_exactly_where_it_stopped(spark, stream, sink, output):
    rows = made_events(seed=6, size=160)
    first, second, third = cut(rows, 3)
    sink.run(matched(QUERIES["sase"], stream.add(first, second).frame(), output=output))
    sink.run(matched(QUERIES["sase"], stream.add(third, END).frame(), output=output))
    found = added_up(sink.rows()) if output == "early" else comparable(sink.rows())
    assert found == of_table(QUERIES["sase"], rows + END)


@pytest.mark.connect
def test_a_row_pattern_goes_on_where_it_stopped_and_counts_on(spark, ticks, sink):
    rows = made_events(seed=7, size=160)
    first, second = cut(rows, 2)
    sink.run(recognized(CLAUSE, ticks.add(timed(first)).frame()))
    sink.run(recognized(CLAUSE, ticks.add(timed(second), timed(END)).frame()))
    assert comparable(sink.rows()) == of_ticks(CLAUSE, rows + END)


def test_a_run_without_new_files_changes_nothing(spark, stream, sink):
    found = matched(QUERIES["ceql"], stream.add(made_events(size=60), END).frame())
    before = sink.run(found).rows()
    assert sink.run(found).rows() == before


@pytest.mark.connect
def test_another_number_of_shuffle_partitions_is_harmless(spark, stream, sink):
    rows = made_events(seed=8, size=160)
    first, second = cut(rows, 2)
    sink.run(matched(QUERIES["ceql"], stream.add(first).frame(), buckets=5))
    with configured(spark, spark__sql__shuffle__partitions="3"):
        sink.run(matched(QUERIES["ceql"], stream.add(second, END).frame(), buckets=5))
    assert comparable(sink.rows()) == of_table(QUERIES["ceql"], rows + END)


@pytest.mark.parametrize("output", ["final", pytest.param("early", marks=pytest.mark.long)])
def test_another_time_zone_of_the_session_is_harmless(spark, ticks, sink, output):
    query = "SELECT a, b.ts AS ended WHERE A AS a ; B AS b ; NOT C PARTITION BY k WITHIN 20 seconds"
    rows = timed(made_events(seed=18, size=100))
    first, second = cut(rows, 2)

    def run(*files):
        sink.run(matched(query, ticks.add(*files).frame(), lateness=f"{LATENESS} seconds", output=output))

    run(first)
    with configured(spark, spark__sql__session__timeZone="America/New_York"):
        run(second, timed(END))
    with quiet():
        expected = spark_rows(et.query(query).match(given(spark.createDataFrame(pa.Table.from_pylist(rows + timed(END), schema=TICKS)))))
    found = [row.asDict(recursive=True) for row in sink.frame().collect()]
    assert (added_up(found) if output == "early" else comparable(found)) == expected


def test_events_with_columns_of_other_types_are_refused(spark, tmp_path, stream, sink):
    from pyspark.errors import StreamingQueryException

    sink.run(matched(QUERIES["ceql"], stream.add(made_events(size=60)).frame()))
    narrow = FileStream(spark, stream.folder, schema_with(x=pa.int32()), written=1).add(END)
    with pytest.raises(StreamingQueryException, match=r"\[QUERY_CHANGED\]"):
        sink.run(matched(QUERIES["ceql"], narrow.frame()))


@pytest.fixture(scope="module")
def stopped(spark, tmp_path_factory):
    """Return a stream and the folder of a run over it that has stopped."""
    folder = tmp_path_factory.mktemp("stopped")
    stream = FileStream(spark, folder / "events", SCHEMA).add(made_events(size=60))
    Sink(spark, folder / "sink").run(matched(QUERIES["ceql"], stream.frame()))
    stream.add(END)
    return stream, folder / "sink"


@pytest.mark.connect
@pytest.mark.parametrize(
    ("query", "options", "condition"),
    [
        (QUERIES["ceql"].replace("WITHIN 25", "WITHIN 26"), {}, "QUERY_CHANGED"),
        (QUERIES["absent"], {}, "QUERY_CHANGED"),
        (QUERIES["ceql"], {"output": "early"}, "QUERY_CHANGED"),
        (QUERIES["ceql"], {"buckets": 3}, "BUCKETS_CHANGED"),
    ],
    ids=["window", "query", "output", "buckets"],
)
def test_a_checkpoint_of_another_run_is_refused(spark, stopped, tmp_path, query, options, condition):
    from pyspark.errors import StreamingQueryException

    stream, folder = stopped
    shutil.copytree(folder, tmp_path / "sink")
    with pytest.raises(StreamingQueryException, match=rf"\[{condition}\][\s\S]*Hint: "):
        Sink(spark, tmp_path / "sink").run(matched(query, stream.frame(), **options))


def test_a_query_that_is_only_written_otherwise_goes_on(spark, stopped, tmp_path):
    stream, folder = stopped
    shutil.copytree(folder, tmp_path / "sink")
    again = Sink(spark, tmp_path / "sink").run(matched(QUERIES["ceql"].replace(" ; ", "\n;\n").replace("WHERE", "where"), stream.frame()))
    assert again.counted("events") == [1]


# Late, without a time, nothing at all --------------------------------------------------------------------------------

LATE = [
    [{"ts": 10, "n": 0, "kind": "A", "k": 1, "x": 0}, {"ts": 2, "n": 1, "kind": "A", "k": 1, "x": 0}],
    [{"ts": 6, "n": 2, "kind": "B", "k": 1, "x": 0}, {"ts": 5, "n": 3, "kind": "B", "k": 1, "x": 0}, {"ts": 3, "n": 4, "kind": "Z", "k": 2, "x": 0}],
    END,
]
"""At the end of the first micro-batch the watermark is 6."""


def test_late_events_take_no_part_and_are_counted(spark, stream, sink):
    query = "SELECT a.n AS a, b.n AS b WHERE A AS a ; B AS b PARTITION BY k WITHIN 20"
    sink.run(matched(query, stream.add(*LATE).frame()))
    assert sink.rows() == [{"a": 1, "b": 2}]
    assert sink.counted("late") == [0, 1, 0]


@pytest.mark.connect
def test_late_events_of_all_kinds_are_listed_with_their_columns(spark, stream, sink):
    query = et.query("SELECT * WHERE A AS a ; B AS b PARTITION BY k WITHIN 20")
    late = query.late(given(stream.add(*LATE).frame()), lateness=LATENESS, buckets=2)
    assert late.columns == SCHEMA.names
    assert comparable(sink.run(late).rows()) == comparable(LATE[1][1:])


@pytest.mark.connect
def test_events_without_a_time_are_left_out_and_counted(spark, stream, sink):
    rows = made_events(seed=9, size=60)
    nameless = [{**row, "ts": None, "n": -row["n"]} for row in rows[:7]]
    sink.run(matched(QUERIES["ceql"], stream.add(nameless, rows + nameless, END).frame()))
    assert comparable(sink.rows()) == of_table(QUERIES["ceql"], rows + END)
    assert sink.counted("untimed") == [7, 7, 0]


def test_empty_micro_batches_change_nothing(spark, stream, sink):
    rows = made_events(seed=10, size=60)
    sink.run(matched(QUERIES["ceql"], stream.add([], rows[:30], [], [], rows[30:], END, []).frame()))
    assert comparable(sink.rows()) == of_table(QUERIES["ceql"], rows + END)


@pytest.mark.connect
def test_the_slowest_stream_rules_the_watermark(spark, tmp_path, sink):
    query = et.query("SELECT a.n AS a, b.n AS b FROM S1, S2 WHERE S1>A AS a ; NOT S2>C ; S2>B AS b WITHIN 20")
    one = FileStream(spark, tmp_path / "one", SCHEMA)
    two = FileStream(spark, tmp_path / "two", SCHEMA)

    def event(time, number, kind):
        return [{"ts": time, "n": number, "kind": kind, "k": 0, "x": 0}]

    def run():
        with quiet():
            sink.run(query.match(S1=given(one.frame()), S2=given(two.frame()), lateness=0, buckets=2))
        return sink.counted("watermark")[-1]

    one.add(event(10, 0, "A"))
    assert run() is None
    two.add(event(15, 1, "B"))
    assert (run(), sink.rows()) == (10, [])
    two.add(event(12, 2, "B") + event(16, 3, "Z"))
    one.add(event(100, 4, "A"))
    assert (run(), comparable(sink.rows())) == (16, comparable([{"a": 0, "b": 2}, {"a": 0, "b": 1}]))


# Many queries --------------------------------------------------------------------------------------------------------


@pytest.mark.connect
def test_queries_come_change_and_go_while_the_others_keep_their_partial_matches(spark, stream, sink):
    kept = "SELECT a.n AS a, b.n AS b WHERE A AS a ; B AS b PARTITION BY k WITHIN 50"
    changed = "SELECT a.n AS a, c.n AS c WHERE A AS a ; C AS c PARTITION BY k WITHIN 50"
    gone = "SELECT d.n AS d WHERE A ; D AS d PARTITION BY k WITHIN 50"
    new = "SELECT a.n AS a, d.n AS b WHERE A AS a ; D AS d WITHIN 50"

    def event(time, kind):
        return {"ts": time, "n": time, "kind": kind, "k": 1, "x": 0}

    def run(**texts):
        with quiet():
            sink.run(et.queries(texts).match(given(stream.frame()), buckets=2))

    stream.add([event(1, "A"), event(2, "Z")])
    run(kept=kept, changed=changed, gone=gone)
    stream.add([event(3, "A"), event(4, "B"), event(5, "C"), event(6, "D")], END)
    run(new=new, changed=changed.replace("50", "40"), kept=kept)
    found = {(row["query"], row["a"], row["b"], row.get("c")) for row in sink.rows()}
    assert found == {("kept", 1, 4, None), ("kept", 3, 4, None), ("changed", 3, None, 5), ("new", 3, 6, None)}


def test_many_queries_find_what_each_finds_alone(spark, stream, sink):
    rows = made_events(seed=11, size=120)
    with quiet():
        found = et.queries(QUERIES).match(given(stream.add(*cut(rows, 2), END).frame()), lateness=LATENESS, buckets=2)
    assert found.columns == ["query", "k", "first", "total", "last", "n"]
    sink.run(found)
    for name, query in QUERIES.items():
        expected = of_table(query, rows + END)
        columns = [column for column, _ in expected[0]]
        mine = [{column: row[column] for column in columns} for row in sink.rows() if row["query"] == name]
        assert comparable(mine) == expected


def test_columns_that_differ_in_upper_and_lower_case_only_are_one_as_in_a_table(spark, stream):
    texts = {"small": "SELECT a.n AS n WHERE A AS a ; B WITHIN 9", "large": "SELECT b.n AS N WHERE A ; B AS b WITHIN 9"}
    with quiet():
        found = et.queries(texts).match(given(stream.frame()))
        of_a_table = et.queries(texts).match(given(spark.createDataFrame(pa.Table.from_pylist(END, schema=SCHEMA))))
    assert found.columns == of_a_table.columns == ["query", "n"]


@pytest.mark.connect
@pytest.mark.parametrize("kind", ["json", "toml", "table"])
def test_a_registry_is_read_from_a_file_or_a_table(spark, tmp_path, stream, kind):
    texts = {"pairs": "SELECT a.n AS a WHERE A AS a ; B WITHIN 9", "others": "SELECT c.n AS c WHERE A ; C AS c WITHIN 9"}
    if kind == "table":
        registry = spark.createDataFrame([(*pair, True) for pair in texts.items()] + [("off", "nonsense", False)], "name string, query string, enabled boolean")
    else:
        registry = tmp_path / f"registry.{kind}"
        toml = "\n".join(f"{name} = '''{text}'''" for name, text in texts.items())
        registry.write_text(json.dumps(texts) if kind == "json" else toml, encoding="utf-8")
    with quiet():
        found = et.queries(registry).match(given(stream.add(END).frame()))
    assert found.isStreaming and found.columns == ["query", "a", "c"]


# Caps ----------------------------------------------------------------------------------------------------------------


def test_state_above_the_cap_stops_the_stream(spark, stream, sink):
    from pyspark.errors import StreamingQueryException

    found = matched(QUERIES["ceql"], stream.add(*cut(made_events(seed=12), 2)).frame(), max_state=2_000)
    with pytest.raises(StreamingQueryException, match=r"\[STATE_TOO_LARGE\][\s\S]*drop_oldest"):
        sink.run(found)


def test_the_oldest_partial_matches_are_dropped_where_that_is_asked_for(spark, stream, sink):
    query = "SELECT a.n AS first, b.n AS last WHERE A AS a ; B AS b PARTITION BY k WITHIN 100"
    rows = made_events(seed=13, size=600)
    sink.run(matched(query, stream.add(*cut(rows, 3), END).frame(), max_state=4_000, overflow="drop_oldest"))
    found, whole = sink.rows(), of_table(query, rows + END)
    assert sum(sink.counted("dropped")) > 0
    assert max(sink.counted("state_bytes")) <= 2 * 4_000
    assert 0 < len(found) < len(whole) and not Counter(comparable(found)) - Counter(whole)


# Inside SQL ----------------------------------------------------------------------------------------------------------


def test_sql_around_a_clause_filters_before_and_behind_it(spark, ticks, sink):
    rows = made_events(seed=14, size=120)
    inner = CLAUSE.replace("SELECT * FROM ticks", "FROM (SELECT * FROM ticks WHERE kind <> 'D')")
    text = f"SELECT k, upper('up') AS way, length * 10 AS tens {inner} WHERE length > 2"
    sink.run(recognized(text, ticks.add(*map(timed, cut(rows, 2)), timed(END)).frame()))
    assert sink.read() == of_ticks(text, rows + END) != []


@pytest.mark.connect
def test_two_clauses_of_one_statement_run_side_by_side(spark, ticks, sink):
    rows = made_events(seed=15, size=80)
    other = CLAUSE.replace("PATTERN (DOWN+ UP+)", "PATTERN (UP DOWN+)").replace("SELECT *", "SELECT 'peak' AS shape, first, last")
    text = f"{CLAUSE.replace('SELECT *', chr(39).join(('SELECT ', 'dip', ' AS shape, first, last')))} UNION ALL {other}"
    sink.run(recognized(text, ticks.add(*map(timed, cut(rows, 2)), timed(END)).frame()))
    assert sink.read() == of_ticks(text, rows + END)
    assert {dict(row)["shape"] for row in sink.read()} == {"dip", "peak"}
    assert all(sum(sink.counted("matches", name)) for name in ("eventide", "eventide_2"))


# Times and keys ------------------------------------------------------------------------------------------------------

PAIRS = "SELECT match_start, match_end, a.n AS a, b.n AS b WHERE A AS a ; B AS b PARTITION BY k WITHIN {window}"
NIGHT = datetime(2024, 3, 10, 6, 30)  # noqa: DTZ001 - half an hour before clocks in New York go forward
TIMES = {
    "timestamp": (pa.timestamp("us", "UTC"), lambda second: NIGHT.replace(tzinfo=UTC) + timedelta(minutes=second), "9 minutes", {}),
    "timestamp without a zone": (pa.timestamp("us"), lambda second: NIGHT - timedelta(minutes=300 - second), "9 minutes", {}),
    "date": (pa.date32(), lambda second: date(2024, 2, 1) + timedelta(days=second), "9 days", {}),
    "milliseconds": (pa.int64(), lambda second: 1_000 * second, "9 seconds", {"time_unit": "ms"}),
    "seconds": (pa.int32(), lambda second: second, "9 seconds", {"time_unit": "s"}),
}


@pytest.mark.connect
@pytest.mark.parametrize("kind", some_of(TIMES, "timestamp without a zone", "milliseconds"))
def test_times_of_all_kinds_mean_the_same_as_in_a_table_in_any_time_zone(spark, tmp_path, sink, kind):
    column, moment, window, roles = TIMES[kind]
    schema = schema_with(ts=column)
    rows = [{**row, "ts": moment(row["ts"])} for row in made_events(seed=16, size=60)]
    last = [{**END[0], "ts": moment(20_000)}]
    stream = FileStream(spark, tmp_path / "events", schema).add(*cut(rows, 2), last)
    query = PAIRS.format(window=window)
    lateness = window.replace("9", str(LATENESS))
    with configured(spark, spark__sql__session__timeZone="America/New_York"), quiet():
        expected = spark_rows(et.query(query).match(given(stream.table(), **roles)))
        sink.run(et.query(query).match(given(stream.frame(), **roles), lateness=lateness, buckets=2))
        assert sink.read() == expected
    assert len(expected) > 5


KEYS = {
    "text": (pa.string(), ["", "a", "A", None, "ä"]),
    "whole numbers": (pa.int32(), [0, 1, -1, None, 7]),
    "decimals": (pa.decimal128(8, 2), [Decimal("1.00"), Decimal("1.01"), None, Decimal("-5.50"), Decimal(0)]),
    "doubles": (pa.float64(), [0.0, -0.0, math.nan, None, 1.5]),
}


@pytest.mark.parametrize("kind", some_of(KEYS, "text", "doubles"))
def test_keys_of_all_kinds_are_those_of_a_table(spark, tmp_path, sink, kind):
    column, keys = KEYS[kind]
    schema = schema_with(k=column)
    rows = [{**row, "k": keys[row["k"]]} for row in made_events(seed=17, size=80)]
    last = [{**END[0], "k": None}]
    query = "SELECT k, a.n AS a, b.n AS b WHERE A AS a ; B AS b PARTITION BY k WITHIN 20"
    stream = FileStream(spark, tmp_path / "events", schema).add(*cut(rows, 2), last)
    table = spark.createDataFrame(pa.Table.from_pylist(rows + last, schema=schema))
    expected = spark_rows(et.query(query).match(given(table)))
    sink.run(matched(query, stream.frame()))
    assert len({row[0] for row in expected}) >= 4
    assert sink.read() == expected


# Before the start ----------------------------------------------------------------------------------------------------


def test_the_schema_is_known_before_the_start(spark, stream):
    found = matched("SELECT a.x, COUNT(b) AS n, AVG(b.x) AS mean, b WHERE A AS a ; B+ AS b WITHIN 9", stream.frame())
    assert [field.simpleString() for field in found.schema][:3] == ["x:bigint", "n:bigint", "mean:double"]
    assert found.schema["b"].dataType.simpleString().startswith("array<struct<ts:bigint,n:bigint")


def test_early_results_have_a_change_and_an_identity(spark, stream):
    assert matched(QUERIES["ceql"], stream.frame(), output="early").columns == ["change", "match_id", "k", "first", "total", "last"]


def test_the_schema_of_a_clause_is_known_before_the_start(spark, ticks):
    kinds = [field.simpleString() for field in recognized(CLAUSE, ticks.frame()).schema]
    assert kinds == ["k:bigint", "first:bigint", "last:bigint", "length:bigint", "number:bigint"]


@pytest.mark.connect
@pytest.mark.parametrize(
    ("query", "warning"),
    [
        ("SELECT * WHERE A ; B PARTITION BY k", "no WITHIN"),
        ("SELECT * WHERE A ; B PARTITION BY k WITHIN 5 events", "not a duration"),
        ("SELECT * WHERE A ; B WITHIN 5", "no PARTITION BY"),
    ],
)
def test_what_grows_or_does_not_scale_is_warned_of_before_the_start(spark, stream, query, warning):
    with pytest.warns(et.EventideWarning, match=warning):
        et.query(query).match(given(stream.frame()), lateness=0)


def test_a_row_pattern_without_a_bound_is_warned_of_before_the_start(spark, ticks):
    with pytest.warns(et.EventideWarning, match="not bounded"):
        et.sql(CLAUSE.replace("WITHIN 40 SECONDS", ""), ticks=ticks.frame(), lateness=0)


@pytest.mark.parametrize(
    ("options", "condition"),
    [
        ({"output": "soon"}, "UNKNOWN_OUTPUT"),
        ({"overflow": "forget"}, "UNKNOWN_OVERFLOW"),
        ({"buckets": 0}, "BAD_SETTING"),
        ({"lateness": "soon"}, "BAD_LATENESS"),
        ({"lateness": -1}, "BAD_LATENESS"),
    ],
)
def test_bad_settings_are_refused_before_the_start(spark, stream, options, condition):
    with pytest.raises(et.BindError, match=condition):
        matched(QUERIES["ceql"], stream.frame(), **options)


def test_a_table_beside_a_stream_is_refused(spark, stream):
    table = spark.createDataFrame(pa.Table.from_pylist(END, schema=SCHEMA))
    with pytest.raises(et.BindError, match="MIXED_STREAMS"):
        et.query("SELECT * FROM S1, S2 WHERE S1>A ; S2>B").match(S1=given(stream.frame()), S2=given(table))
