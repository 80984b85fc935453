"""Cases on pandas-match-recognize."""

from __future__ import annotations

import logging
import signal
import warnings

import pandas as pd
from pandas_match_recognize import match_recognize

# The wheel of pandas-match-recognize installs its modules under this name.
from src.utils.pattern_cache import clear_pattern_cache
from src.utils.performance_optimizer import clear_smart_cache

SECONDS_OF_A_CASE = 20


class TooSlowError(Exception):
    """A case took longer than it may."""


def stop(_signal, _frame) -> None:
    raise TooSlowError(f"no result after {SECONDS_OF_A_CASE} s")


def run_all(cases):
    """Return the result of each case."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, stop)
    return [result_of(case) for case in cases]


def result_of(case):
    """Return the rows of one case, or the error."""
    names = [name for name, _ in case["columns"]]
    frame = pd.DataFrame(case["rows"], columns=names)
    for name, kind in case["columns"]:
        if kind == "timestamp":
            frame[name] = pd.to_datetime(frame[name])
    # A pattern met before can change what the next query means (`A*?` and then `A*`), so each case starts afresh.
    clear_smart_cache()
    clear_pattern_cache()
    signal.alarm(SECONDS_OF_A_CASE)
    try:
        found = match_recognize(case["sql"], frame)
        return {"columns": list(found.columns), "rows": [[plain(value) for value in row] for row in found.to_numpy(object)]}
    except Exception as error:  # noqa: BLE001 - whatever a peer raises is its answer
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        signal.alarm(0)


def plain(value):
    """Return a value as JSON has it."""
    if pd.isna(value):
        return None
    return str(value) if isinstance(value, pd.Timestamp) else value.item() if hasattr(value, "item") else value
