"""Which random batches are run when: one by `make test-fast`, a few by `make test`, all of them by CI."""

from __future__ import annotations

import os
from random import randrange

import pytest

FAST = os.environ.get("EVENTIDE_FAST") == "yes"
"""Whether an answer in two minutes is asked for."""
MOVING = "EVENTIDE_MOVING_SEED"
"""Where the process that began the tests tells the others what it has drawn."""


def draw_moving_seed() -> int:
    """Return the seed of tests that go over other cases each time; EVENTIDE_SEED sets it, else it is drawn once for a run."""
    drawn = os.environ.get("EVENTIDE_SEED") or os.environ.get(MOVING) or str(randrange(1 << 30))
    os.environ[MOVING] = drawn
    return int(drawn)


def moving_seed() -> int:
    """Return that seed, and print it for those who look at a failure."""
    seed = draw_moving_seed()
    print(f"EVENTIDE_SEED={seed} repeats this")  # noqa: T201
    return seed


def seeds(number: int, quick: int) -> list:
    """Return the seeds 0 to `number`; those behind the first `quick` are left to CI, and all but one where it must be fast."""
    if FAST:
        return [0]
    return [seed if seed < quick else pytest.param(seed, marks=pytest.mark.ci) for seed in range(number)]


def at_once(values, quick) -> list:
    """Return values, or tuples of them, for a test; those that are not among the quick ones are left to CI."""
    parts = [(value, value if isinstance(value, tuple) else (value,)) for value in values]
    return [pytest.param(*part, marks=() if value in quick else pytest.mark.ci) for value, part in parts]
