"""How many candidates there are below a node, to tell the few that are walked one by one from the many that are not."""

from __future__ import annotations

from eventide.compilation import kernel
from eventide.match.dag.nodes import BOTTOM, UNION

MOST = 1e300


@kernel
def count_candidates(nodes, top, counts):
    """Write for every node the number of paths below it, those that have left the window included."""
    label_of, left_of, right_of = nodes.label, nodes.left, nodes.right
    for node in range(top):
        if label_of[node] == UNION:
            counts[node] = min(counts[left_of[node]] + counts[right_of[node]], MOST)
        elif label_of[node] == BOTTOM or left_of[node] < 0:
            counts[node] = 1.0
        else:
            counts[node] = counts[left_of[node]]
