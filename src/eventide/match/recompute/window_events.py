"""The events of a batch and of the windows before it, sorted by key, as the search reads them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import kernel


class Window(NamedTuple):
    """All events, those of a key together and in order.

    A *place* is an index into that order; a *candidate* of a step is the number of an event among those that have its bit.
    """

    row: npt.NDArray[np.int32]
    """[place]: the row of the event."""
    key: npt.NDArray[np.int64]
    begin: npt.NDArray[np.int32]
    """[place]: the first place inside the window that ends there, or a later one when there is none."""
    rank: npt.NDArray[np.int32]
    """[step, place]: how many candidates lie before a place."""
    first: npt.NDArray[np.int64]
    """[step]: where its candidates begin in `place`."""
    place: npt.NDArray[np.int32]
    """The places of all candidates, step by step."""
    blocks: npt.NDArray[np.uint64]
    """[column, word, 64]: coordinates of the candidates that compare as the values do, in blocks of 64."""
    usable: npt.NDArray[np.uint64]
    """[column, word]: which candidates have a value that is not null, as bits."""
    forbidden: npt.NDArray[np.int32]
    """[step, place]: the last place before that an event forbidden in the gap before the step holds, or -1."""


@kernel
def find_forbidden(key, mask, bits, step, forbidden):
    """Find the last event before each place that has one of the bits."""
    last = -1
    for place in range(key.shape[0]):
        if place == 0 or key[place] != key[place - 1]:
            last = -1
        forbidden[step, place] = last
        if mask[place] & bits:
            last = place


@kernel
def link_forbidden(key, row, mask, bits, previous):
    """Link the events that absences forbid: `previous[absence, row]` is the latest one of the same key before the row, or -1."""
    last = np.full(bits.shape[0], -1, np.int32)
    for place in range(key.shape[0]):
        if place == 0 or key[place] != key[place - 1]:
            for absence in range(bits.shape[0]):
                last[absence] = -1
        for absence in range(bits.shape[0]):
            previous[absence, row[place]] = last[absence]
            if (mask[place] >> bits[absence]) & 1:
                last[absence] = row[place]


@kernel
def find_populations(begin, rank, triggers, most):
    """Find for each step how many candidates the window of a trigger holds at most, the trigger included."""
    for number in range(triggers.shape[0]):
        trigger = triggers[number]
        for step in range(rank.shape[0]):
            first = min(begin[trigger], trigger)
            held = rank[step, trigger + 1] - rank[step, first]
            most[step] = max(most[step], held)
