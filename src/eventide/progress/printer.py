"""A line on the terminal for every micro-batch."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from pyspark.sql.streaming.listener import StreamingQueryListener
from rich.console import Console
from rich.text import Text

from eventide.progress.tally import Tally, read_progress
from eventide.progress.words import batch_words

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

# Lines in a file or a pipe are not wrapped.
PIPED_WIDTH = 400


class ProgressPrinter(StreamingQueryListener):
    """Prints one line for every micro-batch, in colour on a terminal, to standard error unless another file is given.

    >>> spark.streams.addListener(ProgressPrinter())  # doctest: +SKIP
    """

    def __init__(self, file: IO[str] | None = None) -> None:
        console = Console(file=file, stderr=file is None, highlight=False)
        self._console = console if console.is_terminal else Console(file=file, stderr=file is None, width=PIPED_WIDTH)
        self._tallies: dict[str, Tally] = {}

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - the name that Spark calls
        """Begin to count the batches of a query."""
        self._tallies[str(event.id)] = Tally()

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Print what a batch did."""
        batch = read_progress(event.progress)
        if self._tallies.setdefault(batch.query_id, Tally()).add(batch):
            self._console.print(Text.assemble(*batch_words(batch)), soft_wrap=True)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Print nothing: nothing happened."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Forget a query that has ended, and say so when it failed."""
        self._tallies.pop(str(event.id), None)
        if event.exception:
            told = event.exception.strip().splitlines()[0]
            words = Text.assemble((str(event.id)[:8], "bold"), "  ", ("failed", "bold red"), f": {told}")
            self._console.print(words, soft_wrap=True)
