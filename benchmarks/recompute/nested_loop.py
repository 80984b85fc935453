"""NLJoin: two loops, one pair at a time, the predicates in turn until one fails."""

from __future__ import annotations

import numpy as np

from benchmarks.recompute.compiling import kernel
from benchmarks.recompute.published_joins.sides import joins
from eventide.index.zorder import ONE, ZERO


@kernel
def plain_nested_loop_join(outer, inner, predicates, begin, end, bits):
    """Join outer events [begin, end) with all inner ones; line 0 of `bits` is the first of them."""
    for index in range(begin, end):
        for word in range(bits.shape[1]):
            bits[index - begin, word] = ZERO
        for other in range(inner.row.shape[0]):
            if joins(outer, index, inner, other, predicates):
                bits[index - begin, other // 64] |= ONE << np.uint64(other % 64)
