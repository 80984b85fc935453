"""Run MATCH_RECOGNIZE queries on another engine: `.venv-peers/bin/python run_cases.py cases.json results.json`.

A case is an object with `engine` ("flink" or "pandas"), `columns` (a list of name and type: bigint, double, string, timestamp),
`rows`, and `sql`, which reads the table t. Its result is an object with `columns` and `rows`, or with `error`. All cases run in
one process, because the start of an engine costs more than a case.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def run(cases):
    """Return the results of all cases, in their order."""
    by_engine = {}
    for number, case in enumerate(cases):
        by_engine.setdefault(case["engine"], []).append(number)
    results = [None] * len(cases)
    for engine, numbers in by_engine.items():
        if engine == "flink":
            from flink_engine import run_all
        else:
            from pandas_engine import run_all
        for number, result in zip(numbers, run_all([cases[number] for number in numbers]), strict=True):
            results[number] = result
    return results


def main() -> None:
    """Read the cases, run them, write the results."""
    source, target = map(Path, sys.argv[1:])
    target.write_text(json.dumps(run(json.loads(source.read_text()))))


if __name__ == "__main__":
    main()
