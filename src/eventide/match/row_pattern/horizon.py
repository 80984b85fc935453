"""How far WITHIN lets a match reach."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eventide.match.jit import kernel


@kernel
def horizon_of(
    time: npt.NDArray[np.int64], known: npt.NDArray[np.uint8], offset: npt.NDArray[np.int64], within: int
) -> npt.NDArray[np.int64]:
    """Return for each row the last row of its partition that is at most `within` later; a row without a time stays alone."""
    horizon = np.empty(time.shape[0], np.int64)
    for partition in range(offset.shape[0] - 1):
        last = offset[partition]
        end = offset[partition + 1]
        for row in range(offset[partition], end):
            last = max(last, row)
            if known[row]:
                while last + 1 < end and known[last + 1] and time[last + 1] - time[row] <= within:
                    last += 1
            horizon[row] = last
    return horizon
