"""The data sets by name, with what can be set about each: what the command line says about them before any is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping


@record
class Setting:
    """A number that a data set can be given beyond its size, its keys and its seed."""

    name: str
    kind: type[int | float]
    default: str
    meaning: str


@record
class Dataset:
    """What can be said about a data set without making it."""

    name: str
    summary: str
    keys: int | None = None
    settings: tuple[Setting, ...] = ()


_GAP = "mean time between events in milliseconds"
_ALL = (
    Dataset(
        "stocks",
        "trades of several companies; prices move in rising and falling runs",
        keys=10,
        settings=(
            Setting("selectivity", float, "0.5", "share of events with which a rising run continues"),
            Setting("mean_gap_ms", int, "100", _GAP),
        ),
    ),
    Dataset(
        "abc",
        "events of types A, B, C among noise of other types",
        keys=1,
        settings=(
            Setting("types", int, "16", "number of event types, A, B and C included"),
            Setting("noise", float, "by weight", "share of events that are neither A, B nor C"),
            Setting("type_skew", float, "0", "Zipf exponent of the types"),
            Setting("key_skew", float, "0", "Zipf exponent of the keys; above 0 gives hot keys"),
            Setting("mean_gap_ms", int, "10", _GAP),
        ),
    ),
    Dataset(
        "cards",
        "payments by credit card with planted card testing",
        keys=1000,
        settings=(
            Setting("fraud", float, "0.01", "share of the payments that belong to planted bursts"),
            Setting("mean_gap_ms", int, "500", _GAP),
        ),
    ),
    Dataset("s1", "A...A B...B C: as many A as B, then one C"),
    Dataset("s2", "A B...B C: one A, many B, one C"),
    Dataset("s3", "AB...AB C: pairs of A and B, then one C"),
)

DATASETS: Mapping[str, Dataset] = {dataset.name: dataset for dataset in _ALL}
