"""How each data set of the catalogue is generated, for the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eventide.datasets.catalogue import DATASETS
from eventide.datasets.letters import abc, s1, s2, s3
from eventide.datasets.payments import cards
from eventide.datasets.trades import stocks
from eventide.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from eventide.datasets.catalogue import Dataset

# By the number of events, the number of keys, the seed and the settings.
Generator = Callable[[int, int, int, Mapping[str, Any]], pa.Table]
_GENERATORS: Mapping[str, Generator] = {
    "stocks": lambda events, keys, seed, settings: stocks(events, keys, seed, **settings),
    "abc": lambda events, keys, seed, settings: abc(events, keys, seed, **settings),
    "cards": lambda events, keys, seed, settings: cards(events, keys, seed, **settings),
    "s1": lambda events, _, seed, __: s1(max(0, events - 1) // 2, seed),
    "s2": lambda events, _, seed, __: s2(max(0, events - 2), seed),
    "s3": lambda events, _, seed, __: s3(max(0, events - 1) // 2, seed),
}


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
    return _GENERATORS[name](events, dataset.keys or 0 if keys is None else keys, seed, values)


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
