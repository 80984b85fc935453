"""How kernels are compiled: once, cached on disk, with a fallback where the cache cannot be written."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Kernel = TypeVar("Kernel", bound="Callable[..., object]")


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
    try:
        yield Path.home() / ".cache" / "eventide" / "kernels"
    except RuntimeError:
        # Containers run under user numbers that have neither a name nor a home.
        pass
    try:
        yield Path(tempfile.gettempdir()) / f"eventide-kernels-{os.getuid()}"
    except FileNotFoundError:
        pass


def _sources() -> str:
    """Return what tells these kernels from those of another version.

    numba looks at the file of a kernel only, not at the files of the kernels that it calls.
    """
    digest = hashlib.sha256()
    for path in sorted(path for room in ("index", "match") for path in (Path(__file__).parent / room).rglob("*.py")):
        source = path.read_bytes()
        if b"@kernel" in source or b"@inner_kernel" in source:
            digest.update(source)
    return digest.hexdigest()[:16]


def _choose_cache() -> bool:
    """Point numba at a directory it can write and say whether there is one."""
    for place in _places():
        directory = place / _sources()
        if _writable(directory):
            numba.config.CACHE_DIR = str(directory)  # type: ignore[attr-defined]
            return True
    return False


_CACHED = _choose_cache()


def _compiled(function: Kernel, **options: Any) -> Kernel:
    if _CACHED:
        try:
            return cast("Kernel", numba.njit(cache=True, nogil=True, **options)(function))
        except RuntimeError:
            # numba has no place for the cache of a function whose source it cannot locate.
            pass
    return cast("Kernel", numba.njit(nogil=True, **options)(function))


def kernel(function: Kernel) -> Kernel:
    """Compile a kernel for the processor, without the interpreter.

    >>> kernel(lambda x: x + 1)(1)
    2
    """
    return _compiled(function)


def inner_kernel(function: Kernel) -> Kernel:
    """Compile a kernel that only other kernels call: without the way in from Python, which takes as long as the kernel itself.

    Tuples of arrays are taken apart there, one by one. To call such a kernel from Python ends the process, so a test reads the
    sources for it.
    """
    return _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


@inner_kernel
def copy_start(target, source, length):
    """Copy the first elements of an array; a loop, because numba takes far longer to compile slices."""
    for index in range(length):
        target[index] = source[index]
