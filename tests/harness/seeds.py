"""Which random batches are run when: a few by `make test`, all of them by CI."""

from __future__ import annotations

import pytest


def seeds(number: int, quick: int) -> list:
    """Return the seeds 0 to `number`; those behind the first `quick` are left to CI."""
    return [seed if seed < quick else pytest.param(seed, marks=pytest.mark.ci) for seed in range(number)]
