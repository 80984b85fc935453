"""`eventide kernels`, in a copy of the package: the library of the tests themselves stays."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "eventide"


@pytest.fixture
def copy(tmp_path):
    """Return a folder with a package that has no library."""
    shutil.copytree(PACKAGE, tmp_path / "eventide", ignore=shutil.ignore_patterns("_linked_*", "__pycache__"))
    return tmp_path


def run(copy, *arguments, **environment):
    command = [sys.executable, "-m", "eventide", "kernels", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(copy), **environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_without_a_library_the_list_says_how_to_build_it(copy):
    told = run(copy, "list")
    assert (told.returncode, told.stdout) == (0, "")
    assert "eventide kernels build" in told.stderr


def test_without_a_compiler_the_build_ends_at_once_and_says_what_to_do(copy):
    told = run(copy, "build", CC="no-such-compiler")
    assert told.returncode == 1
    assert "[NO_KERNELS]" in told.stderr
    assert "there is no C compiler no-such-compiler" in told.stderr
    assert "Hint: Install a C compiler" in told.stderr


def test_a_library_that_cannot_be_loaded_is_done_without(copy):
    find = "from eventide.compilation.library import library_path, linked; {}"
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    for script in (find.format("library_path().write_bytes(b'damaged')"), find.format("assert linked('index.zorder.top_bit') is None")):
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert "the linked kernels cannot be loaded" in done.stderr
    assert run(copy, "clean").stderr == "1 removed\n"
    assert run(copy, "clean").stderr == "There are no kernels to remove.\n"
