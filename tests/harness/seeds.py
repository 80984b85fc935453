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
