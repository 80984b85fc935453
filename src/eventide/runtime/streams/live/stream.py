"""An open stream: push batches of events, get the matches that are certain."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from eventide.errors import BindError, DataError, did_you_mean
from eventide.records import record
from eventide.runtime.streams.live.batches import batch_table
from eventide.runtime.streams.live.clock import clock_of, moment_of
from eventide.runtime.streams.live.over import Over
from eventide.runtime.streams.live.saved import Saved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType

    import pyarrow as pa

    from eventide.runtime.streams.live.running import RunningFlow, Step
    from eventide.runtime.streams.live.saved import Recipe

MATCHES, TIMEOUTS = "matches", "timeouts"
ADDED = ("events", "untimed", "late", "matches", "timeouts", "expired", "dropped")
"""Counters that add up from call to call; the others tell what is held."""


@record
class LiveProgress:
    """What an open stream has done so far, and what it holds."""

    events: int
    late: int
    """Events that matter to a query and came too late to be taken."""
    untimed: int
    """Events without a time, which were left out."""
    matches: int
    timeouts: int
    dropped: int
    """Held events that went with the oldest partial matches, because of `max_state`."""
    expired: int
    """Keys that were forgotten, because no event to come can reach what they held."""
    held: int
    partial: int
    state_bytes: int
    watermark: Any
    """As the time column has it; None while no event has come, and after the end."""


class Live:
    """A stream that events are pushed to. Made by `Query.open`, `Statement.open`, `Queries.open` and `et.resume`.

    One thread at a time may use it.
    """

    def __init__(self, recipe: Recipe, time: pa.DataType, flows: Mapping[str, RunningFlow], lateness: int) -> None:
        self._recipe = recipe
        self._time = time
        self._flows = dict(flows)
        self._lateness = lateness
        self._counted: Counter[str] = Counter()
        self._late = self._matching.late_schema.empty_table()
        self._timeouts = flows[TIMEOUTS].schema.empty_table() if TIMEOUTS in flows else None
        self._over: str | None = None

    @property
    def _matching(self) -> RunningFlow:
        return self._flows[MATCHES]

    @property
    def schema(self) -> pa.Schema:
        """The columns of the matches."""
        return self._matching.schema

    def push(self, batch: Any = None, /, **streams: Any) -> pa.Table:
        """Take events and return the matches that are certain now.

        `batch` is Arrow data, a pandas or polars frame, or a list of dictionaries, in the order of arrival. With several streams,
        give a batch of each by its name.
        """
        self._check_open()
        tables = self._tables(batch, streams)
        prepared = {name: flow.prepared(tables) for name, flow in self._flows.items()}
        return self._taken(lambda name, flow: flow.take(prepared[name]))

    def advance(self, watermark: Any, *, stream: str | None = None) -> pa.Table:
        """Say that no event before a time comes any more, and return the matches that this makes certain.

        The time is given as the time column has it. With several streams, `stream` moves the clock of one of them alone.
        """
        self._check_open()
        clock = clock_of(watermark, self._time) + self._lateness
        names = list(self._recipe.schemas)
        if stream is not None and stream not in names:
            raise _unknown_stream(stream, names)
        clocks = {number: clock for number, name in enumerate(names) if stream in (None, name)}
        return self._taken(lambda _, flow: flow.advance(clocks))

    def finish(self) -> pa.Table:
        """Say that no event comes any more, and return everything that this makes certain. Nothing can be pushed afterwards."""
        self._check_open()
        rows = self._taken(lambda _, flow: flow.finish())
        self._over = "it is finished"
        return rows

    @property
    def late(self) -> pa.Table:
        """The events of the last push that came too late, with their own columns; `progress.late` counts all of them."""
        return self._late

    @property
    def timeouts(self) -> pa.Table:
        """The partial matches that timed out at the last call, as `Query.timeouts` tells them; for streams with timeouts=True."""
        if self._timeouts is None:
            raise BindError(
                "NO_TIMEOUTS", "The stream was opened without time-outs.", hint="Open it with timeouts=True."
            )
        return self._timeouts

    @property
    def progress(self) -> LiveProgress:
        """What was counted, and what is held now; that is measured by writing the state down."""
        held = self._matching.driver.measured()
        counted = {name: self._counted[name] for name in ADDED}
        watermark = moment_of(self._matching.driver.watermark, self._time)
        return LiveProgress(
            **counted, held=held.held, partial=held.partial, state_bytes=held.state_bytes, watermark=watermark
        )

    def over(self, source: Any, *, finish: bool = True) -> Over:
        """Return the matches of all batches of a source, one dictionary each: `for match in live.over(batches)`.

        An async source needs `async for`. At the end of the source the stream is finished, unless `finish` is False.
        """
        return Over(self, source, finish=finish)

    def dump(self) -> bytes:
        """Return the whole stream as bytes; `et.resume` goes on from them. Keep them together with the place in your input."""
        self._check_open()
        states = {name: flow.driver.dump() for name, flow in self._flows.items()}
        return Saved(self._recipe, dict(self._counted), states, self._matching.hashes).pack()

    def go_on_from(self, saved: Saved) -> None:
        """Take over what another stream of the same query has dumped."""
        if saved.hashes != self._matching.hashes:
            raise DataError(
                "STATE_VERSION",
                "The state was written with another version of DuckDB, which hashes keys in another way.",
                hint="Resume it with that version, or open the stream anew and replay the events of one window.",
            )
        for name, states in saved.states.items():
            self._flows[name].driver.load(states)
        self._counted = Counter(saved.counted)

    def close(self) -> None:
        """Let everything go that the stream holds. What waits is lost, unless it was finished or dumped before."""
        if self._over != "it is closed":
            self._over = "it is closed"
            for flow in self._flows.values():
                flow.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _tables(self, batch: Any, streams: Mapping[str, Any]) -> dict[str, pa.Table]:
        schemas = self._recipe.schemas
        given = dict(streams)
        if batch is not None:
            if len(schemas) > 1:
                raise BindError(
                    "SEVERAL_STREAMS",
                    "The query reads several streams, so a batch needs the name of its own.",
                    hint=f"Write live.push({next(iter(schemas))}=batch).",
                )
            given[next(iter(schemas))] = batch
        for name in given:
            if name not in schemas:
                raise _unknown_stream(name, schemas)
        return {name: batch_table(data, schemas[name]) for name, data in given.items()}

    def _taken(self, step: Callable[[str, RunningFlow], Step]) -> pa.Table:
        with self._stopped_by_errors():
            steps = {name: step(name, flow) for name, flow in self._flows.items()}
        matching = steps[MATCHES]
        self._late = matching.late
        for name in ADDED:
            self._counted[name] += getattr(matching.counters, name)
        if TIMEOUTS in steps:
            self._timeouts = steps[TIMEOUTS].rows
            self._counted["timeouts"] += steps[TIMEOUTS].counters.timeouts
        return matching.rows

    @contextmanager
    def _stopped_by_errors(self) -> Iterator[None]:
        """A batch that was taken in part cannot be taken back."""
        try:
            yield
        except Exception:
            self._over = "an error stopped it in the middle of a batch"
            raise

    def _check_open(self) -> None:
        if self._over is not None:
            raise BindError(
                "STREAM_OVER",
                f"The stream takes nothing any more: {self._over}.",
                hint="Open another one, or resume from the last dump.",
            )


def _unknown_stream(name: str, known: Any) -> BindError:
    return BindError("UNKNOWN_STREAM", f"The query reads no stream {name}.", hint=did_you_mean(name, known))
