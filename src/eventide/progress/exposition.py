"""The text format of Prometheus, version 0.0.4."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@record
class Family:
    """A metric: its name, its type (counter or gauge), what it says, and its samples as labels with a value."""

    name: str
    kind: str
    meaning: str
    samples: tuple[tuple[Mapping[str, str], int | float], ...]


def exposition(families: Iterable[Family]) -> str:
    r"""Return metrics as text; one without samples is left out.

    >>> print(exposition([Family("et_matches_total", "counter", "Matches.", (({"query": 'a "b"'}, 3),))]), end="")
    # HELP et_matches_total Matches.
    # TYPE et_matches_total counter
    et_matches_total{query="a \"b\""} 3
    """
    lines = []
    for family in families:
        if not family.samples:
            continue
        lines.append(f"# HELP {family.name} {_escaped(family.meaning)}")
        lines.append(f"# TYPE {family.name} {family.kind}")
        lines += [f"{family.name}{_labels(labels)} {value!r}" for labels, value in family.samples]
    return "".join(line + "\n" for line in lines)


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    quoted = {name: _escaped(value).replace('"', '\\"') for name, value in labels.items()}
    return "{" + ",".join(f'{name}="{value}"' for name, value in quoted.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")
