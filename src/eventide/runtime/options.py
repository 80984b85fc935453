"""What a caller may set for a run, in the caller's words, and where each setting has no meaning."""

from __future__ import annotations

from dataclasses import dataclass, field

from eventide.errors import BindError
from eventide.runtime.stage.gathering import Cuts
from eventide.runtime.stage.limits import DEFAULT_MAX_STEPS

FINAL = "final"
ERROR = "error"


@dataclass(frozen=True)
class RunOptions:
    """The settings of a run; None leaves one as it is by default."""

    max_matches: int | None = None
    max_steps: int = DEFAULT_MAX_STEPS
    matcher: str | None = None
    distribution: str | None = None
    slices: int | None = None
    lateness: str | int | None = None
    output: str = FINAL
    buckets: int | None = None
    max_state: int | None = None
    overflow: str = ERROR
    cuts: Cuts = field(default_factory=Cuts)
    """How many rows a kernel gets at once; for tests."""

    def check(self, *, streaming: bool) -> None:
        """Refuse what cannot act on a table, or on a stream; lateness is harmless, so that one call serves both."""
        of_streams = (self.output, self.buckets, self.max_state, self.overflow)
        if not streaming and of_streams != (FINAL, None, None, ERROR):
            raise BindError(
                "NOT_A_STREAM",
                "output, buckets, max_state and overflow are for streaming DataFrames; here all events are known.",
                hint="Leave them out, or read the events with spark.readStream.",
            )
        if streaming and self.max_matches is not None:
            raise BindError(
                "ONLY_ON_TABLES",
                "max_matches is for tables; a stream has no end at which its matches could be counted.",
                hint="Cap the state with max_state, or the matches with LIMIT.",
            )
