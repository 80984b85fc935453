"""Stories: what arrives in each micro-batch, what happens between them, and what must come out.

A story begins with `# its name`, then settings (`query:`, `lateness:`, `output:`, `matcher:`), then one line a step: events (`a3` is an event of
type A at time 3, `a3/p` one of key p) make a micro-batch, `crash` throws everything away but the state, `end` says that time has come
to its end. `= a1 b2` below a step is a match that the step puts out, `+` and `-` are corrections, `late: n` and `held: n` count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

STORIES = Path(__file__).parent / "stories"


@dataclass
class Step:
    """One line of input and what must come of it."""

    words: list[str]
    results: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)


@dataclass
class Story:
    """A query on a stream, step by step."""

    name: str
    settings: dict[str, str] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)


def read_stories() -> list[Story]:
    """Return the stories of all files."""
    stories: list[Story] = []
    for path in sorted(STORIES.glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            _read(line.strip(), stories)
    return stories


def _read(line: str, stories: list[Story]) -> None:
    if not line:
        return
    if line.startswith("# "):
        stories.append(Story(line[2:]))
        return
    story = stories[-1]
    name, colon, value = line.partition(":")
    if colon and name in ("query", "lateness", "output", "matcher"):
        story.settings[name] = value.strip()
    elif colon and name in ("late", "held"):
        story.steps[-1].counts[name] = int(value)
    elif line[0] in "=+-":
        story.steps[-1].results.append(line)
    else:
        story.steps.append(Step(line.split()))
