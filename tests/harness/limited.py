"""Scripts in a process of their own that may take so much processor time and memory, for what must not explode."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PAYMENTS = """
import json
import resource
import sys
import time
import warnings
from datetime import datetime, timedelta

import pyarrow as pa

import eventide as et

warnings.simplefilter("ignore", et.EventideWarning)

def payments(n):
    amounts = [1.0 + (i * 7 % 13) / 10 for i in range(n)] + [500.0]
    at = [datetime(2024, 1, 2, 9) + timedelta(seconds=i) for i in range(n + 1)]
    table = pa.table({"ts": at, "kind": ["Pay"] * (n + 1), "card": ["c1"] * (n + 1), "amount": amounts})
    return et.events(table, time="ts", type="kind")

def outcome(ask):
    begin = time.process_time()
    try:
        found = ask()
        said = found.num_rows if isinstance(found, pa.Table) else found
    except et.LimitError as error:
        said = str(error)
    print(json.dumps([said, time.process_time() - begin]), flush=True)

def limit_memory(beyond):
    # What is mapped already, kernels and Arrow, is not what is tested.
    with open("/proc/self/statm") as sizes:
        mapped = int(sizes.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + beyond, mapped + beyond))

et.query("SELECT * WHERE Pay+ AS s ; Pay AS b FILTER b.amount > SUM(s.amount) LIMIT 1").match(payments(3))
"""
"""Payments of one card, and how to say what becomes of a question about them."""


def outcomes(script: str, *, seconds: int = 60) -> list[tuple[Any, float]]:
    """Return what a script says of each of its questions, and the processor time that it took."""
    # Allocators reserve address space for each thread, many times what is used of it, and a limit of it would count that.
    quiet = {"MALLOC_ARENA_MAX": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    environment = {**os.environ, **quiet, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    bounded = f"import resource\nresource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))\n{PAYMENTS}{script}"
    ran = subprocess.run([sys.executable, "-c", bounded], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"exit {ran.returncode}\n{ran.stdout}\n{ran.stderr[-4000:]}"
    return [tuple(json.loads(line)) for line in ran.stdout.splitlines()]
