"""Kernels whose bounds are checked have a cache of their own."""

from __future__ import annotations

import os
import subprocess
import sys

PROBE = """
import numpy as np
from eventide.compilation import kernel

def read(values, at):
    return values[at]

try:
    kernel(read, version="probe")(np.zeros(9)[:2], 5)
    print("unchecked")
except IndexError:
    print("checked")
"""


def test_a_run_that_checks_bounds_takes_nothing_from_the_cache_of_one_that_does_not(tmp_path):
    script = tmp_path / "probe.py"
    script.write_text(PROBE, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "EVENTIDE_"))}
    environment = {**kept, "PYTHONPATH": os.pathsep.join(sys.path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    told = []
    for bounds in ("0", "1", "0", "1"):
        done = subprocess.run(
            [sys.executable, str(script)],
            env={**environment, "NUMBA_BOUNDSCHECK": bounds},
            capture_output=True,
            text=True,
            check=True,
        )
        told.append(done.stdout.strip())
    assert told == ["unchecked", "checked", "unchecked", "checked"]
    assert len(list((tmp_path / "cache").iterdir())) == 2
