"""How kernels are compiled: once, cached on disk, with a fallback where the cache cannot be written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

Kernel = TypeVar("Kernel", bound="Callable[..., object]")


def _writable(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


def _choose_cache() -> bool:
    """Point numba at a directory it can write and say whether there is one."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return _writable(Path(os.environ["NUMBA_CACHE_DIR"]))
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for directory in (home / "eventide" / "kernels", Path(tempfile.gettempdir()) / f"eventide-kernels-{os.getuid()}"):
        if _writable(directory):
            numba.config.CACHE_DIR = str(directory)
            return True
    return False


_CACHED = _choose_cache()


def kernel(function: Kernel) -> Kernel:
    """Compile a kernel for the processor, without the interpreter.

    >>> kernel(lambda x: x + 1)(1)
    2
    """
    if _CACHED:
        try:
            return numba.njit(cache=True, nogil=True)(function)  # type: ignore[no-any-return]
        except RuntimeError:
            # numba has no place for the cache of a function whose source it cannot locate.
            pass
    return numba.njit(nogil=True)(function)  # type: ignore[no-any-return]
