"""Recomputation against the oracle on random queries, streams, cuts and rooms."""

from __future__ import annotations

import os

import pytest

from eventide.errors import BindError
from eventide.match.recompute import merged_matches, search
from eventide_reference import admissible, find_matches
from eventide_reference.sequences.oracle import Match
from harness.seeds import seeds
from match.building import Run, plan_of, prepare
from recompute.drawing import draw

SLOW = os.environ.get("NUMBA_DISABLE_JIT") == "1"
GROUP = 50


def disagreement(seed, monkeypatch):
    """Run one random case and say what is wrong with it, or return None; "refused" where the language has no such query."""
    drawn = draw(seed)
    try:
        plan = plan_of(drawn.text, "recompute")
    except BindError as error:
        return f"{drawn.text}: {error}" if error.condition == "MATCHER_NOT_SOUND" else "refused"
    monkeypatch.setattr(merged_matches, "CHUNK_MATCHES", 1 if drawn.small else 1 << 10)
    monkeypatch.setattr(search, "MOST_ROW_BYTES", drawn.rows)
    given = prepare(plan, drawn.events)
    interleaved = drawn.interleaved or plan.query.limit is not None
    given = given.interleaved() if interleaved else given
    run = Run(plan)
    size = len(given.event)
    for piece in given.cut(*sorted(min(cut, size) for cut in drawn.cuts)):
        run = run.feed(piece)
        if drawn.dumps:
            run = run.moved(plan_of(drawn.text, "recompute"))
    found = run.finish()
    if plan.query.limit is not None:
        # Which of the matches of a key are kept is judged; which keys win is decided behind the matcher.
        if plan.query.partition_by:
            return None
        # They come in the order of their ends; where the result forgets a step, LIMIT is applied to what is left.
        produced = [Match((), start, end, dict(bindings)) for start, end, bindings in run.matches[: plan.query.limit]]
        return admissible(plan.query, drawn.events, produced)
    expected = sorted(match.identity() for match in find_matches(plan.query, drawn.events))
    if found == expected:
        return None
    missing = [match for match in expected if match not in found][:3]
    extra = [match for match in found if match not in expected][:3]
    return f"missing {missing}, too many {extra}, {len(found)} of {len(expected)}, doubled {len(found) - len(set(found))}"


def check(numbers, monkeypatch):
    refused = 0
    for seed in numbers:
        wrong = disagreement(seed, monkeypatch)
        if wrong == "refused":
            refused += 1
            continue
        assert wrong is None, f"seed {seed}\n{draw(seed)}\n{wrong}"
    assert refused < len(numbers) // 2


@pytest.mark.parametrize("group", seeds(1 if SLOW else 12, quick=4))
def test_random_queries_find_what_the_oracle_finds(group, monkeypatch):
    check(range(group * GROUP, (group + 1) * GROUP), monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("group", range(100))
def test_many_random_queries_find_what_the_oracle_finds(group, monkeypatch):
    check(range(100_000 + group * 120, 100_000 + (group + 1) * 120), monkeypatch)
