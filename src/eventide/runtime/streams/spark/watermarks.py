"""How late events may come, as the user of Spark says it: by `lateness`, or by a watermark on the input."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eventide.errors import BindError, warn
from eventide.runtime.streams.planning.lateness import bind_lateness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from eventide.plan.expressions.schema import StreamSchema
    from eventide.runtime.options import RunOptions

    Streams = Sequence[tuple[DataFrame, StreamSchema]]

DELAY = "spark.watermarkDelayMs"
"""Where Spark notes the delay of a watermark, in the metadata of its column."""
WHAT_TO_SAY = 'Say how late events may come with lateness="10 seconds" or withWatermark; lateness=0 says that they come in order.'


def heard(options: RunOptions, streams: Streams) -> RunOptions:
    """Return the settings with the lateness that a watermark says, where none is given."""
    if options.finish:
        _refuse_watermarks(streams)
    delay = _longest_delay(streams)
    return replace(options, lateness=f"{delay} ms") if options.lateness is None and delay is not None else options


def warn_of_lateness(options: RunOptions, streams: Streams) -> None:
    """Say what happens to events out of order where nobody says it, and which lateness holds where two are said."""
    delay = _longest_delay(streams)
    if options.lateness is None:
        if delay is None:
            warn(f"Events that come out of order are left out, for nothing says how late they may be. {_elsewhere(streams)}")
        return
    given = max(bind_lateness(options.lateness, schema) for _, schema in streams)
    if delay is not None and given != delay * 1000:
        warn(f"lateness={options.lateness!r} holds, and not the {delay} ms of withWatermark.")


def _longest_delay(streams: Streams) -> int | None:
    delays = [frame.schema[schema.time].metadata.get(DELAY) for frame, schema in streams]
    return max((int(delay) for delay in delays if delay is not None), default=None)


def _refuse_watermarks(streams: Streams) -> None:
    for frame, _ in streams:
        for field in frame.schema:
            if DELAY in field.metadata:
                raise BindError(
                    "FINISH_WITH_WATERMARK",
                    f"finish=True needs the only watermark of the query to see the end, and the column {field.name} has one.",
                    hint=f'Take withWatermark off the input, and give its delay as lateness="{field.metadata[DELAY]} ms".',
                )


def _elsewhere(streams: Streams) -> str:
    for frame, schema in streams:
        for field in frame.schema:
            if DELAY in field.metadata:
                return f"The watermark on {field.name} does not count: the time of the events is {schema.time}."
    return WHAT_TO_SAY
