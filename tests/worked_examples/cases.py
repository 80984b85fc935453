"""The worked examples of the literature as text queries: name, query, events, and the supports that must come out.

Events are written `a1 b2`: type and time; attributes follow as columns. A name begins with the work (docs/bibliography.md)
and the place in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Example:
    """One example. `expected` lists supports as event names; `at_least` asks for these among others; `count` for a number."""

    name: str
    query: str
    events: str
    attributes: dict[str, list[object]] = field(default_factory=dict)
    expected: tuple[str, ...] | None = None
    at_least: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    count: int | None = None
    time_unit: str | None = None


FIRES = "h0 t1 h2 h3 t4 h5 h6 t7 t8"
FIRES_ATTRIBUTES = {"id": [1, 1, 2, 1, 2, 2, 1, 1, 1], "val": [50, 24, 49, 24, 24, 42, 23, 40, 45]}


def fires(name: str, pattern: str, last: str, expected: tuple[str, ...]) -> Example:
    """Return a variant of the fire example (Abella 2022, example 1.1, erratum fire-results)."""
    query = f"""
        SELECT * FROM warehouse WHERE ({pattern})
        FILTER t1[val < 30] AND h1[val < 25] AND t2[val {last}] AND t1[id] = h1[id] AND h1[id] = t2[id]
        WITHIN 10 events"""
    return Example(name, query, FIRES, FIRES_ATTRIBUTES, expected)


SCAN = "b1 a3 c5 b6 a7 d10 b11 c13 d15 f16 f17"
TRACE = "a1 b2 a3 c4 b5 c6"

REGION_TIMES = [0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]
REGIONS = " ".join(f"e{time}" for time in REGION_TIMES)
REGION_ATTRIBUTES: dict[str, list[object]] = {
    "region": ["r1", "r2", *["r1"] * 18],
    "volume": [200, 270, 210, 250, 260, 300, 340, 100, 150, 100, 210, 250, 260, 300, 340, 200, 250, 401, 400, 500],
    "pressure": [2, 3, 3, 3, 2, 4, 1, 3, 3, 3, 3, 3, 3, 2, 1, 3, 3, 3, 3, 1],
}


def regions(name: str, strategy: str, more: str = "", **wanted: object) -> Example:
    """Return the events of Kammoun 2019, Fig. 2.4, under one strategy (erratum trust-the-table)."""
    query = f"""
        PATTERN SEQ(E{{3,}} b[], E c)
        WHERE {strategy}(b[], c) {{ [region] AND b.volume < NEXT(b.volume) AND c.pressure <= 1 {more} }}
        WITHIN 10 ms"""
    return Example(name, query, REGIONS, REGION_ATTRIBUTES, time_unit="ms", **wanted)  # type: ignore[arg-type]


def kleene(name: str, query: str, letters: str, count: int) -> Example:
    """Return one of the benchmark streams of Abella 2022, 6.2."""
    return Example(name, query, " ".join(f"{letter}{time}" for time, letter in enumerate(letters)), count=count)


EXAMPLES = [
    fires("Abella 2022, example 1.1: fires as printed", "T as t1; H as h1; T as t2", "> 40", ("t1 h3 t8", "t1 h6 t8")),
    fires(
        "Abella 2022, example 1.1: fires, bound inclusive",
        "T as t1; H as h1; T as t2",
        ">= 40",
        ("t1 h3 t7", "t1 h3 t8", "t1 h6 t7", "t1 h6 t8"),
    ),
    fires(
        "Abella 2022, example 1.1: fires with loops",
        "T as t1; H+ as h1; T+ as t2",
        ">= 40",
        (
            "t1 h3 t7",
            "t1 h6 t7",
            "t1 h3 h6 t7",
            "t1 h3 t8",
            "t1 h6 t8",
            "t1 h3 h6 t8",
            "t1 h3 t7 t8",
            "t1 h6 t7 t8",
            "t1 h3 h6 t7 t8",
        ),
    ),
    fires(
        "Abella 2022, example 1.1: fires with loops, bound strict",
        "T as t1; H+ as h1; T+ as t2",
        "> 40",
        ("t1 h3 t8", "t1 h6 t8", "t1 h3 h6 t8"),
    ),
    Example(
        "Abella 2022, example 3.1: partitioned iteration",
        "SELECT * FROM warehouse WHERE (T as t1; T+ as ts) FILTER t1[val < 30] AND ts[val > 30] PARTITION BY id WITHIN 5",
        "t0 t1 t2 t3 t4",
        {"id": [0] * 5, "val": [24, 32, 40, 45, 60]},
        count=15,
    ),
    Example("Abella 2022, 3.3: MAX", "SELECT MAX * WHERE A ; B+ ; C", "a3 b4 b6 c7", expected=("a3 b4 b6 c7",)),
    Example(
        "Abella 2022, example 4.1: MAX compares matches with the same end",
        "SELECT MAX * WHERE T+ ; H+",
        "t1 h2 t3 h4",
        expected=("t1 h2", "t1 h2 h4", "t1 t3 h4"),
    ),
    Example("Abella 2022, DCORE tests: all matches", "SELECT * WHERE A+ ; B+ ; C", "a1 b2 a3 b4 a5 b6 c7", count=17),
    Example("Abella 2022, DCORE tests: maximal matches", "SELECT MAX * WHERE A+ ; B+ ; C", "a1 b2 a3 b4 a5 b6 c7", count=3),
    Example("Abella 2022, DCORE tests: ABBCCD", "SELECT * WHERE A ; B+ ; C+ ; D", "a1 b2 b3 c4 c5 d6", count=4 + 2 + 2 + 1),
    Example(
        "Abella 2022, DCORE tests: Kleene with a closing filter",
        "SELECT * WHERE (T as t1; H+ as hs; H as h1) FILTER t1[v < 0] AND hs[v < 60] AND h1[v > 60]",
        "t0 h1 h2 h3",
        {"v": [-2, 30, 20, 65]},
        ("t0 h1 h3", "t0 h2 h3", "t0 h1 h2 h3"),
    ),
    kleene("Abella 2022, 6.2: S1", "SELECT * WHERE A ; B ; C", "aaaabbbbc", 16),
    kleene("Abella 2022, 6.2: S2", "SELECT * WHERE A ; B+ ; C", "abbbbbbbc", 127),
    kleene("Abella 2022, 6.2: S3, n = 4", "SELECT * WHERE A+ ; B+ ; C", "ababababc", 49),
    kleene("Abella 2022, 6.2: S3, n = 5", "SELECT * WHERE A+ ; B+ ; C", "ababababababc"[2:], 129),
    Example("Li 2010, example 2.1: SEQ", "EVENT SEQ(A, B)", "a1 b2 e5 a6 e7", expected=("a1 b2",)),
    Example("Li 2010, example 2.2: OR", "EVENT OR(B, C)", "a1 b2 c3 e4 a6 d8", expected=("b2", "c3")),
    Example("Li 2010, example 2.3: SEQ(A, B)", "EVENT SEQ(A, B)", "a1 b2 c2 b3 e5 a6 e7", expected=("a1 b2", "a1 b3")),
    Example("Li 2010, example 2.3: SEQ(A, C, B)", "EVENT SEQ(A, C, B)", "a1 b2 c2 b3 e5 a6 e7", expected=("a1 c2 b3",)),
    Example("Li 2010, example 2.3: SEQ(A, !C, B)", "EVENT SEQ(A, !C, B)", "a1 b2 c2 b3 e5 a6 e7", expected=("a1 b2",)),
    Example("Li 2010, 4.2: scan", "EVENT SEQ(A, B, D)", SCAN, expected=("a3 b6 d10", "a3 b6 d15", "a3 b11 d15", "a7 b11 d15")),
    Example("Li 2010, 4.2: window", "EVENT SEQ(A, B, D) WITHIN 10", SCAN, expected=("a3 b6 d10", "a7 b11 d15")),
    Example("Li 2010, 4.2: negation", "EVENT SEQ(A, B, !C, D) WITHIN 10", SCAN, expected=("a3 b6 d10",)),
    regions("Kammoun 2019, Fig. 2.4: strict", "strict_contiguity", at_least=("e3 e4 e5 e6 e7",), never=("e0 e3 e4 e5 e6 e7",)),
    regions(
        "Kammoun 2019, Fig. 2.4: partition contiguity",
        "partition_contiguity",
        at_least=("e0 e3 e4 e5 e6 e7", "e11 e12 e13 e14 e15"),
    ),
    regions(
        "Kammoun 2019, Fig. 2.4: skip till next",
        "skip_till_next_match",
        at_least=("e8 e9 e11 e12 e13 e14 e15",),
        never=("e16 e17 e19 e20",),
    ),
    regions(
        "Kammoun 2019, Fig. 2.4: skip till any", "skip_till_any_match", at_least=("e16 e17 e19 e20", "e3 e4 e5 e6 e7"), count=240
    ),
    regions(
        "Kammoun 2019, Fig. 2.4: skip till any, rising to the end", "skip_till_any_match", "AND c.volume > b.volume", count=239
    ),
    Example(
        "Kammoun 2019, example 4: Kleene inner join",
        "PATTERN SEQ(A a, B+ b[]) WHERE a.v > b.v AND b.v > NEXT(b.v)",
        "a1 b2 b5 b6 b7",
        {"v": [30, 25, 22, 15, 21]},
        count=11,
    ),
    Example("Körber 2021, Fig. 2.6: contiguous", "SELECT * WHERE A : B:* : C", TRACE, expected=("a3 c4",)),
    Example("Körber 2021, Fig. 2.6: skip till next", "SELECT * WHERE A ~> B~* ~> C", TRACE, expected=("a3 c4", "a1 b2 c4")),
    Example(
        "Körber 2021, Fig. 2.6: skip till any",
        "SELECT * WHERE A ; B* ; C",
        TRACE,
        expected=(
            "a3 c4",
            "a1 b2 c4",
            "a1 b2 c6",
            "a1 c4",
            "a1 c6",
            "a1 b2 b5 c6",
            "a1 b5 c6",
            "a3 c6",
            "a3 b5 c6",
        ),
    ),
]
