"""The process that runs inputs: it may take so much memory, and so much processor time for each of them."""

from __future__ import annotations

import json
import logging
import resource
import signal
import sys
import traceback
import warnings
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

import eventide as et
from tools.fuzz.texts import mutated

SECONDS = 30.0
"""Of processor time for one input: three times what the budgets of a run allow."""
MEMORY = 3 << 30
"""Beyond what is mapped at the start."""
CALLS = ("match", "match", "match", "capped", "batches", "count", "timeouts", "explain")


def table(random: Random) -> pa.Table:
    """Return some rows with nulls, NaN and equal times."""
    size = random.choice((0, 1, 3, 8, 12, 25, 60))
    start = datetime(2024, 1, 2)  # noqa: DTZ001 - a time without a zone
    seconds = sorted(random.randrange(max(1, size)) for _ in range(size))
    return pa.table(
        {
            "ts": pa.array([start + timedelta(seconds=at) for at in seconds], pa.timestamp("us")),
            "kind": pa.array([random.choice("AABBC") for _ in seconds], pa.string()),
            "price": pa.array([random.choice((None, float("nan"), 1.0, 2.5, 7.0, 90.0)) for _ in seconds], pa.float64()),
            "volume": pa.array([random.choice((None, 0, 1, 2, 5)) for _ in seconds], pa.int64()),
            "company": pa.array([random.choice(("x", "y", None)) for _ in seconds], pa.string()),
            "flag": pa.array([random.choice((True, False, None)) for _ in seconds], pa.bool_()),
            "day": pa.array([random.randrange(5) for _ in seconds], pa.date32()),
            "nothing": pa.nulls(size),
        }
    )


def ask(language: str, text: str, rows: pa.Table, call: str) -> None:
    """Run an input."""
    if language == "sql":
        read = et.statement(text)
        if call == "explain":
            read.explain(t=rows)
        else:
            read.run(t=rows, **({"max_matches": 100} if call == "capped" else {}))
        return
    query = et.query(text, language)
    events = et.events(rows, time="ts", type="kind")
    match call:
        case "capped":
            query.match(events, max_matches=100)
        case "batches":
            for _ in zip(query.match(events, batches=True), range(3), strict=False):
                pass
        case "explain":
            query.explain(events=events)
        case _:
            getattr(query, call)(events)


def outcome(seed: int) -> dict[str, Any]:
    """Return the input of a seed and how it ends: `ran`, the condition of an error of ours, or a foreign exception."""
    random = Random(seed)  # noqa: S311 - to be repeated, not to be secret
    language, text = mutated(random)
    rows, call = table(random), random.choice(CALLS)
    told: dict[str, Any] = {"seed": seed, "language": language, "call": call, "text": text, "rows": rows.num_rows}
    try:
        ask(language, text, rows, call)
    except et.EventideError as error:
        return told | {"end": error.condition}
    except Exception:  # noqa: BLE001 - any of them is a finding
        return told | {"end": "foreign", "traceback": traceback.format_exc()[-3000:]}
    return told | {"end": "ran"}


def main(first: int, number: int) -> None:
    """Run the inputs of some seeds; a line before each says which, so that the parent knows what killed this process."""
    warnings.simplefilter("ignore", et.EventideWarning)
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    events = et.events(table(Random(0)), time="ts", type="kind")  # noqa: S311 - as above
    et.query("SELECT * WHERE A").match(events)
    mapped = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))
    for seed in range(first, first + number):
        print(json.dumps({"begin": seed}), flush=True)
        # Without a handler the signal ends the process, also inside of a kernel that does not return.
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        print(json.dumps(outcome(seed)), flush=True)
    signal.setitimer(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
