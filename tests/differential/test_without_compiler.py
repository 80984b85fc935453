"""Random queries without the compiler: kernels run as plain Python, where an index behind an array and an overflow are errors."""

from __future__ import annotations

import pytest

from match.test_jit_modes import elsewhere

SCRIPT = """
import json
from harness.checking import run_batch
from harness.kinds.row_patterns.kind import RowPatterns
from harness.kinds.sequences.kind import Sequences
from harness.ways import ROW_PATTERNS, SEQUENCES
kinds = {"sequences": (Sequences(streams=4), SEQUENCES), "row patterns": (RowPatterns(tables=4), ROW_PATTERNS)}
kind, ways = kinds[%r]
print(json.dumps(run_batch(kind, 7, ways, queries=%d).ways))
"""


@pytest.mark.ci
@pytest.mark.parametrize(("kind", "queries"), [("sequences", 15), ("row patterns", 20)])
def test_plain_python_agrees_with_the_oracle(kind: str, queries: int) -> None:
    assert min(elsewhere(SCRIPT % (kind, queries), NUMBA_DISABLE_JIT="1").values()) > 0
