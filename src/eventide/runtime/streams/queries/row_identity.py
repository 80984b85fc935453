"""The identity of a row of the result: it follows from the rows that the match has read and from how it mapped them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eventide.match.identity import identities
from eventide.records import record

if TYPE_CHECKING:
    from eventide.match.row_pattern.kernel import RowMatchBatch
    from eventide.plan.row_patterns.needs import RowNeeds
    from eventide.runtime.collect.row_lines import Lines

POSITION_BITS = 17
UNMATCHED = -1


@record
class RowSource:
    """The rows that matches were found in."""

    offset: npt.NDArray[np.int64]
    """[partition + 1]: the borders of the partitions."""
    key: npt.NDArray[np.int64]
    check: npt.NDArray[np.int64]
    """[partition]: the two hashes of its key."""
    identifier: npt.NDArray[np.int64]
    """[row]: the number of the event."""
    clock: npt.NDArray[np.int64]


def line_columns(
    matches: RowMatchBatch, lines: Lines, source: RowSource, needs: RowNeeds
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return for each row that comes out the times of the first and the last row of its match, and the halves of its identity."""
    partition = np.searchsorted(source.offset, lines.row, "right") - 1
    first = last = lines.row
    place = np.full(len(lines.row), UNMATCHED, np.int64)
    high = low = source.identifier[lines.row]
    if len(matches.start):
        matched = lines.match >= 0
        match = np.maximum(lines.match, 0)
        ends = matches.start + np.maximum(np.diff(matches.first), 1) - 1
        match_high, match_low = _match_identities(matches, source, needs)
        first = np.where(matched, matches.start[match], first)
        last = np.where(matched, ends[match], last)
        place = np.where(matched, lines.row - matches.start[match], place)
        high = np.where(matched, match_high[match], high)
        low = np.where(matched, match_low[match], low)
    fixed = [source.key[partition], source.check[partition], place, high, low]
    nothing = np.zeros(len(lines.row) + 1, np.int64)
    high, low = identities(fixed, nothing, np.zeros(0, np.int64), np.zeros(0, np.uint64))
    return source.clock[first], source.clock[last], high, low


def _match_identities(
    matches: RowMatchBatch, source: RowSource, needs: RowNeeds
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the identity of each match: the rows around it that measures can read, each with its place and its position."""
    lengths = np.diff(matches.first)
    # Measures of an empty match read no row.
    back = np.where(lengths > 0, needs.measured_before, 0)
    behind = np.where(lengths > 0, lengths + needs.measured_behind, 1)
    first = np.maximum(matches.start - back, source.offset[matches.partition])
    last = np.minimum(matches.start + behind, source.offset[matches.partition + 1])
    borders = np.concatenate([[0], np.cumsum(last - first)])
    match = np.repeat(np.arange(len(lengths)), last - first)
    row = np.arange(borders[-1]) - borders[match] + first[match]
    place = row - matches.start[match]
    mapped = (place >= 0) & (place < lengths[match])
    position = np.full(len(row), -1, np.int64)
    position[mapped] = matches.path
    codes = ((place + needs.measured_before) << POSITION_BITS) + position + 2
    fixed = [lengths, matches.number] if needs.counts else [lengths]
    return identities(fixed, borders, source.identifier[row], codes.view(np.uint64))
