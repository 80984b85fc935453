"""How many events are due after some seconds."""

from __future__ import annotations

import numpy as np


class Pace:
    """A rate of events a second that varies from second to second by `jitter` percent at most.

    >>> Pace(100.0).due(2.5)
    250
    >>> steady, varied = Pace(100.0), Pace(100.0, jitter=20, seed=1)
    >>> varied.due(1.0) != 100 and 80 <= varied.due(1.0) <= 120
    True
    """

    def __init__(self, rate: float, jitter: float = 0.0, seed: int = 0) -> None:
        self._rate = rate
        self._jitter = jitter / 100
        self._generator = np.random.default_rng([seed, 1])
        self._rates = np.empty(0)

    def due(self, seconds: float) -> int:
        """Return the number of events that should have come by then; it never shrinks with time."""
        whole = int(seconds)
        while len(self._rates) <= whole:
            variation = self._generator.uniform(-self._jitter, self._jitter, size=3600)
            self._rates = np.concatenate((self._rates, self._rate * (1 + variation)))
        return int(self._rates[:whole].sum() + (seconds - whole) * self._rates[whole])
