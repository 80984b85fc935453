"""Which random batches are run when: one by `make test-fast`, a few by `make test`, all of them by CI."""

from __future__ import annotations

import os

import pytest

FAST = os.environ.get("EVENTIDE_FAST") == "yes"
"""Whether an answer in two minutes is asked for."""


def seeds(number: int, quick: int) -> list:
    """Return the seeds 0 to `number`; those behind the first `quick` are left to CI, and all but one where it must be fast."""
    if FAST:
        return [0]
    return [seed if seed < quick else pytest.param(seed, marks=pytest.mark.ci) for seed in range(number)]


def at_once(values, quick) -> list:
    """Return values, or tuples of them, for a test; those that are not among the quick ones are left to CI."""
    parts = [(value, value if isinstance(value, tuple) else (value,)) for value in values]
    return [pytest.param(*part, marks=() if value in quick else pytest.mark.ci) for value, part in parts]
