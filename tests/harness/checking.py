"""Running random cases in several ways and comparing each with the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from harness.kind import Case, Kind, Tally
from harness.shrinking import shrunk
from harness.ways import REFUSED, Way

MOST_MORE_QUERIES = 100
"""How many queries a batch goes on with for a way that has refused all before."""


def check(kind: Kind, case: Case, ways: Sequence[Way], tally: Tally) -> None:
    """Compare a case with the oracle in each way that can run it; raises AssertionError with a small example."""
    for way in ways:
        reason = way.why_not(case)
        if reason is not None:
            tally.refused[f"{way.name}: {reason}"] += 1
            continue
        wrong = way.outcome(case)
        if wrong == REFUSED:
            tally.refused[f"{way.name}: by an error"] += 1
            continue
        if wrong is not None:
            raise AssertionError(shrunk(kind, case, way, wrong))
        tally.ways[way.name] += 1
    tally.cases += case.size
    tally.skipped += case.skipped
    tally.found += case.expected.found
    tally.errors += bool(case.expected.errors)
    tally.labels[case.label] += 1


def run_batch(
    kind: Kind, seed: int, ways: Sequence[Way], *, cases: int = 0, queries: int = 0, most_skipped: float = 0.05
) -> Tally:
    """Check random cases until the oracle has answered so many, or queries; fails where nothing was found or a way never ran.

    A way runs as often as its share says, but is tried on every query until it has answered one: a way that refuses most
    queries may have no share in a small batch. So may cases that the oracle has given up be many in one.
    """
    rng = Random(seed)
    tally = Tally()
    # Where the oracle gives up most of them there is an end, too: the shares below fail.
    while (tally.cases - tally.skipped < cases and tally.cases < 3 * cases) or tally.queries < queries:
        drawn = [way for way in ways if rng.random() < way.share or not tally.ways[way.name]]
        _check_query(kind, rng, drawn, tally)
    for _ in range(MOST_MORE_QUERIES):
        idle = [way for way in ways if not tally.ways[way.name]]
        if not idle:
            break
        _check_query(kind, rng, idle, tally)
    assert tally.skipped <= most_skipped * tally.cases
    never = [way.name for way in ways if not tally.ways[way.name]]
    assert not never, f"never run: {never}, of {tally}"
    assert tally.found, f"nothing found: {tally}"
    return tally


def _check_query(kind: Kind, rng: Random, ways: Sequence[Way], tally: Tally) -> None:
    for case in kind.draw(rng):
        check(kind, case, ways, tally)
    tally.queries += 1
