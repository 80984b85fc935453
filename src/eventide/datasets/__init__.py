"""Seeded data sets: the same arguments give the same rows, on every machine and in every run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.loading import load_later

if TYPE_CHECKING:
    from eventide.datasets.catalogue import DATASETS, Dataset, Setting
    from eventide.datasets.letters import abc, s1, s2, s3
    from eventide.datasets.payments import cards
    from eventide.datasets.registry import generate
    from eventide.datasets.trades import stocks

__all__ = ["DATASETS", "Dataset", "Setting", "abc", "cards", "generate", "s1", "s2", "s3", "stocks"]

# The command line shows the catalogue in its help, without what makes the data.
__getattr__ = load_later(
    __name__,
    {
        "eventide.datasets.catalogue": ("DATASETS", "Dataset", "Setting"),
        "eventide.datasets.letters": ("abc", "s1", "s2", "s3"),
        "eventide.datasets.payments": ("cards",),
        "eventide.datasets.registry": ("generate",),
        "eventide.datasets.trades": ("stocks",),
    },
)
