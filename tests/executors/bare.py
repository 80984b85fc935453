"""New environments made of links to the packages of this one: they lack what is asked for, and take no time to install."""

from __future__ import annotations

import sys
import sysconfig
import venv
from importlib.metadata import distribution, requires
from pathlib import Path
from re import match

OF_SPARK = ("pyspark", "pandas", "protobuf", "grpcio", "grpcio-status")
OF_EVENTIDE = ("duckdb", "lark", "numpy", "pyarrow", "rich", "sqlglot", "typer")
"""All that it needs but numba."""


def bare_python(folder: Path, packages: tuple[str, ...] = OF_SPARK) -> str:
    """Return the Python of a new environment that has some of the packages of this one, and what they need."""
    venv.create(folder, symlinks=True)
    target = packages_of(folder)
    for name in sorted(set().union(*map(_needed, packages))):
        for top in _top_levels(name):
            link = target / top.name
            if not link.exists():
                link.symlink_to(top)
    return str(folder / "bin" / Path(sys.executable).name)


def packages_of(folder: Path) -> Path:
    """Return where an environment has its packages."""
    return Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))


def _needed(name: str) -> set[str]:
    found, waiting = set(), [name]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        found.add(one)
        for requirement in requires(one) or ():
            if "extra ==" not in requirement or (one == "pyspark" and 'extra == "sql"' in requirement):
                other = match(r"[\w.-]+", requirement)[0]
                if _installed(other):
                    waiting.append(other)
    return found


def _installed(name: str) -> bool:
    try:
        distribution(name)
    except ModuleNotFoundError:
        return False
    return True


def _top_levels(name: str) -> set[Path]:
    found = distribution(name)
    base = Path(str(found.locate_file("")))
    tops = {Path(file).parts[0] for file in found.files or () if not Path(file).parts[0].startswith((".", "__pycache__"))}
    return {base / top for top in tops if (base / top).exists()}
