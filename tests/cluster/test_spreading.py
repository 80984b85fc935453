"""All ways to spread the matches of a query give the oracle's set, each match once, in even shares (Abella 2022, 4 and 5)."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import eventide as et
from cluster.running import REFINED, Spread, variation
from eventide.match.dag.enumeration import MatchBatch
from eventide.match.spread.assignment import Assigner
from eventide.match.spread.maximal import configurations, cut_by_configuration, hand_out, maximal_matches, parts
from eventide.match.spread.tries import Parts
from eventide.runtime.spread.distribution import refuse_unsound
from eventide.runtime.spread.estimate import Estimate, EstimateRow, estimate_of
from match.building import stream

SEEDS = range(12)
WAYS = ("plain", "slices", *REFINED)
WITHOUT_MAXIMAL = WAYS[:-1]
CHAINS = [
    "SELECT * WHERE A AS a ; B AS b ; C AS c",
    "SELECT * WHERE A AS a ; B+ AS b ; C AS c FILTER a.v = b.v",
    "SELECT * WHERE A+ AS a ; B+ AS b ; C AS c FILTER a.v = b.v WITHIN 6 events",
    "SELECT * WHERE A+ AS a ; B+ AS b FILTER a.v <= b.v PARTITION BY key WITHIN 7",
    "SELECT * WHERE A AS a ; B+ AS b ; C AS c FILTER b.v <= NEXT(b.v) AND COUNT(b) >= 2",
    "SELECT * WHERE A+ AS a ; B AS b ; C+ AS c FILTER SUM(a.v) <= MAX(c.v) AND a.s = b.s WITHIN 8",
    "SELECT * WHERE A AS a ; B+ AS b ; C AS c FILTER CONCAT(a.s, c.s) = 'xx'",
]
OTHERS = [
    "SELECT * WHERE A AS a ; (B AS b OR C AS c)+ ; A AS d FILTER a.v <= d.v WITHIN 6 events",
    "SELECT * WHERE (A AS a AND B+ AS b) ; C AS c FILTER a.v <= b.v",
    "SELECT * WHERE A AS a ; NOT D ; B+ AS b ; C AS c FILTER a.v = c.v",
    "SELECT * WHERE NOT D AS d ; A AS a ; B AS b FILTER a.v <= b.v WITHIN 5",
    "SELECT * WHERE A AS a ; B+ AS b ; NOT D WITHIN 6",
    "SELECT * WHERE A AS a ; B{1,2} AS b ; C AS c FILTER b.v <= c.v PARTITION BY key",
    "SELECT STRICT * WHERE A+ AS a ; B+ AS b FILTER a.v <= b.v",
]


def drawn(seed, length=10):
    draw = random.Random(seed)
    times = sorted(draw.randrange(2 * length) for _ in range(length))
    return stream(
        " ".join(f"{draw.choice('aabbbccd')}{time}" for time in times),
        keys=[draw.choice([1, 2]) for _ in range(length)],
        v=[draw.choice([1, 2, 3, None]) for _ in range(length)],
        s=[draw.choice(["x", "y"]) for _ in range(length)],
    )


def check(spread, ways, number):
    expected = spread.expected()
    for way in ways:
        assert sorted(match for part in spread.tasks(way, number) for match in part) == expected, way
    return len(expected)


@pytest.mark.parametrize("text", [*CHAINS, *OTHERS])
def test_all_ways_find_what_the_oracle_finds(text):
    ways = WAYS if text in CHAINS else WITHOUT_MAXIMAL
    assert sum(check(Spread(text, drawn(f"{text} {seed}")), ways, 1 + seed % 5) for seed in SEEDS)


@pytest.mark.parametrize("way", WAYS[1:])
def test_more_tasks_than_matches_leave_some_without_work(way):
    tasks = Spread("SELECT * WHERE A AS a ; B AS b", stream("ab")).tasks(way, 5)
    assert sorted(map(len, tasks)) == [0, 0, 0, 0, 1]


@pytest.mark.parametrize("way", WAYS[1:])
def test_no_events_are_no_matches(way):
    assert Spread("SELECT * WHERE A AS a ; B AS b", []).tasks(way, 3) == [[], [], []]


# Abella 2022, example 1.1 -----------------------------------------------------------------------------------------------

FIRES = stream("hthhthhtt", keys=[1, 1, 2, 1, 2, 2, 1, 1, 1], v=[50, 24, 49, 24, 24, 42, 23, 40, 45])
FIRE_QUERY = """SELECT * WHERE T AS t1 ; {middle} AS h1 ; {last} AS t2
FILTER t1.v < 30 AND h1.v < 25 AND t2.v {more} 40 AND t1.key = h1.key AND h1.key = t2.key WITHIN 10 events"""
NINE = [(1, 3, 7), (1, 6, 7), (1, 3, 6, 7), (1, 3, 8), (1, 6, 8), (1, 3, 6, 8), (1, 3, 7, 8), (1, 6, 7, 8), (1, 3, 6, 7, 8)]


@pytest.mark.parametrize("way", WITHOUT_MAXIMAL)
@pytest.mark.parametrize(
    ("middle", "last", "more", "expected"),
    [
        ("H", "T", ">", [(1, 3, 8), (1, 6, 8)]),
        ("H", "T", ">=", [(1, 3, 7), (1, 3, 8), (1, 6, 7), (1, 6, 8)]),
        ("H+", "T+", ">=", NINE),
        ("H+", "T+", ">", [(1, 3, 8), (1, 6, 8), (1, 3, 6, 8)]),
    ],
)
def test_the_fires_are_found_by_every_way(way, middle, last, more, expected):
    spread = Spread(FIRE_QUERY.format(middle=middle, last=last, more=more), FIRES)
    found = [match for part in spread.tasks(way, 3) for match in part]
    assert sorted(tuple(sorted(event for _, bound in match for event in bound)) for match in found) == sorted(expected)


# Abella 2022, example 4.1 and A.2: maximal matches ----------------------------------------------------------------------


def maximal(letters, steps, repeats):
    step_of = np.array([steps.find(letter) for letter in letters], np.int8)
    begins = np.zeros(len(letters), np.uint8)
    begins[0] = 1
    clock = np.arange(len(letters))
    low = np.full(len(letters), np.iinfo(np.int64).min)
    return maximal_matches(step_of, begins, np.array(repeats, np.uint8), clock, low, 1000)


def rows_of(found):
    return [tuple(found.row[a:b].tolist()) for a, b in zip(found.offset, found.offset[1:], strict=False)]


def expanded(found):
    """Make the parts of maximal matches; returns the parts of each configuration, and how many were suppressed."""
    made, suppressed = {}, 0
    for share in cut_by_configuration(found):
        lengths = np.diff(found.offset)[share.matches]
        rows = np.concatenate([found.row[found.offset[m] : found.offset[m + 1]] for m in share.matches])
        offset = np.concatenate([[0], np.cumsum(lengths)])
        configuration = np.array(share.configuration, np.int32)
        made_here = Parts(offset, rows, found.size[share.matches], configuration, np.arange(len(configuration), dtype=np.int32))
        made[share.configuration] = [part for batch in made_here for part in rows_of(batch)]
        suppressed += made_here.duplicates
    return made, suppressed


def test_two_maximal_matches_share_a_part_that_comes_out_once():
    found = maximal("THTH", "TH", [1, 1])
    assert sorted(rows_of(found)) == [(0, 1, 3), (0, 2, 3)]
    made, suppressed = expanded(found)
    assert len(made) == 3
    assert sorted(part for group in made.values() for part in group) == [(0, 1), (0, 1, 3), (0, 2, 3), (0, 3), (2, 3)]
    assert suppressed == 1


def test_a_match_of_two_and_three_has_six_configurations():
    found = maximal("TTHHH", "TH", [1, 1])
    assert found.size.tolist() == [[2, 3]]
    assert configurations([2, 3]) == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]


def test_three_maximal_matches_make_23_parts_of_which_6_are_suppressed():
    found = maximal("ABABABC", "ABC", [1, 1, 0])
    assert sorted(rows_of(found)) == [(0, 1, 3, 5, 6), (0, 2, 3, 5, 6), (0, 2, 4, 5, 6)]
    made, suppressed = expanded(found)
    assert sorted(sum(parts(sizes, c) for c in configurations(sizes)) for sizes in found.size.tolist()) == [7, 7, 9]
    assert sum(map(len, made.values())) == 17
    assert suppressed == 6


@pytest.mark.parametrize(
    ("sizes", "counts"), [([1, 2, 2, 1], [4, 2, 2, 1]), ([1, 2, 3, 2], [12, 6, 12, 6, 4, 2, 6, 3, 6, 3, 2, 1])]
)
def test_configurations_have_the_counts_of_the_worked_example(sizes, counts):
    assert [parts(sizes, configuration) for configuration in configurations(sizes)] == counts


def test_the_largest_configurations_are_handed_out_first():
    work = cut_by_configuration(maximal("ABBCCCDD", "ABCD", [1, 1, 1, 1]))
    assert [share.cost for share in work] == sorted((share.cost for share in work), reverse=True)
    loads = np.bincount(hand_out(work, 3), [share.cost for share in work])
    assert loads.max() - loads.min() <= 6


# Abella 2022, 6.2 -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("pattern", "letters", "count"),
    [
        ("A AS a ; B AS b ; C AS c", "a" * 12 + "b" * 12 + "c", 144),
        ("A AS a ; B+ AS b ; C AS c", "a" + "b" * 9 + "c", 511),
        ("A+ AS a ; B+ AS b ; C AS c", "ab" * 4 + "c", 49),
        ("A+ AS a ; B+ AS b ; C AS c", "ab" * 5 + "c", 129),
    ],
)
def test_the_streams_of_the_experiments_have_their_counts(way, pattern, letters, count):
    found = [match for part in Spread(f"SELECT * WHERE {pattern}", stream(letters)).tasks(way, 4) for match in part]
    assert len(found) == len(set(found)) == count


# Balance ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [100, 50, 25])
@pytest.mark.parametrize("way", ["slices", "round_robin", "two_choices", "least_loaded"])
def test_a_window_that_leaves_few_matches_leaves_them_in_even_shares(way, window):
    spread = Spread(f"SELECT * WHERE A AS a ; B AS b WITHIN {window} events", stream("a" * 100 + "b"))
    sizes = [len(part) for part in spread.tasks(way, 4)]
    assert sum(sizes) == window
    assert variation(sizes) < 0.3


@pytest.mark.parametrize("way", WAYS[1:])
@pytest.mark.parametrize("letters", ["a" + "b" * 10 + "c", "ab" * 7 + "c"])
def test_shares_vary_as_little_as_in_the_experiments(way, letters):
    spread = Spread("SELECT * WHERE A+ AS a ; B+ AS b ; C AS c", stream(letters))
    assert variation([len(part) for part in spread.tasks(way, 4)]) < 0.3


@pytest.mark.parametrize("strategy", ["round_robin", "two_choices", "least_loaded"])
def test_handing_out_goes_on_from_batch_to_batch_and_is_the_same_every_time(strategy):
    spread = Spread("SELECT * WHERE A AS a ; B+ AS b", stream("a" + "b" * 6))
    first, second = ([len(part) for part in spread.tasks(strategy, 3)] for _ in range(2))
    assert first == second
    assert sum(first) == 63


def test_the_less_loaded_of_two_gets_the_match():
    assigner = Assigner("least_loaded", 3)
    assigner.loads[:] = [5.0, 1.0, 2.0]
    found = [np.zeros(1, np.int32), np.zeros(1, np.int32), np.array([0, 3]), np.arange(3, dtype=np.int32)]
    assert assigner.assign(MatchBatch(*found, np.array([0, 1, 1], np.int32))).tolist() == [1]
    # A single event and a run of two weigh 1 and 3.
    assert assigner.loads.tolist() == [5.0, 5.0, 2.0]


# Refusals ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT NEXT * WHERE A ; B", "NEXT compares"),
        ("SELECT * WHERE A ; B LIMIT 3", "LIMIT"),
        ("SELECT * WHERE A ; B CONSUME BY ANY", "CONSUME BY"),
        ("SELECT b WHERE A AS a ; B+ AS b FILTER a.v <= b.v", "forgotten variables"),
        ("PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match(a, b[], c) { a.v <= b[i].v } WITHIN 8", "runs"),
    ],
)
@pytest.mark.parametrize("way", ["slices", "shuffled_slices", *REFINED])
def test_matches_that_depend_on_each_other_are_not_spread(text, reason, way):
    plan = Spread(text, stream("ab", keys=[1, 1], v=[1, 1])).plan
    with pytest.raises(et.BindError, match=f"SLICES_NOT_SOUND.*{reason}"):
        refuse_unsound(plan, way, 2)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT * WHERE A AS a ; A AS b ; B AS c", "occurs twice"),
        ("SELECT * WHERE (A AS a OR B+ AS b) ; C AS c", "sequence of single events"),
        ("SELECT * WHERE A AS a ; B{2,} AS b", "sequence of single events"),
        ("SELECT * WHERE A AS a ; B* AS b ; C AS c", "sequence of single events"),
        ("SELECT * WHERE (A AS a AND B AS b)", "sequence of single events"),
        ("SELECT * WHERE A AS a : B AS b", "sequence of single events"),
        ("SELECT * WHERE A AS a ; NOT D ; B AS b", "NOT forbids"),
        ("SELECT STRICT * WHERE A AS a ; B+ AS b", "contiguous"),
    ],
)
def test_maximal_matches_are_refused_where_their_parts_are_not_the_matches(text, reason):
    plan = Spread(text, stream("ab")).plan
    with pytest.raises(et.BindError, match=f"MAXIMAL_NOT_SOUND.*{reason}"):
        refuse_unsound(plan, "maximal", 2)


def test_an_unknown_distribution_is_named_with_what_was_meant():
    events = et.events(pa.table({"time": [1], "type": ["A"]}), time="time", type="type")
    with pytest.raises(et.BindError, match=r"UNKNOWN_DISTRIBUTION(.|\n)*round_robin"):
        et.query("SELECT * WHERE A ; B").match(events, distribution="round-robin")
    with pytest.raises(et.BindError, match="BAD_SLICES"):
        et.query("SELECT * WHERE A ; B").match(events, slices=0)


# Estimates --------------------------------------------------------------------------------------------------------------


def estimated(text, events):
    spread = Spread(text, events)
    return estimate_of(spread.stage(), spread.table)


def test_an_estimate_counts_paths_whatever_conditions_there_are():
    events = stream("a" + "b" * 30 + "c" + "abc", keys=[1] * 32 + [2] * 3, v=[9] * 35)
    estimate = estimated("SELECT * WHERE A AS a ; B+ AS b ; C AS c FILTER a.v < b.v PARTITION BY key", events)
    assert (estimate.events, estimate.matches, estimate.largest) == (35, 2**30, 2**30 - 1)
    assert estimate.worth_spreading
    assert estimate.uneven(4)


def test_few_matches_or_even_keys_are_not_worth_spreading():
    assert not estimated("SELECT * WHERE A AS a ; B AS b", stream("ab")).worth_spreading
    assert not Estimate(10.0, 1e7, 1e6, 0.0).uneven(4)
    assert not Estimate(1e7, 2e7, 2e7, 0.0).worth_spreading


def test_a_task_without_events_estimates_nothing_in_doubles():
    spread = Spread("SELECT * WHERE A AS a ; B AS b PARTITION BY key", [])
    (row,) = replace(spread.stage(), collector=EstimateRow).run(iter([]))
    assert row.to_pylist() == [{"events": 0.0, "matches": 0.0, "largest": 0.0, "bytes": 0.0}]
    assert set(map(str, row.schema.types)) == {"double"}
