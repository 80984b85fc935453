"""Bounded disorder: the order in which events arrive when some of them are delayed.

K-bounded disorder (Li 2010, 4.5.3): on its arrival no event is more than K behind the largest time that was seen. The
generator takes the percentage of late events and K, as the one of Li 2010, 4.6, and keeps both exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eventide.errors import DataError
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@record
class Disorder:
    """How far a sequence of events is from the order of time: how many are late, and by how much at most."""

    events: int
    late: int
    largest_delay: int

    @property
    def share(self) -> float:
        """The late events as a share of all."""
        return self.late / self.events if self.events else 0.0


def measure_disorder(times: NDArray[np.int64]) -> Disorder:
    """Say how many events arrive behind one with a larger time, and the largest distance to the largest time seen.

    >>> measure_disorder(np.array([1, 5, 3, 4, 9, 9]))
    Disorder(events=6, late=2, largest_delay=2)
    """
    if len(times) == 0:
        return Disorder(0, 0, 0)
    delays = np.maximum.accumulate(times) - times
    return Disorder(len(times), int(np.count_nonzero(delays)), int(delays.max()))


def disordered(times: NDArray[np.int64], share: float, bound: int, seed: int | Sequence[int] = 0) -> NDArray[np.int64]:
    """Return the positions of the events in an order of arrival in which exactly `share` of them are late, by `bound` at most.

    The number of late events is rounded. They and their delays are drawn at random; the same seed gives the same order.

    >>> times = np.arange(1000) * 10
    >>> measure_disorder(times[disordered(times, 0.25, 70, seed=1)])
    Disorder(events=1000, late=250, largest_delay=70)
    """
    order = np.argsort(times, kind="stable").astype(np.int64)
    wanted = round(share * len(times))
    if wanted == 0:
        return order
    ordered = times[order]
    punctual = _required_carriers(ordered, bound)
    free = np.flatnonzero(~punctual)
    if wanted > len(free):
        possible = int(100 * len(free) / len(times))
        raise DataError(
            "TOO_MUCH_DISORDER",
            f"{100 * share:g} percent of the events cannot be late by {bound} at most: the events lie too far apart.",
            hint=f"Raise the bound, or ask for at most {possible} percent.",
        )
    generator = np.random.default_rng(seed)
    punctual[:] = True
    punctual[generator.choice(free, size=wanted, replace=False)] = False
    return order[_arrivals(ordered, punctual, bound, generator)]


def _required_carriers(times: NDArray[np.int64], bound: int) -> NDArray[np.bool_]:
    """Mark the fewest events that must be in time so that all others can be late; `times` ascend.

    An event is late behind a carrier: one that is in time, has a larger time and is at most `bound` away. Every set of
    carriers that holds the marked ones serves as well, so late events may be drawn freely from the rest.
    """
    last = np.searchsorted(times, times, side="right") - 1
    first = np.searchsorted(times, times, side="left")
    reach = np.searchsorted(times, times + bound, side="right") - 1
    firsts, lasts, reaches = first.tolist(), last.tolist(), reach.tolist()
    carriers = np.zeros(len(times), dtype=np.bool_)
    position = 0
    while position < len(times):
        carrier = reaches[position]
        if carrier == lasts[position]:
            # Nothing later is near enough: these can only be in time themselves.
            carriers[position : carrier + 1] = True
            position = carrier + 1
        else:
            carriers[carrier] = True
            # Events at the carrier's own time are not late behind it.
            position = firsts[carrier] if firsts[carrier] < carrier else carrier + 1
    return carriers


def _arrivals(
    times: NDArray[np.int64], punctual: NDArray[np.bool_], bound: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    carriers = times[punctual]
    late = times[~punctual]
    # An event with a delay arrives behind the last carrier that is due by then, and at the earliest behind the next one.
    released = late + generator.integers(1, bound, size=len(late), endpoint=True)
    next_carrier = np.searchsorted(carriers, late, side="right")
    behind = np.maximum(np.searchsorted(carriers, released, side="right") - 1, next_carrier)
    place = np.empty(len(times), dtype=np.int64)
    place[punctual] = np.arange(len(carriers))
    place[~punctual] = behind
    moment = times.copy()
    moment[~punctual] = released
    return np.lexsort((moment, ~punctual, place))
