"""What a caller may set for a run, in the caller's words, and where each setting has no meaning."""

from __future__ import annotations

from dataclasses import field
from datetime import timedelta
from typing import Any

from eventide.errors import BindError
from eventide.language.parts.windows import window_text
from eventide.records import record
from eventide.runtime.stage.gathering import Cuts

FINAL = "final"
ERROR = "error"


@record
class RunOptions:
    """The settings of a run; None leaves one as it is by default."""

    max_matches: int | None = None
    max_steps: int | None = None
    max_memory: int | None = None
    batches: bool = False
    """Whether matches leave as they are found, so that they take no memory."""
    matcher: str | None = None
    distribution: str | None = None
    slices: int | None = None
    lateness: str | int | timedelta | None = None
    output: str = FINAL
    buckets: int | None = None
    max_state: int | None = None
    overflow: str = ERROR
    idle_after: str | int | timedelta | None = None
    finish: bool = False
    cuts: Cuts = field(default_factory=Cuts)
    """How many rows a kernel gets at once; for tests."""

    def written(self, *names: str) -> dict[str, Any]:
        """Return some settings as JSON can hold them.

        >>> from datetime import timedelta
        >>> RunOptions(lateness=timedelta(seconds=1)).written("lateness", "output")
        {'lateness': '1000000 us', 'output': 'final'}
        """
        settings = {name: getattr(self, name) for name in names}
        return {name: window_text(value) if isinstance(value, timedelta) else value for name, value in settings.items()}

    def check(self, *, streaming: bool) -> None:
        """Refuse what cannot act on a table, or on a stream."""
        given = self.written("lateness", "output", "buckets", "max_state", "overflow", "idle_after", "finish")
        if not streaming and given != RunOptions().written(*given):
            raise BindError(
                "NOT_A_STREAM",
                f"{', '.join(given)} are for streams; here all events are known.",
                hint="Leave them out, or read the events with spark.readStream.",
            )
        if streaming and (self.max_matches is not None or self.max_memory is not None):
            name = "max_memory" if self.max_matches is None else "max_matches"
            raise BindError(
                "ONLY_ON_TABLES",
                f"{name} is for tables; a stream has no end at which its matches could be counted.",
                hint="Cap the state with max_state, or the matches with LIMIT.",
            )
