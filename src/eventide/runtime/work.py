"""What every run does after planning: prepare, match, finish."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from eventide.errors import BindError

if TYPE_CHECKING:
    from eventide.runtime.relational.adapter import Relation


class Work(Protocol):
    """The run of a plan over its input by one driver; nothing is read before the rows of the result are asked for."""

    def prepare(self) -> Any:
        """Return the prepared rows."""
        ...

    def match(self, prepared: Any) -> Any:
        """Return what the stages find."""
        ...

    def finish(self, found: Any) -> Relation:
        """Return the rows of the result."""
        ...

    def explained(self) -> str:
        """Return how the engine runs it, in the engine's own words."""
        ...


def check_checkpoint(work: Any, checkpoint: str) -> None:
    """Refuse a checkpoint that does not belong to a run."""
    if not hasattr(work, "refuse_checkpoint"):
        raise BindError(
            "NOT_A_STREAM",
            "A checkpoint belongs to a stream on Spark; here are other events.",
            hint="Read the events with spark.readStream, or leave checkpoint out.",
        )
    work.refuse_checkpoint(checkpoint)
