"""The data sets by name, with what can be set about each, for the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from eventide.datasets.cards import cards
from eventide.datasets.letters import abc, s1, s2, s3
from eventide.datasets.stocks import stocks
from eventide.errors import DataError, did_you_mean

Generator = Callable[[int, int, int, Mapping[str, Any]], pa.Table]


@dataclass(frozen=True, slots=True)
class Setting:
    """A number that a data set can be given beyond its size, its keys and its seed."""

    name: str
    kind: type[int | float]
    default: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """A named generator; `generate` takes the number of events, the number of keys, the seed and the settings."""

    name: str
    summary: str
    generate: Generator
    keys: int | None = None
    settings: tuple[Setting, ...] = ()


_GAP = "mean time between events in milliseconds"
_ALL = (
    Dataset(
        "stocks",
        "trades of several companies; prices move in rising and falling runs",
        lambda events, keys, seed, settings: stocks(events, keys, seed, **settings),
        keys=10,
        settings=(
            Setting("selectivity", float, "0.5", "share of events with which a rising run continues"),
            Setting("mean_gap_ms", int, "100", _GAP),
        ),
    ),
    Dataset(
        "abc",
        "events of types A, B, C among noise of other types",
        lambda events, keys, seed, settings: abc(events, keys, seed, **settings),
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
        lambda events, keys, seed, settings: cards(events, keys, seed, **settings),
        keys=1000,
        settings=(
            Setting("fraud", float, "0.01", "share of the payments that belong to planted bursts"),
            Setting("mean_gap_ms", int, "500", _GAP),
        ),
    ),
    Dataset("s1", "A...A B...B C: as many A as B, then one C", lambda events, _, seed, __: s1(max(0, events - 1) // 2, seed)),
    Dataset("s2", "A B...B C: one A, many B, one C", lambda events, _, seed, __: s2(max(0, events - 2), seed)),
    Dataset("s3", "AB...AB C: pairs of A and B, then one C", lambda events, _, seed, __: s3(max(0, events - 1) // 2, seed)),
)

DATASETS: Mapping[str, Dataset] = {dataset.name: dataset for dataset in _ALL}


def generate(
    name: str, events: int, keys: int | None = None, seed: int = 0, settings: Mapping[str, str] | None = None
) -> pa.Table:
    """Generate a data set by its name, with settings given as text.

    >>> generate("s2", 4)["kind"].to_pylist()
    ['A', 'B', 'B', 'C']
    >>> generate("stocks", 10, keys=2, settings={"selectivity": "0.9"}).num_rows
    10
    """
    if name not in DATASETS:
        raise DataError("UNKNOWN_DATASET", f"There is no data set {name}.", hint=did_you_mean(name, DATASETS))
    if events < 0:
        raise DataError("BAD_ARGUMENT", f"events is {events}.", hint="Give 0 or more.")
    if seed < 0:
        raise DataError("BAD_ARGUMENT", f"seed is {seed}.", hint="Give 0 or more.")
    dataset = DATASETS[name]
    if dataset.keys is None and keys is not None:
        raise DataError("BAD_ARGUMENT", f"The data set {name} has no keys.", hint="Leave out --keys.")
    values = {key: _parse(dataset, key, text) for key, text in (settings or {}).items()}
    return dataset.generate(events, dataset.keys or 0 if keys is None else keys, seed, values)


def _parse(dataset: Dataset, name: str, text: str) -> int | float:
    known = {setting.name: setting for setting in dataset.settings}
    if name not in known:
        raise DataError("UNKNOWN_SETTING", f"The data set {dataset.name} has no setting {name}.", hint=did_you_mean(name, known))
    try:
        return known[name].kind(text)
    except ValueError:
        raise DataError(
            "BAD_ARGUMENT", f"{name} is {text!r}, not a number.", hint=f"{name} is the {known[name].meaning}."
        ) from None
