"""The MAX selector over a judged DAG: the supports that lie in no other are found from the first events on, without the rest.

Of two ways to reach a node from the starts, one whose events are all events of the other is never part of a maximal match: what
comes behind the node is the same for both. So every node keeps an *antichain*, supports of which none lies in another, and a
union keeps what neither side dominates. Supports are rows of bits. The work grows with the antichains, which in the common
case, a loop that takes all that fits, hold one support.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import inner_kernel, kernel
from eventide.match.budget import SPENT
from eventide.match.dag.enumeration import FINISHED
from eventide.match.dag.nodes import UNION
from eventide.match.dag.preferred import write_bindings

NEED_SUPPORTS = 3
NEED_MEMBERS = 4
SUPPORTS, MEMBERS, NODE, COUNTERS = range(4)
"""Places of the counters: how many supports and members there are, and the node at hand."""


class Antichains(NamedTuple):
    """Supports as bits, and which of them every node keeps."""

    bits: npt.NDArray[np.uint64]
    """[support, word]"""
    size: npt.NDArray[np.int32]
    first: npt.NDArray[np.int64]
    """[node]: where its members begin, and how many they are."""
    number: npt.NDArray[np.int64]
    member: npt.NDArray[np.int32]


def new_antichains(supports: int, words: int, nodes: int, members: int) -> Antichains:
    """Return room for supports."""
    return Antichains(
        np.zeros((supports, words), np.uint64),
        np.zeros(supports, np.int32),
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int64),
        np.zeros(members, np.int32),
    )


@inner_kernel
def inside(bits, size, one, other):
    """Return whether a support is another or a part of it."""
    if size[one] > size[other]:
        return False
    for word in range(bits.shape[1]):
        if bits[one, word] & ~bits[other, word]:
            return False
    return True


@inner_kernel
def unite(chains, one, other, members):
    """Write what is maximal among the members of two nodes behind the members there are; returns (how many there are, work)."""
    bits, size, member = chains.bits, chains.size, chains.member
    begin = members
    work = np.int64(0)
    for at in range(chains.first[one], chains.first[one] + chains.number[one]):
        member[members] = member[at]
        members += 1
    own_end = members
    for at in range(chains.first[other], chains.first[other] + chains.number[other]):
        support = member[at]
        dominated = False
        for against in range(begin, own_end):
            work += 1
            if member[against] >= 0 and inside(bits, size, support, member[against]):
                dominated = True
                break
        if dominated:
            continue
        for against in range(begin, own_end):
            work += 1
            if member[against] >= 0 and inside(bits, size, member[against], support):
                member[against] = -1
        member[members] = support
        members += 1
    kept = begin
    for at in range(begin, members):
        if member[at] >= 0:
            member[kept] = member[at]
            kept += 1
    return kept, work


@kernel
def grow_antichains(nodes, top, place, chains, counters, steps):
    """Fill the antichains of all nodes from the counters on; `place[row]` is the bit of a row. Returns a status."""
    bits, size, member = chains.bits, chains.size, chains.member
    while counters[NODE] < top:
        node = counters[NODE]
        left = nodes.left[node]
        taken = counters[SUPPORTS]
        members = counters[MEMBERS]
        if steps[0] <= 0:
            return SPENT
        if nodes.label[node] == UNION:
            right = nodes.right[node]
            if members + chains.number[left] + chains.number[right] > member.shape[0]:
                return NEED_MEMBERS
            counters[MEMBERS], work = unite(chains, left, right, members)
            steps[0] -= work * bits.shape[1] + 1
        else:
            number = chains.number[left] if left >= 0 else 1
            if members + number > member.shape[0]:
                return NEED_MEMBERS
            if taken + number > size.shape[0]:
                return NEED_SUPPORTS
            at = place[nodes.row[node]]
            own = np.uint64(1) << np.uint64(at % 64)
            for index in range(number):
                source = member[chains.first[left] + index] if left >= 0 else -1
                for word in range(bits.shape[1]):
                    bits[taken + index, word] = bits[source, word] if left >= 0 else np.uint64(0)
                bits[taken + index, at // 64] |= own
                size[taken + index] = (size[source] if left >= 0 else 0) + 1
                member[members + index] = taken + index
            counters[SUPPORTS] = taken + number
            counters[MEMBERS] = members + number
            steps[0] -= number * bits.shape[1] + 1
        chains.first[node] = members
        chains.number[node] = counters[MEMBERS] - members
        counters[NODE] = node + 1
    return FINISHED


@kernel
def unite_roots(chains, roots, counters):
    """Unite the antichains of all roots into that of the node behind the last; there must be room for all members twice."""
    own = chains.first.shape[0] - 1
    chains.first[own] = chains.first[roots[0]]
    chains.number[own] = chains.number[roots[0]]
    for number in range(1, roots.shape[0]):
        members = counters[MEMBERS]
        counters[MEMBERS], _ = unite(chains, own, roots[number], members)
        chains.first[own] = members
        chains.number[own] = counters[MEMBERS] - members


@kernel
def write_supports(nodes, accepts, chains, rows, at, root, size, walk, found, number, support, steps):
    """Write the matches of all maximal supports from `at` on; returns (status, at, root, stack size, matches in `found`)."""
    own = chains.first.shape[0] - 1
    roots = accepts.node
    while at < chains.number[own]:
        chosen = chains.member[chains.first[own] + at]
        length = 0
        for index in range(rows.shape[0] - 1, -1, -1):
            if chains.bits[chosen, index // 64] >> np.uint64(index % 64) & np.uint64(1):
                support[length] = rows[index]
                length += 1
        status, root, size, number = write_bindings(
            nodes, roots, root, roots.shape[0], size, walk, accepts.low[0], support, length, accepts.row[0], found, number, steps
        )
        if status != FINISHED:
            return status, at, root, size, number
        root = 0
        at += 1
    return FINISHED, at, root, size, number
