"""Other engines against ours on random queries and tables, inside what they can express (`make crosscheck`)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from crosscheck.checking import Tally, compare
from crosscheck.peers import Case, run_peers
from crosscheck.queries import flink_query, pandas_query
from crosscheck.tables import make_rows
from eventide.pattern.row_patterns import RowQuery

SEED = int(os.environ.get("EVENTIDE_CROSSCHECK_SEED", "1"))
SCALE = float(os.environ.get("EVENTIDE_CROSSCHECK_SCALE", "1"))
FEWEST_MATCHED = 0.04
"""A lower share of partitions with rows and no excuse would say that the generator no longer makes cases that tell something."""


@pytest.mark.parametrize(
    ("engine", "make_query", "queries", "partitions", "longest"),
    [("pandas", pandas_query, 400, 4, 10), ("flink", flink_query, 60, 25, 16)],
    ids=["pandas-match-recognize", "Flink"],
)
@pytest.mark.timeout(3600)
def test_a_peer_agrees_where_it_is_not_known_to_differ(
    engine: str, make_query: Callable[[Random], RowQuery], queries: int, partitions: int, longest: int, tmp_path: Path, capsys
) -> None:
    rng = Random(SEED)
    cases = [Case(engine, make_query(rng), make_rows(rng, partitions, longest)) for _ in range(max(1, int(queries * SCALE)))]
    tally = Tally()
    for case, answer in zip(cases, run_peers(cases, tmp_path), strict=True):
        compare(case, answer, tally)
    with capsys.disabled():
        sys.stdout.write(f"\n{tally.report(engine)}\n")
    assert not tally.unexplained, f"{len(tally.unexplained)} unexplained, the first:\n{tally.unexplained[0]}"
    assert tally.matched > FEWEST_MATCHED * tally.partitions
