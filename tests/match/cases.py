"""The queries that every matcher must get right, each with what it can be asked for."""

from __future__ import annotations

import random
from dataclasses import dataclass

from match.building import GENERAL, plan_of, stream

ALL = (*GENERAL, "recompute")
SINGLE_EVENTS = (*ALL, "disorder")


@dataclass(frozen=True)
class Case:
    """A query, the types of its streams, and the matchers that can run it at all."""

    name: str
    text: str
    types: str = "ABC"
    matchers: tuple[str, ...] = GENERAL
    exact: bool = True
    """Whether the definition leaves no choice open."""

    def plan(self, matcher):
        return plan_of(self.text, matcher)

    def events(self, seed, length=7):
        """Draw a stream: types, keys, values with nulls, times with ties."""
        draw = random.Random(f"{self.name} {seed}")
        times = sorted(draw.randrange(2 * length) for _ in range(length))
        types = [draw.choice(self.types.lower()) for _ in range(length)]
        return stream(
            " ".join(f"{kind}{time}" for kind, time in zip(types, times, strict=True)),
            keys=[draw.choice([1, 2, 2, 3, None]) for _ in range(length)],
            v=[draw.choice([1, 2, 3, 4, None]) for _ in range(length)],
            w=[draw.choice([0.5, 1.5, 2.5, float("nan"), None]) for _ in range(length)],
            s=[draw.choice(["x", "y", None]) for _ in range(length)],
        )


