"""What the query of a bucket is made of, beyond the parts of every stage: these live from one micro-batch to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eventide.records import record
from eventide.runtime.stage.parts import Collector

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from eventide.match.protocol import Running
    from eventide.runtime.stage.keys import HashedKeys
    from eventide.runtime.streams.queries.order import AsArrived, InOrder


class BucketCollector(Collector):
    """Turns what was found in a bucket into rows; most hold nothing between two micro-batches."""

    def learn(self, events: pa.Schema) -> None:
        """Learn the types of the events, before the first of a micro-batch comes."""

    def advance_time(self, watermark: int) -> Iterator[pa.Table]:  # noqa: ARG002 - matches are shown as they are found
        """Learn that no event below the watermark comes any more, and yield the rows that are complete."""
        yield from ()

    def dump(self) -> dict[str, Any]:
        """Return the state by name."""
        return {}

    def load(self, parts: dict[str, Any]) -> None:
        """Go on from a dump."""


@record
class BucketParts:
    """The parts of one query over one bucket."""

    keys: HashedKeys
    order: InOrder | AsArrived
    advance: Running[Any, Any]
    collect: BucketCollector
