"""Building a wheel compiles the kernels, unless it cannot or is told not to; here with a table of one kernel, for it takes long."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = Path("src", "eventide")
FILES = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE")
TABLE = "index.zorder.z_order(u64[:,:])\n"
pytestmark = [pytest.mark.ci, pytest.mark.timeout(900)]


@pytest.fixture
def sources(tmp_path):
    """Return a copy of the sources in which no kernels are built."""
    folder = tmp_path / "sources"
    shutil.copytree(ROOT / PACKAGE, folder / PACKAGE, ignore=shutil.ignore_patterns("_linked_*", "__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, folder)
    (folder / PACKAGE / "compilation" / "signatures.txt").write_text(TABLE, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("settings", "linked"),
    [({}, True), ({"EVENTIDE_BUILD_KERNELS": "no"}, False), ({"CC": "/nonexistent"}, False)],
    ids=["compiled", "left out", "no compiler"],
)
def test_a_wheel_has_kernels_where_there_is_a_compiler_and_nobody_says_no(sources, tmp_path, settings, linked):
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH" and not name.startswith(("NUMBA_", "EVENTIDE_"))}
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(sources)]
    subprocess.run(command, env={**kept, **settings}, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    libraries = [name for name in zipfile.ZipFile(wheel).namelist() if "/_linked_" in name]
    assert len(libraries) == linked
    assert ("none-any" in wheel.name) is not linked
