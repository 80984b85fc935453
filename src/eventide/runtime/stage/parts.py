"""What a stage is made of: parts that combine freely, each behind one small protocol."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from eventide.runtime.stage.keys import KeySpans

Batch_co = TypeVar("Batch_co", covariant=True)
Batch_contra = TypeVar("Batch_contra", contravariant=True)


class Encoder(Protocol[Batch_co]):
    """Turns prepared rows into what kernels read."""

    def encode(self, table: pa.Table, spans: KeySpans) -> Batch_co:
        """Return the next stretch of prepared rows."""
        ...


class Advance(Protocol[Batch_contra]):
    """What goes over the encoded rows: a matcher, or what knows something of all matches without listing them."""

    def advance(self, batch: Batch_contra) -> Iterator[Any]:
        """Take a batch and yield what is now certain, as the collector takes it."""
        ...


class Holder(Protocol):
    """What holds rows from one batch to the next, where keys do not come whole.

    Rows are numbered anew in each call of `advance`: first the rows that `keep` returned, in that order, then the batch.
    """

    def keep(self) -> npt.NDArray[np.int64]:
        """Return the rows that may still be named, ascending; all other rows are forgotten."""
        ...

    def finish(self) -> Iterator[Any]:
        """Yield what only the end of the rows makes certain."""
        ...


class Detail(Enum):
    """In how much detail a collector is told of the matches."""

    MATCHES = "all matches one by one"
    TOTALS = "whole keys where totals can be propagated over them, else all matches"
    COUNTS = "counts of keys where the automaton can count, else as for totals"
    BOUNDS = "counts of paths through the automaton, whatever conditions there are"


class Collector(ABC):
    """Turns what was found into rows."""

    detail = Detail.MATCHES

    @abstractmethod
    def kept(self, table: pa.Table, spans: KeySpans) -> pa.Table:
        """Return what must be known of the next rows for as long as a match may name them."""

    @abstractmethod
    def take(self, found: Any, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        """Take what was found; `payload` holds what was kept of the rows that it names."""

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Yield what is only known when all is found."""
        yield from ()


class TableCollector(Collector):
    """A collector over tables: its class tells the rows that it makes, and is shipped to workers that make one for a run."""

    @abstractmethod
    def __init__(self, plan: Any, layout: Any, labelling: Any, prepared: pa.Schema) -> None:
        """Begin a run over rows of a prepared schema; the labelling explains the labels of what advances over events."""

    @staticmethod
    def counts_only(plan: Any) -> bool:  # noqa: ARG004 - what others show
        """Return whether the number of the matches that end at an event is all that is asked of them."""
        return False

    @staticmethod
    @abstractmethod
    def schema(plan: Any, layout: Any, prepared: pa.Schema) -> pa.Schema:
        """Return the schema of its rows for a schema of prepared ones; refuses types that the result cannot have."""
