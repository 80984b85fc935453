"""Judging matches that were found by their unary part: the refine of Abella 2022, 4.1, on a worker's share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eventide.compilation import kernel
from eventide.match.programs.programs import closes, joins, new_scratch
from eventide.match.spread.assignment import chosen_matches

if TYPE_CHECKING:
    from eventide.match.dag.enumeration import MatchBatch
    from eventide.match.programs.programs import Programs


@kernel
def judge(programs, offset, row, label, path_row, path_label, values, floats, valid, kept):
    """Mark the matches for which all conditions hold; each is judged from its last event back, as enumeration does."""
    scratch = new_scratch()
    for match in range(offset.shape[0] - 1):
        last = offset[match + 1] - 1
        depth = offset[match + 1] - offset[match]
        kept[match] = 1
        for index in range(depth):
            path_row[index] = row[last - index]
            path_label[index] = label[last - index]
            if programs.judged[path_label[index]] and not joins(
                programs, np.int64(index), path_row, path_label, np.int64(index + 1), values, floats, valid, scratch
            ):
                kept[match] = 0
                break
        if kept[match]:
            outermost = path_label[depth - 1] if depth > 0 else 0
            kept[match] = closes(programs, outermost, path_row, path_label, np.int64(depth), values, floats, valid, scratch)


def refined(
    found: MatchBatch, programs: Programs, values: npt.NDArray[np.int64], valid: npt.NDArray[np.uint8]
) -> MatchBatch:
    """Return the matches for which all conditions hold; `values` and `valid` are those of the rows they name."""
    kept = np.zeros(len(found.start), np.uint8)
    longest = int(np.diff(found.offset).max(initial=1))
    path_row, path_label = np.empty(longest, np.int32), np.empty(longest, np.int32)
    judge(
        programs, found.offset, found.row, found.label, path_row, path_label, values, values.view(np.float64), valid, kept
    )
    return chosen_matches(found, np.flatnonzero(kept))
