"""The same results on streams however the kernels are run: compiled, checked for bounds, and as plain Python."""

from __future__ import annotations

import pytest

from match.test_jit_modes import elsewhere
from stream_rows.answers import answers

SCRIPT = "import json; from stream_rows.answers import answers; print(json.dumps(answers()))"


def test_plain_python_finds_the_same():
    assert elsewhere(SCRIPT, NUMBA_DISABLE_JIT="1") == answers()


@pytest.mark.long
def test_kernels_stay_inside_their_arrays(tmp_path):
    assert elsewhere(SCRIPT, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path)) == answers()
