"""Run `python -m tools.fuzz --minutes 10 [--seed 0]`: counts how inputs end, and fails where one does not end as it should."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from typing import Any

INPUTS = 250
"""Of one process."""


def run(first: int, number: int) -> tuple[Counter[str], list[dict[str, Any]]]:
    """Run the inputs of some seeds in a process of their own, and go on behind one that ends it."""
    ends: Counter[str] = Counter()
    findings = []
    end = first + number
    while first < end:
        command = [sys.executable, "-m", "tools.fuzz.child", str(first), str(end - first)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ourselves
        begun = first
        for line in ran.stdout.splitlines():
            told = json.loads(line)
            if "begin" in told:
                begun = told["begin"]
                continue
            ends[told["end"]] += 1
            first = told["seed"] + 1
            if told["end"] == "foreign":
                findings.append(told)
        if ran.returncode:
            findings.append({"seed": begun, "end": f"exit {ran.returncode}", "traceback": ran.stderr[-3000:]})
            ends["killed"] += 1
            first = begun + 1
    return ends, findings


def main() -> None:
    """Run for some minutes, or for a number of inputs."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--inputs", type=int, default=None, help="so many inputs, however long they take")
    parser.add_argument("--seed", type=int, default=int(time.time()) // 60 * 1_000_000, help="of the first input")
    arguments = parser.parse_args()
    until = time.monotonic() + 60 * arguments.minutes
    ends: Counter[str] = Counter()
    findings: list[dict[str, Any]] = []
    while ends.total() < (arguments.inputs or sys.maxsize) and (arguments.inputs or time.monotonic() < until):
        some, found = run(arguments.seed + ends.total(), min(INPUTS, (arguments.inputs or sys.maxsize) - ends.total()))
        ends += some
        findings += found
        for finding in found:
            print(json.dumps(finding, indent=1).replace("\\n", "\n"), flush=True)
    print(f"{ends.total()} inputs from seed {arguments.seed}: {ends['ran']} ran, {len(findings)} findings")
    print(", ".join(f"{end} {number}" for end, number in ends.most_common()))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
