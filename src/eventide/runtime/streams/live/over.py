"""Iteration over a source of batches: one match after the other, for loops and for async loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from eventide.runtime.streams.live.stream import Live


class Over:
    """The matches of a stream over a source; the kind of loop must be that of the source."""

    def __init__(self, live: Live, source: Any, *, finish: bool) -> None:
        self._live = live
        self._source = source
        self._finish = finish

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Push the batches of a source and yield each match as a dictionary."""
        for batch in self._source:
            yield from self._live.push(batch).to_pylist()
        if self._finish:
            yield from self._live.finish().to_pylist()

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        """Push the batches of an async source and yield each match as a dictionary."""
        async for batch in self._source:
            for match in self._live.push(batch).to_pylist():
                yield match
        if self._finish:
            for match in self._live.finish().to_pylist():
                yield match
