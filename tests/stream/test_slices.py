"""Streams whose matches are found in slices: each takes all events, together they find each match once, and count no event twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eventide as et
from eventide import pipeline
from eventide.errors import BindError, DataError
from eventide.plan.matchers.protocol import DAG
from eventide.plan.matchers.slices import why_not_sliced
from eventide.runtime.options import RunOptions
from eventide.runtime.prepare.sequences import CLOCK
from eventide.runtime.relational.dialect import DuckDialect
from eventide.runtime.streams.bucket import BucketOutput, Counters
from eventide.runtime.streams.bucket_numbers import place_numbers, spark_hash
from eventide.runtime.streams.job import BucketSlice, StreamJob
from eventide.runtime.streams.planning.jobs import Projection, Spreading, StreamOptions, event_query
from eventide.runtime.streams.planning.slices import distribute_stream
from eventide.runtime.streams.spark.processor import COUNTED, COUNTERS, emitted_frames
from eventide.runtime.streams.state_bytes import table_of
from harness.checking import check
from harness.kind import Tally
from harness.kinds.sequences.kind import SequenceCase, Sequences
from harness.seeds import seeds
from harness.stream_ways import fed, never_certain, run_of, stream_options
from harness.ways import Unable, Way
from stream.driving import Run
from stream.reading import Story, read_stories
from stream.test_buckets import ROLES, feed, matches, resumed, running
from stream.test_stories import begin, shown
from stream.test_stories import events_of as story_events

CASES = 15
FEWEST_MATCHES = 20
EXPLODING = "SELECT * WHERE A AS a ; B+ AS b ; C AS c WITHIN 100"
BURST = "a1 " + " ".join(f"b{time}" for time in range(2, 12)) + " c12"
SAME = ("events", "untimed", "late", "matches", "expired", "held", "partial")
"""Counters that do not show how many slices there are."""


def totals(run: Run) -> dict[str, int]:
    return {name: sum(counters[name] for counters in run.counters) for name in SAME}


# Random queries ---------------------------------------------------------------------------------------------------------


def run_sliced(case: SequenceCase, rng: Random) -> pa.Table:
    """Run a case with and without slices, which must count alike."""
    output, slices = rng.choice(("final", "ordered")), rng.choice((2, 3, 5))
    options = stream_options(case, rng, output)
    plain = run_of(case, options, DAG)
    if why_not_sliced(plain.plans["q"]) is not None or never_certain(plain):
        raise Unable
    sliced = fed(run_of(case, replace(options, slices=slices), DAG), case)
    whole = fed(plain, case)
    wrong = case.expected.disagreement(whole.result("q"))
    assert wrong is None, f"without slices: {wrong}"
    assert totals(sliced) == totals(whole)
    return sliced.result("q")


SLICED = Way("sliced", run_sliced, refusals=frozenset({"LIMIT_UNDECIDED", "ORDER_WITHOUT_TIME", "MATCHER_NOT_SOUND"}))
STREAMS = Sequences(streams=6, shared_streams=6, late=True)


def check_cases(seed: int, cases: int) -> None:
    """Compare random queries until that many could be run in slices."""
    tally = Tally()
    rng = Random(seed)
    while tally.ways["sliced"] < cases:
        for case in STREAMS.draw(rng):
            check(STREAMS, case, (SLICED,), tally)
    assert tally.found > FEWEST_MATCHES


@pytest.mark.parametrize("seed", seeds(2, quick=1))
def test_slices_of_a_stream_agree_with_the_whole_and_with_the_oracle(seed: int) -> None:
    check_cases(seed, CASES)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1020))
def test_slices_of_many_more_streams_agree_with_the_oracle(seed: int) -> None:
    check_cases(seed, 10 * CASES)


def test_stories_end_with_the_same_matches_in_slices() -> None:
    told = 0
    for story in read_stories():
        final = Story(story.name, {**story.settings, "output": "final", "matcher": DAG}, story.steps)
        whole = begin(final)
        if why_not_sliced(whole.plans["q"]) is not None:
            continue
        options = StreamOptions(int(story.settings["lateness"]), buckets=2, slices=3)
        sliced = Run(whole.queries, whole.events, options, force=DAG)
        for step in story.steps:
            if step.words == ["crash"]:
                sliced = resumed(sliced, Run(whole.queries, whole.events, options, force=DAG))
                continue
            lines = [
                sorted(shown(run, run.advance_clock() if step.words == ["end"] else run.feed({"stream": story_events(step.words)})))
                for run in (whole, sliced)
            ]
            assert lines[0] == lines[1], story.name
        told += 1
    assert told > 10


# What each slice finds --------------------------------------------------------------------------------------------------


def test_slices_find_different_matches_in_even_shares() -> None:
    run = running(EXPLODING, StreamOptions(buckets=2, slices=4))
    emitted = run.feed({"stream": story_events(BURST.split())}) + run.advance_clock()
    shares = [result.counters.matches for result in emitted if result.counters.matches]
    assert len(shares) == 4 and sum(shares) == 2**10 - 1
    assert max(shares) - min(shares) <= 4
    lines = shown(run, emitted)
    assert len(set(lines)) == len(lines) == 2**10 - 1


def test_matches_that_end_with_one_event_are_shared_out_whatever_batch_began_them() -> None:
    run = running(EXPLODING, StreamOptions(buckets=2, slices=3))
    for word in BURST.split():
        feed(run, word)
    feed(run, "x13")
    shares = [counters["matches"] for counters in run.counters if counters["matches"]]
    assert len(shares) == 3 and sum(shares) == 2**10 - 1
    assert max(shares) - min(shares) <= 3


def test_late_events_and_keys_that_are_given_up_are_counted_once() -> None:
    runs = [running(EXPLODING.replace(" WITHIN 100", " PARTITION BY k WITHIN 5"), StreamOptions(slices=slices)) for slices in (1, 3)]
    for run in runs:
        for words in ("a1/p b2/p c3/p a3/q", "a9/p b9/q", "a1/p c2/q b9/q", "x30/p"):
            feed(run, words)
    plain, sliced = map(totals, runs)
    assert plain == sliced
    assert plain["late"] == 2 and plain["events"] == 10 and plain["expired"] > 0


def test_every_slice_holds_the_state_of_its_keys() -> None:
    plain, sliced = (running(EXPLODING, StreamOptions(slices=slices)) for slices in (1, 4))
    for run in (plain, sliced):
        feed(run, BURST)
    sizes = [sum(counters["state_bytes"] for counters in run.counters if counters["state_bytes"] > 2000) for run in (plain, sliced)]
    assert sizes[0] > 0
    assert 3.5 < sizes[1] / sizes[0] < 4.5


def test_only_buckets_with_events_have_slices() -> None:
    assert len(running(EXPLODING, StreamOptions(buckets=16, slices=4)).job.places()) == 16 + 3
    assert len(running("SELECT * WHERE A ; B+ PARTITION BY k WITHIN 5", StreamOptions(buckets=16, slices=4)).job.places()) == 64


def test_queries_with_and_without_slices_share_a_run() -> None:
    texts = {"sliced": EXPLODING, "whole": "SELECT NEXT * WHERE A AS a ; B AS b WITHIN 5", "keyed": "SELECT * WHERE A ; B PARTITION BY k WITHIN 5"}
    run = running(texts, StreamOptions(buckets=4), registry=True)
    projection, alone = Projection(), StreamOptions(buckets=4)
    dialect = DuckDialect()
    spreading = Spreading(projection, dialect, 4)
    clock = projection.add(CLOCK)
    queries = tuple(
        event_query(name, plan, dialect, StreamOptions(buckets=4, slices=3) if name == "sliced" else alone, projection, spreading)
        for name, plan in run.plans.items()
    )
    mixed = running(texts, alone, registry=True)
    mixed.job = StreamJob(queries, tuple(spreading.hashings), clock, 1, None, 0, 4, registry=True)
    mixed.work = replace(mixed.work, job=mixed.job, columns=projection.columns())
    for words in ("a1/p b2/p", "b3/p b4/q c5/p a5/q b1/p", "b6/q c7/p", "x50/p"):
        feed(run, words)
        feed(mixed, words)
    assert totals(run) == totals(mixed)
    for name in texts:
        assert matches(mixed, name) == matches(run, name)
    assert len(matches(run, "sliced")) > 8


def test_what_leaves_a_bucket_is_cut_where_it_is_large_and_counted_once() -> None:
    emitted = BucketOutput([("q", pa.table({"n": [number]})) for number in range(5)], Counters(matches=5))
    whole, cut = (list(emitted_frames(emitted, most_bytes)) for most_bytes in (1 << 20, 300))
    assert [len(frame) for frame in whole] == [6]
    assert len(cut) > 2
    for frames in (whole, cut):
        tables = [table_of(body) for frame in frames for body in frame["body"] if body is not None]
        assert [table["n"][0].as_py() for table in tables] == list(range(5))
        counted = [row for frame in frames for row in frame[COUNTED] if row is not None]
        assert [dict(zip(COUNTERS, row, strict=True))["matches"] for row in counted] == [5]


# Restarts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1), (3, 4), (4, 2)])
@pytest.mark.parametrize("text", [EXPLODING, EXPLODING.replace(" WITHIN", " PARTITION BY k WITHIN")])
def test_another_number_of_slices_is_refused(text: str, before: int, after: int) -> None:
    run = running(text, StreamOptions(slices=before))
    feed(run, "a1/p b2/p")
    way_back = "Leave distribution and slices out" if before == 1 else f"Give slices={before}"
    with pytest.raises(DataError, match=rf"SLICES_CHANGED(.|\n)*slices={before}(.|\n)*slices={after}(.|\n)*{way_back}"):
        feed(resumed(run, running(text, StreamOptions(slices=after))), "c3/p")


def test_slices_make_another_query_of_the_state() -> None:
    one, two = (running(EXPLODING, StreamOptions(slices=slices)).job.queries[0].owner for slices in (1, 2))
    assert two.change_since(one.written()) == "slices was 1 and is 2"


# Places -----------------------------------------------------------------------------------------------------------------


def test_a_bucket_keeps_its_number_whatever_slices_there_are() -> None:
    alone = running(EXPLODING, StreamOptions(buckets=3)).job.places()
    sliced = running(EXPLODING, StreamOptions(buckets=3, slices=4)).job.places()
    assert set(alone.values()) == {BucketSlice(0), BucketSlice(1), BucketSlice(2)}
    assert all(sliced[number] == place for number, place in alone.items())
    assert len(set(sliced.values())) == len(sliced)


@pytest.mark.parametrize("tasks", [2, 3, 4, 8, 12, 16, 24, 32, 36, 64, 200])
def test_the_slices_of_a_bucket_go_to_different_tasks(tasks: int) -> None:
    slices = min(tasks, 16)
    numbers = place_numbers(16, tuple(range(16)), slices)
    assert len(set(numbers.values())) == len(numbers) == 16 * slices
    for bucket in range(16):
        own = np.array([numbers[bucket, part] for part in range(slices)])
        assert len(set((spark_hash(own) % tasks).tolist())) == slices


@pytest.mark.parametrize("tasks", [1, 2, 3, 4, 8, 16, 200])
@pytest.mark.parametrize("buckets", [1, 4, 16, 48])
def test_tasks_share_the_buckets_evenly(buckets: int, tasks: int) -> None:
    numbers = np.array(list(place_numbers(buckets, (), 1).values()))
    shares = np.bincount(spark_hash(numbers) % tasks, minlength=tasks)
    assert shares.max() - shares.min() <= 1


def test_a_bucket_has_its_number_whatever_others_there_are() -> None:
    few, many = place_numbers(8, (), 1), place_numbers(16, tuple(range(16)), 5)
    assert all(many[place] == number for place, number in few.items())


# What is chosen, and what is refused ------------------------------------------------------------------------------------


def chosen(text: str, matcher: str | None = None, **given: Any) -> Any:
    query = et.query(text)
    options = RunOptions(matcher=matcher, **given)
    return distribute_stream(pipeline.plan(query.model, query.input_of(None, ROLES), options), options, 4)


KEYED = EXPLODING.replace(" WITHIN", " PARTITION BY k WITHIN")


@pytest.mark.parametrize(
    ("text", "given", "slices"),
    [
        (EXPLODING, {}, 1),
        (EXPLODING, {"slices": 3}, 3),
        (EXPLODING, {"slices": 1}, 1),
        (EXPLODING, {"distribution": "slices"}, 4),
        (EXPLODING, {"distribution": "slices", "slices": 1}, 1),
        (EXPLODING, {"distribution": "shuffled_slices", "slices": 2}, 2),
        (EXPLODING, {"distribution": "plain"}, 1),
        (EXPLODING, {"distribution": "auto"}, 4),
        (EXPLODING, {"distribution": "auto", "slices": 2}, 2),
        (EXPLODING, {"distribution": "auto", "output": "early"}, 1),
        (EXPLODING, {"distribution": "auto", "overflow": "drop_oldest"}, 1),
        (KEYED, {"distribution": "auto"}, 1),
        (KEYED, {"distribution": "slices"}, 4),
        ("SELECT * WHERE A AS a ; B+ AS b FILTER a.k = b.k WITHIN 9", {"distribution": "auto"}, 1),
        ("SELECT * WHERE A ; B ; C WITHIN 9", {"distribution": "auto"}, 1),
        ("SELECT STRICT * WHERE A ; B+ ; C WITHIN 9", {"distribution": "auto"}, 1),
        ("SELECT LAST * WHERE A ; B+ ; C WITHIN 9", {"distribution": "auto"}, 1),
    ],
)
def test_a_stream_is_sliced_where_it_is_asked_for_or_known_to_explode(text: str, given: dict[str, Any], slices: int) -> None:
    assert chosen(text, **given).slices == slices


def test_what_was_chosen_says_why() -> None:
    assert "4 times as much state" in str(chosen(EXPLODING, distribution="auto"))
    assert str(chosen(KEYED, distribution="auto")) == "buckets of keys (not sliced: partitioned by k)"
    assert str(chosen(KEYED)) == "buckets of keys"


@pytest.mark.parametrize(
    ("text", "given", "reason"),
    [
        (EXPLODING + " LIMIT 3", {}, "LIMIT counts"),
        (EXPLODING + " CONSUME BY PARTITION", {}, "CONSUME BY"),
        (EXPLODING.replace("SELECT", "SELECT NEXT"), {}, "NEXT compares"),
        (EXPLODING.replace("*", "COUNT(*) AS n") + " GROUP BY END", {}, "all matches together"),
        (EXPLODING, {"output": "early"}, "early output"),
        (EXPLODING, {"overflow": "drop_oldest"}, "drop"),
        ("SELECT * WHERE A ; B WITHIN 5", {"matcher": "disorder"}, "disorder-native"),
    ],
)
@pytest.mark.parametrize("way", [{"distribution": "slices"}, {"slices": 2}])
def test_slices_are_refused_where_matches_cannot_be_found_apart(text: str, given: dict[str, Any], reason: str, way: Any) -> None:
    with pytest.raises(BindError, match=f"SLICES_NOT_SOUND.*{reason}"):
        chosen(text, **given, **way)


@pytest.mark.parametrize("way", ["round_robin", "two_choices", "least_loaded", "maximal"])
def test_ways_that_ship_candidates_are_for_tables(way: str) -> None:
    with pytest.raises(BindError, match=r'ONLY_ON_TABLES(.|\n)*distribution="slices"'):
        chosen(EXPLODING, distribution=way)


def test_sequences_that_would_be_matched_as_they_arrive_wait_for_their_order_in_slices() -> None:
    runs = [running("SELECT * WHERE A AS a ; B AS b WITHIN 9", StreamOptions(3, slices=slices)) for slices in (1, 2)]
    for run in runs:
        feed(run, "b3 a1 a2 b4")
    assert [len(matches(run)) for run in runs] == [4, 0]
    for run in runs:
        feed(run, "x20")
    assert Counter(matches(runs[0])) == Counter(matches(runs[1]))
