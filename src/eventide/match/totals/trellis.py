"""What a walk back from the end of a match sees: nodes for sets of partial matches, and the steps that lead to each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from eventide.match.totals.sliding import NO_WINDOW

if TYPE_CHECKING:
    from eventide.match.totals.exact import KeptEvents
    from eventide.match.totals.semiring import Weights

BEGIN = -1
"""The node before all others: the match begins with the step from it."""


class Span(NamedTuple):
    """The events first..last, without the last, whose partial matches a trellis holds."""

    first: int
    last: int


class Steps(NamedTuple):
    """All ways to come to a node by its event, always in the same order.

    Each comes from a node and binds the event with a label (0 binds nothing). The amount is what is known of the partial matches
    of the node that it comes from: how many they are, or the weight of the best.
    """

    nodes: list[int]
    labels: list[int]
    amounts: list[Any]


class Trellis(Protocol):
    """The partial matches after each event of a span, begun at one of them."""

    def ending(self, end: int) -> int:
        """Return the node of the matches that end at an event."""
        ...

    def event(self, node: int) -> int:
        """Return the event that the steps to a node take."""
        ...

    def steps(self, node: int) -> Steps:
        """Return the steps that lead to a node."""
        ...


class Paths(Protocol):
    """Makes the trellises of some events."""

    def expect(self, ends: npt.NDArray[np.int64]) -> None:
        """Say from which ends walks will begin."""
        ...

    def span(self, end: int) -> Span:
        """Return the events of the trellis that an end belongs to; several ends may share it."""
        ...

    def counts(self, span: Span) -> Trellis:
        """Return how many partial matches there are, exactly."""
        ...

    def weights(self, span: Span, weights: Weights) -> Trellis:
        """Return the weights of the best partial matches."""
        ...


def window_of(kept: KeptEvents, end: int, *, shared: bool) -> Span:
    """Return the events of the window that ends at an event; `shared`, those of the whole key where there is no window."""
    key = int(np.searchsorted(kept.offsets, end, side="right")) - 1
    begin = int(kept.offsets[key])
    if kept.lows[end] == NO_WINDOW:
        return Span(begin, int(kept.offsets[key + 1]) if shared else end)
    return Span(begin + int(np.searchsorted(kept.clocks[begin : end + 1], kept.lows[end])), end)
