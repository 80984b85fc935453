"""Stories of streams: disorder, crashes and restarts, late events, as the files in `stories` tell them."""

from __future__ import annotations

import pyarrow as pa
import pytest

import eventide as et
from eventide.runtime.streams.output import CHANGE
from eventide.runtime.streams.planning.jobs import StreamOptions
from stream.driving import Run
from stream.reading import Story, read_stories

SCHEMA = pa.schema([("ts", pa.int64()), ("kind", pa.string()), ("k", pa.string())])


def events_of(words: list[str]) -> pa.Table:
    rows = []
    for word in words:
        event, _, key = word.partition("/")
        rows.append({"ts": int(event[1:]), "kind": event[0].upper(), "k": key or None})
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def begin(story: Story) -> Run:
    options = StreamOptions(int(story.settings["lateness"]), story.settings.get("output", "final"), buckets=2)
    events = {"stream": et.events(events_of([]), time="ts", type="kind")}
    return Run({"q": et.query(story.settings["query"])}, events, options, force=story.settings.get("matcher"))


@pytest.mark.parametrize("story", read_stories(), ids=lambda story: story.name)
def test_every_matcher_finds_the_matches_of_a_story_in_the_end(story: Story) -> None:
    totals = []
    for matcher in (None, "automaton"):
        told = {**story.settings, "output": "final"}
        run = begin(Story(story.name, told | ({"matcher": matcher} if matcher else {})))
        lines = []
        for step in story.steps:
            if step.words == ["crash"]:
                continue
            lines += shown(run, run.advance_clock() if step.words == ["end"] else run.feed({"stream": events_of(step.words)}))
        totals.append(sorted(lines))
    assert totals[0] == totals[1]


def shown(run: Run, emitted: list) -> list[str]:
    """Return what came out as lines of a story."""
    lines = []
    for result in emitted:
        for _, table in result.tables:
            signs = table.column(CHANGE).to_pylist() if CHANGE in table.column_names else ["="] * table.num_rows
            plain = table.drop_columns([CHANGE]) if CHANGE in table.column_names else table
            for sign, row in zip(signs, run.finished("q", [plain]).to_pylist(), strict=True):
                events = {event["ts"]: event["kind"].lower() for bound in row.values() if isinstance(bound, list) for event in bound}
                lines.append(f"{sign} {' '.join(f'{kind}{time}' for time, kind in sorted(events.items()))}")
    return lines


@pytest.mark.parametrize("story", read_stories(), ids=lambda story: story.name)
def test_a_story_comes_out_as_told(story: Story) -> None:
    run = begin(story)
    for step in story.steps:
        if step.words == ["crash"]:
            again = begin(story)
            again.states, again.prepared_schema = run.states, run.prepared_schema
            run = again
            continue
        emitted = run.advance_clock() if step.words == ["end"] else run.feed({"stream": events_of(step.words)})
        lines = shown(run, emitted)
        ordered = story.settings.get("output") == "ordered"
        assert (lines if ordered else sorted(lines)) == (step.results if ordered else sorted(step.results)), step.words
        for name, count in step.counts.items():
            assert sum(getattr(result.counters, name) for result in emitted) == count, (name, step.words)
