"""Where a user's caches may lie, and whether a directory can be trusted."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def cache_directories(purpose: str) -> Iterator[Path]:
    """Yield the directories that may hold a cache, best place first.

    >>> {directory.name for directory in cache_directories("parsers")} <= {"parsers", f"eventide-parsers-{os.getuid()}"}
    True
    """
    if os.environ.get("XDG_CACHE_HOME"):
        yield Path(os.environ["XDG_CACHE_HOME"]) / "eventide" / purpose
    # Containers run under user numbers that have neither a name nor a home.
    with suppress(RuntimeError):
        yield Path.home() / ".cache" / "eventide" / purpose
    with suppress(FileNotFoundError):
        yield Path(tempfile.gettempdir()) / f"eventide-{purpose}-{os.getuid()}"


def made_ours(directory: Path) -> bool:
    """Make a directory and say whether nobody else can write it.

    What lies there decides what a query means, or is run. Below /tmp anyone can make a directory with the name that we would
    take.

    >>> made_ours(Path("/dev/null/nowhere"))
    False
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return is_ours(directory)


def is_ours(directory: Path) -> bool:
    """Say whether a directory is there, is the user's own and cannot be written by anybody else.

    >>> is_ours(Path("/dev/null/nowhere"))
    False
    """
    try:
        found = directory.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
