"""Kernels compiled by numba when they are first called, and cached on disk where there is a place for it."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba

from eventide.compilation.library import digest_of_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _writable(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


def _places() -> Iterator[Path]:
    """Yield where the cache may lie, best place first."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(os.environ["NUMBA_CACHE_DIR"])
        return
    if os.environ.get("XDG_CACHE_HOME"):
        yield Path(os.environ["XDG_CACHE_HOME"]) / "eventide" / "kernels"
    # Containers run under user numbers that have neither a name nor a home.
    with suppress(RuntimeError):
        yield Path.home() / ".cache" / "eventide" / "kernels"
    with suppress(FileNotFoundError):
        yield Path(tempfile.gettempdir()) / f"eventide-kernels-{os.getuid()}"


def _choose_cache() -> bool:
    """Point numba at a directory it can write and say whether there is one."""
    for place in _places():
        # numba looks at the file of a kernel only, not at the files of the kernels that it calls.
        directory = place / digest_of_sources()
        if _writable(directory):
            numba.config.CACHE_DIR = str(directory)  # type: ignore[attr-defined]
            return True
    return False


LINKING = False
"""Whether what is compiled is linked: then nothing is cached, and Python has no way in."""
_CACHED = _choose_cache()


def compiled(function: Callable[..., object], *, inner: bool, version: str) -> Any:
    """Return numba's dispatcher of a function.

    The way in from Python takes as long to compile as the kernel itself, for tuples of arrays are taken apart there.
    """
    closed: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True} if inner or LINKING else {}
    if _CACHED and not LINKING:
        place = numba.config.CACHE_DIR  # type: ignore[attr-defined]
        try:
            numba.config.CACHE_DIR = str(Path(place) / version)  # type: ignore[attr-defined]
            return numba.njit(cache=True, nogil=True, **closed)(function)
        except RuntimeError:
            # numba has no place for the cache of a function whose source it cannot locate.
            pass
        finally:
            numba.config.CACHE_DIR = place  # type: ignore[attr-defined]
    return numba.njit(nogil=True, **closed)(function)
