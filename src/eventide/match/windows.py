"""Where windows begin."""

from __future__ import annotations

from eventide.compilation import kernel


@kernel
def find_begins(key, clock, low, begin):
    """Find where the window of each place begins; clocks and lows of a key never decrease."""
    start = 0
    for place in range(key.shape[0]):
        if place == 0 or key[place] != key[place - 1]:
            start = place
        while start <= place and clock[start] < low[place]:
            start += 1
        begin[place] = start
