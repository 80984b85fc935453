"""Selectors and duplicate removal among the matches that end at the same event."""

from __future__ import annotations

import numpy as np

from eventide.compilation import inner_kernel, kernel
from eventide.match.protocol import Keep


@inner_kernel
def compare_earliest(rows, a_begin, a_end, b_begin, b_end):
    """Return 1 when support a holds the earliest event in which a and b differ, -1 when b does, 0 when they are equal."""
    while a_begin < a_end and b_begin < b_end:
        if rows[a_begin] != rows[b_begin]:
            return 1 if rows[a_begin] < rows[b_begin] else -1
        a_begin += 1
        b_begin += 1
    if a_begin < a_end:
        return 1
    return -1 if b_begin < b_end else 0


@inner_kernel
def compare_latest(rows, a_begin, a_end, b_begin, b_end):
    """The same for the latest event in which they differ."""
    while a_begin < a_end and b_begin < b_end:
        a_end -= 1
        b_end -= 1
        if rows[a_end] != rows[b_end]:
            return 1 if rows[a_end] > rows[b_end] else -1
    if a_begin < a_end:
        return 1
    return -1 if b_begin < b_end else 0


@inner_kernel
def strictly_inside(rows, a_begin, a_end, b_begin, b_end):
    """Return whether support a is a proper part of support b."""
    if a_end - a_begin >= b_end - b_begin:
        return False
    while a_begin < a_end:
        while b_begin < b_end and rows[b_begin] < rows[a_begin]:
            b_begin += 1
        if b_begin == b_end or rows[b_begin] != rows[a_begin]:
            return False
        a_begin += 1
        b_begin += 1
    return True


@kernel
def select(found, matches, mode, keep, begin, one, steps):
    """Mark in `keep` the matches that the selector keeps; matches with equal ends stand together.

    Returns (begin, one) to go on with in the next call; all are judged when `begin` is `matches`.
    """
    rows = found.row
    offset = found.offset
    while begin < matches:
        if steps[0] <= 0:
            return begin, one
        end = begin + 1
        while end < matches and found.end[end] == found.end[begin]:
            end += 1
        if mode == Keep.ANY:
            keep[begin] = 1
        elif mode == Keep.MAX:
            one = max(one, begin)
            while one < end:
                if steps[0] <= 0:
                    return begin, one
                keep[one] = 1
                for other in range(begin, end):
                    steps[0] -= 1
                    if strictly_inside(rows, offset[one], offset[one + 1], offset[other], offset[other + 1]):
                        keep[one] = 0
                        break
                one += 1
        else:
            best = begin
            steps[0] -= end - begin
            for rival in range(begin + 1, end):
                if mode == Keep.NEXT:
                    order = compare_earliest(rows, offset[rival], offset[rival + 1], offset[best], offset[best + 1])
                else:
                    order = compare_latest(rows, offset[rival], offset[rival + 1], offset[best], offset[best + 1])
                if order > 0:
                    best = rival
            for rival in range(begin, end):
                if compare_earliest(rows, offset[rival], offset[rival + 1], offset[best], offset[best + 1]) == 0:
                    keep[rival] = 1
        begin = end
    return begin, one


@inner_kernel
def next_visible(found, visible, at, end):
    """Return the first position from `at` whose label is seen in the result."""
    while at < end and visible[found.label[at]] < 0:
        at += 1
    return at


@inner_kernel
def same_visible(found, visible, one, other):
    """Return whether two matches bind the same events to the variables that are kept."""
    if found.start[one] != found.start[other] or found.end[one] != found.end[other]:
        return False
    a, a_end = found.offset[one], found.offset[one + 1]
    b, b_end = found.offset[other], found.offset[other + 1]
    while True:
        a = next_visible(found, visible, a, a_end)
        b = next_visible(found, visible, b, b_end)
        if a == a_end or b == b_end:
            return a == a_end and b == b_end
        if found.row[a] != found.row[b] or visible[found.label[a]] != visible[found.label[b]]:
            return False
        a += 1
        b += 1


@kernel
def drop_duplicates(found, matches, visible, keep):
    """Clear `keep` for matches that equal an earlier kept one in what the result shows.

    `visible[label]` numbers the sets of kept variables; -1 shows nothing.
    """
    size = 16
    while size < 2 * matches:
        size *= 2
    table = np.full(size, -1, np.int64)
    for match in range(matches):
        if not keep[match]:
            continue
        mixed = np.uint64(found.start[match]) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(found.end[match])
        at = next_visible(found, visible, found.offset[match], found.offset[match + 1])
        while at < found.offset[match + 1]:
            part = np.uint64(found.row[at]) * np.uint64(0xC2B2AE3D27D4EB4F) + np.uint64(visible[found.label[at]] + 1)
            mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9) + part
            at = next_visible(found, visible, at + 1, found.offset[match + 1])
        mixed ^= mixed >> np.uint64(32)
        cell = np.int64(mixed & np.uint64(size - 1))
        while table[cell] >= 0:
            if same_visible(found, visible, table[cell], match):
                keep[match] = 0
                break
            cell = (cell + 1) & (size - 1)
        if keep[match]:
            table[cell] = match
