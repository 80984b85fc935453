"""Running random cases in several ways and comparing each with the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from harness.kind import Case, Kind, Tally
from harness.shrinking import shrunk
from harness.ways import REFUSED, Way


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
    kind: Kind, seed: int, ways: Sequence[Way], *, cases: int = 0, queries: int = 0, shares: bool = True
) -> Tally:
    """Check random cases until there are so many, or random queries; `shares` runs each way as often as its share says."""
    rng = Random(seed)
    tally = Tally()
    while tally.cases < cases or tally.queries < queries:
        drawn = [way for way in ways if not shares or rng.random() < way.share]
        for case in kind.draw(rng):
            check(kind, case, drawn, tally)
        tally.queries += 1
    assert tally.skipped <= 0.05 * tally.cases
    return tally
