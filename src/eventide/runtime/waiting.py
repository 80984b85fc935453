"""One line on standard error for what takes longer than two seconds, so that nobody wonders what a process does."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 2.0
SWITCH = "EVENTIDE_WAITS"
"""Set to "no" it switches the lines off."""


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Say what is being done once it has taken two seconds.

    >>> with waiting("Eventide matches the events"):
    ...     pass
    """
    if os.environ.get(SWITCH) == "no":
        yield
        return
    timer = Timer(SECONDS, _say, [what])
    # A process that ends does not wait for it.
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def shown_otherwise() -> Iterator[None]:
    """Say nothing inside: somebody shows what is being done, and for how long.

    >>> with shown_otherwise(), waiting("Eventide matches the events"):
    ...     pass
    """
    before = os.environ.get(SWITCH)
    os.environ[SWITCH] = "no"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SWITCH]
        else:
            os.environ[SWITCH] = before


def _say(what: str) -> None:
    sys.stderr.write(f"{what} ...\n")
    sys.stderr.flush()
