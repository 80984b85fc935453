"""Repetitions inside each other, which planning merges where it can, against the oracle, which never does."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from eventide.language import parse
from eventide.pattern import Both, Either, Event, Filtered, Named, Pattern, Repeat, Selector, Sequence, Strategy, walk
from eventide.pattern.sequence_printing import to_ceql
from eventide.plan.rewrite.nested_loops import merged_loops
from eventide.plan.sequences.structure import Loop, One
from harness.checking import run_batch
from harness.kinds.sequences.kind import Sequences
from harness.kinds.sequences.queries import Trial, make_trial
from harness.seeds import seeds
from harness.ways import SEQUENCES

BOUNDS = ((1, None), (0, None), (0, 1), (1, 2), (2, 2), (2, 3), (0, 2), (2, None), (3, 4), (1, 3))
BATCHES = 4


def nested(rng: Random, pattern: Pattern, strategy: Strategy | None) -> Pattern:
    """Return the pattern with some of its events, and some of its groups, repeated in repetitions."""
    match pattern:
        case Event():
            made: Pattern = pattern
        case Named(pattern=inner) | Filtered(pattern=inner) | Repeat(pattern=inner):
            made = replace(pattern, pattern=nested(rng, inner, strategy))
        case Sequence(parts=parts) | Either(parts=parts) | Both(parts=parts):
            return replace(pattern, parts=tuple(nested(rng, part, strategy) for part in parts))
    if isinstance(pattern, Event | Repeat) and rng.random() < 0.6:
        for _ in range(rng.choice((1, 2, 2, 3))):
            made = Repeat(made, *rng.choice(BOUNDS), strategy or rng.choice(tuple(Strategy)))
    return made


def nested_trial(rng: Random) -> Trial:
    """Return a random query over repetitions in repetitions; mostly of one strategy, for only those are merged."""
    strategy = rng.choice((*Strategy, Strategy.ANY, None))
    while True:
        trial = make_trial(rng)
        query = replace(trial.query, pattern=nested(rng, trial.query.pattern, strategy), output=None, language="ceql", text="")
        any_type = any(isinstance(part, Event) and part.type is None for part in walk(query.pattern))
        # What only rows decide is refused where variables repeat.
        if any_type or not trial.countable or trial.several_streams or query.selector is Selector.STRICT:
            continue
        return replace(trial, query=parse(to_ceql(query)))


def _accepted(case) -> bool:
    return len(to_ceql(case.trial.query)) < 300


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=1))
def test_repetitions_inside_each_other_mean_what_they_meant(seed: int) -> None:
    tally = run_batch(Sequences(nested_trial, streams=10, accepts=_accepted), 7000 + seed, SEQUENCES, cases=300)
    assert tally.found > 50


def lengths(loop: Loop, most: int) -> set[int]:
    """Return how often the innermost part can occur in a loop of loops, up to a number."""
    each = lengths(loop.part, most) if isinstance(loop.part, Loop) else {1}
    reached, found = {0}, set()
    for rounds in range(most + 2):
        if rounds >= loop.minimum and (loop.maximum is None or rounds <= loop.maximum):
            found |= reached
        reached = {one + other for one in reached for other in each if one + other <= most}
    return found


@pytest.mark.parametrize("outer", BOUNDS)
@pytest.mark.parametrize("inner", BOUNDS)
def test_merged_bounds_allow_the_same_numbers_of_rounds(outer, inner) -> None:
    loop = Loop(Loop(One(0), *inner, Strategy.ANY), *outer, Strategy.ANY)
    merged = merged_loops(loop)
    assert isinstance(merged, Loop)
    assert lengths(merged, 20) == lengths(loop, 20)
    # Whatever has no holes is merged.
    whole = lengths(loop, 20)
    if set(range(min(whole), max(whole) + 1)) == whole:
        assert isinstance(merged.part, One)


def test_bounds_with_holes_and_other_strategies_stay_apart() -> None:
    evens = Loop(Loop(One(0), 2, 2, Strategy.ANY), 1, 3, Strategy.ANY)
    strict_rounds = Loop(Loop(One(0), 1, 3, Strategy.STRICT), 1, 3, Strategy.ANY)
    assert merged_loops(evens) == evens
    assert merged_loops(strict_rounds) == strict_rounds


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 140))
def test_many_more_repetitions_inside_each_other_mean_what_they_meant(seed: int) -> None:
    run_batch(Sequences(nested_trial, streams=10, accepts=_accepted), 7000 + seed, SEQUENCES, cases=300)