CASES = [
    Case("a sequence", "SELECT * WHERE A ; B ; C", matchers=ALL),
    Case("a loop in a count window", "SELECT * WHERE A ; B+ ; C WITHIN 4 events", matchers=ALL),
    Case("a loop in a time window", "SELECT * WHERE A ; B+ WITHIN 5", matchers=ALL),
    Case("hopping windows", "PATTERN SEQ(A a, B b) WITHIN 6 SLIDE 3", matchers=ALL),
    Case("windows with holes between them", "PATTERN SEQ(A a, B b) WITHIN 3 SLIDE 5", matchers=ALL),
    Case("contiguous steps", "SELECT * WHERE A : B :+ ; C", types="AABBC"),
    Case("a choice of names", "SELECT * WHERE (A AS x OR A AS y OR B AS x) ; (B AS x OR C AS z)", matchers=ALL),
    Case("both in any order", "SELECT * WHERE (A AND B+) ; C WITHIN 6 events"),
    Case("optional parts", "SELECT * WHERE A? ; B* ; C WITHIN 4 events", matchers=ALL),
    Case("bounded rounds of a group", "SELECT * WHERE (A ; B){1,2} ; C"),
    Case("forgotten variables", "SELECT b WHERE A AS a ; B+ AS b ; C WITHIN 6 events", matchers=ALL),
    Case("everything forgotten but one type", "SELECT COUNT(C) WHERE A ; B ; C", types="ABBC", matchers=ALL),
    Case("keys", "SELECT * WHERE A ; B+ ; C PARTITION BY key", matchers=ALL),
    Case("keys in a count window", "SELECT * WHERE A ; B PARTITION BY key WITHIN 1 events", types="AB", matchers=ALL),
    Case("a condition between two events", "SELECT * WHERE A AS a ; B AS b ; C FILTER a.v < b.v", matchers=ALL),
    Case("an ever rising loop", "SELECT * WHERE A ; B+ AS b ; C FILTER b.v < NEXT(b.v)", types="ABBBC", matchers=ALL),
    Case("an aggregate so far", "SELECT * WHERE A+ AS a ; B FILTER a.v >= AVG(a.v)", types="AAAB", matchers=ALL),
    Case("an aggregate of the whole", "SELECT * WHERE A+ AS a ; B AS b FILTER SUM(a.v) < b.v + 2", types="AAB", matchers=ALL),
    Case("doubles, strings and nulls", "SELECT * WHERE A AS a ; B AS b FILTER a.w <= b.w OR a.s = b.s", types="AB", matchers=ALL),
    Case("a condition in a window and keys", "SELECT * WHERE A AS a ; B+ AS b FILTER a.v < b.v PARTITION BY key WITHIN 5", matchers=ALL),
    Case("skip till next", "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match(a, b[], c) { a.v > 0 }"),
    Case(
        "skip till next by a condition",
        "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match(a, b[], c) { a.v <= b[i].v } WITHIN 8",
        matchers=("runs",),
    ),
    Case("strict contiguity", "PATTERN SEQ(A a, B+ b[], C c) WHERE strict_contiguity(a, b[], c) { a.v <= c.v }", types="AABBC"),
    Case("absence between", "SELECT * WHERE A ; NOT D ; B ; C", types="ABCD", matchers=ALL),
    Case("absence between with a condition", "SELECT * WHERE A AS a ; NOT D AS d ; B FILTER d.v > a.v", types="ABDD", matchers=ALL),
    Case("absence first", "SELECT * WHERE NOT D ; A ; B WITHIN 4", types="ABD", matchers=SINGLE_EVENTS),
    Case("absence first with keys", "SELECT * WHERE NOT D ; A ; B PARTITION BY key WITHIN 6", types="ABD", matchers=SINGLE_EVENTS),
    Case("absence last", "SELECT * WHERE A ; B ; NOT D WITHIN 4", types="ABD", matchers=(*GENERAL, "disorder")),
    Case("absence last with keys", "SELECT * WHERE A ; B ; NOT D PARTITION BY key WITHIN 6", types="ABD", matchers=(*GENERAL, "disorder")),
    Case("a sequence in a time window", "SELECT * WHERE A ; B ; C WITHIN 6", matchers=SINGLE_EVENTS),
    Case(
        "conditions in a time window",
        "SELECT * WHERE A AS a ; NOT D AS d ; B AS b FILTER a.v <= b.v AND d.v > a.v PARTITION BY key WITHIN 8",
        types="ABDAB",
        matchers=SINGLE_EVENTS,
    ),
    Case(
        "absence everywhere",
        "SELECT * WHERE NOT C AS x ; A AS a ; NOT D AS d ; B AS b ; NOT C AS y FILTER d.v > a.v AND x.v >= b.v WITHIN 6 events",
        types="ABCD",
    ),
    Case("only contiguous matches", "SELECT STRICT * WHERE A ; B+ ; C", types="AABBC"),
    Case("the earliest choice", "SELECT NEXT * WHERE A ; B+ ; C WITHIN 5"),
    Case("the latest choice", "SELECT LAST * WHERE A+ ; B+ ; C WITHIN 5"),
    Case("the largest matches", "SELECT MAX * WHERE A ; B* ; C"),
    Case("the largest matches under a condition", "SELECT MAX * WHERE A AS a ; B+ AS b ; C FILTER a.v <= b.v"),
    Case("the earliest choice before an absence", "SELECT NEXT * WHERE (A AS x OR C AS y) ; B ; NOT D WITHIN 4", types="ABCD"),
    Case("any one match", "SELECT ANY * WHERE A ; B+ ; C WITHIN 6", exact=False),
    Case("the first matches", "SELECT * WHERE A ; B+ ; C LIMIT 3", exact=False, matchers=ALL),
    Case("the first matches before an absence", "SELECT * WHERE A ; B ; NOT D WITHIN 3 LIMIT 2", types="AABBD", exact=False),
    Case("consumed in the partition", "SELECT * WHERE A ; B PARTITION BY key CONSUME BY PARTITION", types="AB"),
    Case(
        "consumed when a condition holds",
        "SELECT * WHERE A AS a ; B AS b FILTER a.v < b.v PARTITION BY key CONSUME BY PARTITION",
        types="AB",
    ),
    Case("consumed by a choice", "SELECT NEXT * WHERE A ; B+ ; C WITHIN 6 CONSUME BY PARTITION"),
]
CASES += [
    Case(
        "rising loops between two events",
        "SELECT * WHERE A AS a ; B+ AS b ; C AS c FILTER a.v <= b.v AND b.v <= NEXT(b.v) AND c.v <= FIRST(b.v) WITHIN 12",
        types="ABBBC",
        matchers=ALL,
    ),
    Case("a loop at the end", "SELECT * WHERE A AS a ; B+ AS b FILTER a.v >= b.v AND b.v <> 2 PARTITION BY key", types="ABB", matchers=ALL),
    Case("two loops that know each other", "SELECT * WHERE A+ AS a ; B{1,2} AS b FILTER a.v <= b.v AND LAST(a.v) < FIRST(b.v)", types="AAB", matchers=ALL),
    Case("a loop that looks back to its first event", "SELECT * WHERE A{2,} AS a ; C FILTER a.v >= FIRST(a.v) WITHIN 9 events", types="AAAC", matchers=ALL),
    Case("optional parts with conditions", "SELECT * WHERE A? AS a ; B* AS b ; C? AS c FILTER a.v <= b.v AND b.v <= NEXT(b.v) AND LAST(b.v) > 1 WITHIN 8", matchers=ALL),
    Case("optional parts between absences", "SELECT b WHERE A+ AS a ; NOT D AS d ; B? AS b ; NOT D ; C FILTER d.v >= a.v PARTITION BY key", types="ABCDAC", matchers=ALL),
    Case("the first matches with optional parts", "SELECT * WHERE A ; B* ; C? LIMIT 3", exact=False, matchers=ALL),
    Case("absence in a loop's gap", "SELECT * WHERE A+ AS a ; NOT D AS d ; B+ AS b FILTER d.v >= b.v WITHIN 8", types="ABDA", matchers=ALL),
]
EVERYWHERE_CONSUMED = [
    Case("consumed everywhere", "SELECT * WHERE A ; B PARTITION BY key CONSUME BY ANY", types="AB"),
    Case(
        "consumed everywhere when a condition holds",
        "SELECT * WHERE A AS a ; B AS b FILTER a.v < b.v PARTITION BY key CONSUME BY ANY",
        types="AAB",
    ),
]


def with_matchers(cases):
    """Return every case with every matcher that can run it, for parametrize."""
    return [(case, matcher) for case in cases for matcher in case.matchers]


def names_of(value):
    """Return how a parameter shows in the name of a test."""
    return None if isinstance(value, str | int) else value.name.replace(" ", "-")
