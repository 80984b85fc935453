"""The clocks of the streams of a bucket: each shows its latest event and, where it is silent for long, follows the wall."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping


@record
class Idle:
    """After which silence the clock of a stream follows the wall."""

    after: int
    """In microseconds."""
    units_per_second: int = 1_000_000
    """What the times of events count."""


@record
class Beat:
    """A stroke of the clock on the wall, in microseconds; `run` tells the runs of a stream apart.

    What passes between two runs is not silence: nobody listened.
    """

    wall: int
    run: int


class Clocks:
    """The clock of each stream. Beats come with the events, in the same micro-batches, so a repeated one gives the same times."""

    def __init__(self, streams: int, idle: Idle | None = None) -> None:
        self._idle = idle
        self._latest: list[int | None] = [None] * streams
        self._silence = [0] * streams
        self._beat: Beat | None = None

    def __len__(self) -> int:
        return len(self._latest)

    def hear(self, latest: Mapping[int, int], beat: Beat | None = None) -> None:
        """Take the latest time of every stream that brought events, and the time that has passed."""
        if beat is not None:
            if self._beat is not None and beat.run == self._beat.run:
                passed = max(0, beat.wall - self._beat.wall)
                self._silence = [silence + passed for silence in self._silence]
            self._beat = beat
        for stream, time in latest.items():
            known = self._latest[stream]
            self._latest[stream] = time if known is None else max(known, time)
            self._silence[stream] = 0

    def slowest(self) -> int | None:
        """Return the time of the slowest clock; None where one is not known yet."""
        times = [self._time(stream) for stream in range(len(self._latest)) if not self._never_speaks(stream)]
        known = [time for time in times if time is not None]
        return min(known) if known and len(known) == len(times) else None

    def _never_speaks(self, stream: int) -> bool:
        """Return whether a stream has been silent for so long, and from the beginning, that the others do not wait for it."""
        return self._is_idle(stream) and self._latest[stream] is None

    def _is_idle(self, stream: int) -> bool:
        return self._idle is not None and self._silence[stream] >= self._idle.after

    def _time(self, stream: int) -> int | None:
        latest = self._latest[stream]
        if latest is None or self._idle is None or not self._is_idle(stream):
            return latest
        return latest + self._silence[stream] * self._idle.units_per_second // 1_000_000

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON can hold it."""
        beat = None if self._beat is None else [self._beat.wall, self._beat.run]
        return {"latest": self._latest, "silence": self._silence, "beat": beat}

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from a dump."""
        self._latest, self._silence = list(state["latest"]), list(state["silence"])
        self._beat = None if state["beat"] is None else Beat(*state["beat"])
