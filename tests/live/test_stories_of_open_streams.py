"""The stories of streams, told to an open stream: a crash is a dump that another one resumes."""

from __future__ import annotations

import warnings
from typing import Any

import pyarrow as pa
import pytest

import eventide as et
from stream.reading import Story, read_stories
from stream.test_stories import SCHEMA, events_of


def begin(story: Story) -> et.Live:
    told = story.settings
    settings: dict[str, Any] = {"lateness": int(told["lateness"]), "output": told.get("output", "final")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", et.EventideWarning)
        return et.query(told["query"]).open(SCHEMA, time="ts", type="kind", matcher=told.get("matcher"), **settings)


def shown(found: pa.Table) -> list[str]:
    """Return what came out as lines of a story."""
    lines = []
    for row in found.to_pylist():
        events = {event["ts"]: event["kind"].lower() for bound in row.values() if isinstance(bound, list) for event in bound}
        lines.append(f"{row.get('change', '=')} {' '.join(f'{kind}{time}' for time, kind in sorted(events.items()))}")
    return lines


@pytest.mark.parametrize("story", read_stories(), ids=lambda story: story.name)
def test_an_open_stream_tells_a_story(story: Story) -> None:
    live = begin(story)
    late = 0
    for step in story.steps:
        if step.words == ["crash"]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", et.EventideWarning)
                live = et.resume(live.dump())
            continue
        # Time comes to its end, and the stream does not: what waits for events goes on to wait.
        found = live.advance(1 << 61) if step.words == ["end"] else live.push(events_of(step.words))
        lines = shown(found)
        ordered = story.settings.get("output") == "ordered"
        assert (lines if ordered else sorted(lines)) == (step.results if ordered else sorted(step.results)), step.words
        progress = live.progress
        if "late" in step.counts:
            assert progress.late - late == step.counts["late"], step.words
        if "held" in step.counts:
            assert progress.held == step.counts["held"], step.words
        late = progress.late
