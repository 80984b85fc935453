"""How many matches there are below an accepted node, counted in the interpreter: asked only where they seem to have no end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.match.dag.nodes import BOTTOM, UNION

if TYPE_CHECKING:
    from eventide.match.dag.nodes import Nodes

MOST_NODES = 1 << 14
"""Some hundredths of a second."""


def count_paths(nodes: Nodes, root: int, low: int) -> int:
    """Return the number of live paths below a node, exact at any size; of a large set of nodes at least as many as below a part.

    >>> from eventide.match.dag.nodes import new_nodes
    >>> import numpy as np
    >>> nodes = new_nodes(3)
    >>> nodes.label[:], nodes.left[:], nodes.right[:], nodes.start[:] = [1, 2, UNION], [-1, 0, 1], [-1, -1, 0], [5, 5, 5]
    >>> count_paths(nodes, 2, 0)
    2
    """
    counts: dict[int, int] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        if node in counts:
            stack.pop()
            continue
        if len(counts) + len(stack) > MOST_NODES:
            # Every path below a node goes on to the root.
            return max(counts.values(), default=0)
        label, left = int(nodes.label[node]), int(nodes.left[node])
        if label == BOTTOM or (label != UNION and left < 0):
            below: list[int] = []
        elif label == UNION and nodes.start[nodes.right[node]] >= low:
            below = [left, int(nodes.right[node])]
        else:
            below = [left]
        unknown = [child for child in below if child not in counts]
        if unknown:
            stack.extend(unknown)
            continue
        counts[node] = sum(counts[child] for child in below) if below else 1
        stack.pop()
    return counts[root]
