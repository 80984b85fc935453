"""Equalities that all matches share: every event of some variables has the same value, or the match is none.

`a.id = b.id` between variables that every match binds says more than it does pair by pair: all events of both have one id. So an
event that joins is compared with one value, whatever is bound already; and a node of the shared DAG knows for which values any
path below it agrees, as a set of 64 bits, so that no subtree is walked which nothing can come of.
"""

from __future__ import annotations

import numpy as np

from eventide.compilation import inner_kernel, kernel
from eventide.match.dag.nodes import BOTTOM, UNION

ANY_VALUE = -1
"""The set of all bits."""
NOT_A_NUMBER = int(np.array(np.nan).view(np.int64))


@inner_kernel
def agreed_value(values, floats, column, row, is_float):
    """Return a value as bits that are equal where the values are: NaN is equal to NaN, and -0.0 to 0.0."""
    if is_float:
        real = floats[column, row]
        if np.isnan(real):
            return np.int64(NOT_A_NUMBER)
        if real == 0.0:
            return np.int64(0)
    return np.int64(values[column, row])


@inner_kernel
def bit_of(value):
    """Return the bit that stands for a value; small numbers have different ones."""
    folded = value ^ (value >> 32)
    folded ^= folded >> 16
    folded ^= folded >> 8
    folded ^= folded >> 4
    return np.int64(1) << (folded & 63)


@kernel
def possible_values(nodes, top, programs, store, possible):
    """Fill `possible[group, node]`: the bits of the values on which all events of some path from the node down agree."""
    groups = possible.shape[0]
    for node in range(top):
        label = nodes.label[node]
        left = nodes.left[node]
        if label == BOTTOM:
            for group in range(groups):
                possible[group, node] = ANY_VALUE
            continue
        if label == UNION:
            for group in range(groups):
                possible[group, node] = possible[group, left] | possible[group, nodes.right[node]]
            continue
        for group in range(groups):
            possible[group, node] = possible[group, left] if left >= 0 else ANY_VALUE
        row = nodes.row[node]
        for at in range(programs.agree_first[label], programs.agree_first[label + 1]):
            group, column = programs.agree_group[at], programs.agree_column[at]
            if store.valid[column, row]:
                value = agreed_value(store.values, store.floats, column, row, programs.agree_float[group])
                possible[group, node] &= bit_of(value)
            else:
                possible[group, node] = 0
