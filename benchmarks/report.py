"""Figures of a run, printed as a table and written as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """One measured number and what it should be."""

    name: str
    value: float
    unit: str
    target: str | None = None


def show(figures: list[Figure]) -> None:
    """Print figures as a table."""
    for figure in figures:
        target = f"  (target {figure.target})" if figure.target else ""
        print(f"{figure.name:<75} {figure.value:>12,.2f} {figure.unit}{target}", flush=True)


def write(figures: list[Figure], path: Path) -> None:
    """Write figures as JSON."""
    path.write_text(json.dumps([asdict(figure) for figure in figures], indent=2) + "\n")
