"""What measures read of finished matches: rows by navigation, and aggregates, for each match or for each mapped row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eventide.compilation import kernel
from eventide.match.programs.operators import Op


@kernel
def rows_of_matches(
    member: npt.NDArray[np.uint8],
    start: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
    path: npt.NDArray[np.int16],
    from_end: bool,
    offset: int,
) -> npt.NDArray[np.int64]:
    """Return for each match the n-th row whose position is a member, from its first or back from its last; -1 for none."""
    found = np.full(start.shape[0], -1, np.int64)
    for match in range(start.shape[0]):
        left = offset
        length = first[match + 1] - first[match]
        for step in range(length):
            place = length - 1 - step if from_end else step
            if member[path[first[match] + place]]:
                if left == 0:
                    found[match] = start[match] + place
                    break
                left -= 1
    return found


@kernel
def rows_so_far(
    member: npt.NDArray[np.uint8],
    start: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
    path: npt.NDArray[np.int16],
    from_end: bool,
    offset: int,
) -> npt.NDArray[np.int64]:
    """Return the same for each mapped row, reading the rows of its match up to itself."""
    found = np.full(path.shape[0], -1, np.int64)
    recent = np.zeros(offset + 1, np.int64)
    for match in range(start.shape[0]):
        seen = 0
        for place in range(first[match + 1] - first[match]):
            at = first[match] + place
            if member[path[at]]:
                if from_end or seen <= offset:
                    recent[seen % (offset + 1)] = start[match] + place
                seen += 1
            if seen > offset:
                # The oldest row of the ring is the n-th from the end; without overwriting, the last one is the n-th.
                found[at] = recent[seen % (offset + 1)] if from_end else recent[offset]
    return found


@kernel
def folded(
    member: npt.NDArray[np.uint8],
    start: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
    path: npt.NDArray[np.int16],
    keys: npt.NDArray[np.int64],
    valid: npt.NDArray[np.uint8],
    op: int,
    running: bool,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.int64], bool]:
    """Run an aggregate over the rows of each match (or up to each mapped row); returns (integers, doubles, values seen, fits).

    MIN and MAX give the row that holds the value, compared by integer keys; sums of integers say whether they fit 64 bits.
    """
    size = path.shape[0] if running else start.shape[0]
    wholes = np.zeros(size, np.int64)
    reals = np.zeros(size)
    counts = np.zeros(size, np.int64)
    floats = keys.view(np.float64)
    fits = True
    for match in range(start.shape[0]):
        whole = np.int64(0)
        real = 0.0
        seen = 0
        for place in range(first[match + 1] - first[match]):
            at = first[match] + place
            row = start[match] + place
            if member[path[at]] and (op == Op.COUNT or valid[row]):
                if op == Op.SUM_I:
                    total = whole + keys[row]
                    if (whole ^ total) & (keys[row] ^ total) < 0:
                        fits = False
                    whole = total
                elif op == Op.SUM_F:
                    real += floats[row]
                elif op == Op.MIN_I:
                    if seen == 0 or keys[row] < keys[whole]:
                        whole = row
                elif op == Op.MAX_I and (seen == 0 or keys[row] > keys[whole]):
                    whole = row
                seen += 1
            if running:
                wholes[at] = whole
                reals[at] = real
                counts[at] = seen
        if not running:
            wholes[match] = whole
            reals[match] = real
            counts[match] = seen
    return wholes, reals, counts, fits
