"""How far WITHIN lets a match reach."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eventide.compilation import kernel

NO_ROW_TO_COME = np.iinfo(np.int64).max


@kernel
def horizon_of(
    time: npt.NDArray[np.int64],
    known: npt.NDArray[np.uint8],
    offset: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    within: int,
    oldest: int,
) -> npt.NDArray[np.int64]:
    """Return for each row the last row of its partition that is at most `within` later; a row without a time stays alone.

    Rows from the time `oldest` on may be followed by rows to come, which stand at the border of the partition. What lies behind
    `end` is one with them.
    """
    horizon = np.empty(time.shape[0], np.int64)
    for partition in range(offset.shape[0] - 1):
        last = offset[partition]
        border = offset[partition + 1]
        for row in range(offset[partition], border):
            last = max(last, row)
            if known[row]:
                while last + 1 < border and known[last + 1] and time[last + 1] - time[row] <= within:
                    last += 1
            reached = border if last + 1 == border and time[row] >= oldest else last
            horizon[row] = min(reached, end[partition])
    return horizon
