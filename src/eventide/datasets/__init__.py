"""Seeded data sets: the same arguments give the same rows, on every machine and in every run."""

from __future__ import annotations

from eventide.datasets.cards import cards
from eventide.datasets.letters import abc, s1, s2, s3
from eventide.datasets.registry import DATASETS, Dataset, Setting, generate
from eventide.datasets.stocks import stocks

__all__ = ["DATASETS", "Dataset", "Setting", "abc", "cards", "generate", "s1", "s2", "s3", "stocks"]
