"""The matches of a judged DAG that MAX keeps, in room that grows with what is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eventide.match.budget import SPENT
from eventide.match.dag.enumeration import FINISHED, GROW, grow_walk, new_found
from eventide.match.dag.judged.dominance import (
    COUNTERS,
    MEMBERS,
    NEED_SUPPORTS,
    Antichains,
    grow_antichains,
    new_antichains,
    unite_roots,
    write_supports,
)
from eventide.match.dag.nodes import UNION

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from eventide.match.budget import Account
    from eventide.match.dag.enumeration import MatchBatch, Walk
    from eventide.match.dag.judged.judging import Judged

MOST_WORDS = 1 << 25
"""256 MB of supports."""


def maximal_supports(judged: Judged, account: Account) -> tuple[Antichains, npt.NDArray[np.int32]] | None:
    """Return the maximal supports of one end behind the last node, and the rows of their bits; None where they are too many."""
    nodes, top = judged.nodes, judged.top
    rows = np.unique(nodes.row[:top][nodes.label[:top] != UNION])
    place = np.zeros(int(rows[-1]) + 1, np.int64)
    place[rows] = np.arange(len(rows))
    words = (len(rows) + 63) // 64
    chains = new_antichains(2 * top, words, top + 1, 4 * top)
    counters = np.zeros(COUNTERS, np.int64)
    status = SPENT
    while status != FINISHED:
        status = grow_antichains(nodes, top, place, chains, counters, account.slice())
        if status not in (FINISHED, SPENT):
            more_supports = status == NEED_SUPPORTS
            supports, members = len(chains.size), len(chains.member)
            if more_supports and 2 * supports * words > MOST_WORDS:
                return None
            larger = new_antichains(
                2 * supports if more_supports else supports, words, top + 1, members if more_supports else 2 * members
            )
            chains = _moved(chains, larger)
    kept = int(counters[MEMBERS])
    wanted = kept + len(judged.accepts.node) * int(chains.number.sum() + 1)
    if wanted > len(chains.member):
        chains = _moved(chains, new_antichains(len(chains.size), words, top + 1, wanted))
    unite_roots(chains, judged.accepts.node, counters)
    return chains, rows.astype(np.int32)


def _moved(old: Antichains, new: Antichains) -> Antichains:
    for name, column in new._asdict().items():
        column[: len(getattr(old, name))] = getattr(old, name)
    return new


def maximal_matches(
    judged: Judged,
    chains: Antichains,
    rows: npt.NDArray[np.int32],
    walk: Walk,
    account: Account,
    larger: Callable[[MatchBatch, int], MatchBatch],
    room: int,
) -> tuple[MatchBatch, int, Walk]:
    """Return the matches with the maximal supports, how many they are, and the walk, which may have grown."""
    found = new_found(room, 4 * room)
    at = root = size = number = 0
    support = np.empty(len(rows) + 1, np.int32)
    status = SPENT
    while status != FINISHED:
        status, at, root, size, number = write_supports(
            judged.nodes, judged.accepts, chains, rows, at, root, size, walk, found, number, support, account.slice()
        )
        if status == GROW:
            walk = grow_walk(walk)
        elif status not in (FINISHED, SPENT):
            found = larger(found, number)
    return found, number, walk
