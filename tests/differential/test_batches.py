"""A batch of random cases that compares nothing fails."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from harness.checking import run_batch
from harness.ways import Unable, Way


def kind(found: int, cases: int = 1) -> Any:
    """Return a kind whose queries have so many cases, with so much to find in each."""
    expected = SimpleNamespace(errors=set(), found=found, disagreement=lambda produced: None)
    case = SimpleNamespace(expected=expected, rows=[], cuts=(), seed=0, size=1, skipped=0, label="")
    return SimpleNamespace(draw=lambda rng: iter([case] * cases))


def refusing(first: int, share: float = 1.0) -> Way:
    """Return a way that refuses the first cases that it is given."""
    left = [first]

    def run(case: Any, rng: Any) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise Unable

    return Way("refusing", run, share)


@pytest.mark.parametrize(
    ("batch", "reason"),
    [
        (lambda: run_batch(kind(1, cases=0), 0, (refusing(0),), queries=3), "never run"),
        (lambda: run_batch(kind(0), 0, (refusing(0),), queries=3), "nothing found"),
        (lambda: run_batch(kind(1), 0, (refusing(10_000),), queries=3), "never run"),
    ],
    ids=["nothing-drawn", "nothing-found", "a-way-never-ran"],
)
def test_a_batch_that_compares_nothing_fails(batch: Callable[[], Any], reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        batch()


@pytest.mark.parametrize("way", [refusing(20), refusing(0, share=0.0)], ids=["refuses-the-first", "has-no-share"])
def test_a_way_is_tried_until_it_has_run(way: Way) -> None:
    assert run_batch(kind(1), 0, (way,), queries=3).ways["refusing"] == 1
