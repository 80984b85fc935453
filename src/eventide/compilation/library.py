"""The library of linked kernels: where it lies, and whether it is the one that belongs to these sources."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

PLACE = Path(__file__).parent
ROOMS = ("index", "match")
"""Where kernels are."""
NAME = "_linked"
IN_ZIP = hasattr(globals()["__loader__"], "archive")
"""Whether the package lies in a zip file. The build of a wheel loads this module alone, so it imports nothing of ours else."""
_MARKS = (b"@kernel", b"@inner_kernel")
_COMPILING = ("copying.py", "by_numba.py", "front_end.py", "arguments.py", "array_items.py", "compiling.py", "linking.py")
_LINKING = (*_COMPILING, "signatures.txt", "signatures.py", "glue.h", "glue.c")


@cache
def digest_of_sources() -> str:
    """Return what tells the kernels of these sources from those of others."""
    if IN_ZIP:
        from eventide.compilation.packed import digest  # noqa: PLC0415 - see IN_ZIP

        return digest()
    found = hashlib.sha256()
    for text in kernel_sources():
        found.update(text)
    return found.hexdigest()[:16]


def kernel_sources() -> list[bytes]:
    """Return the files that hold kernels, and those that say how they are linked; each is read once."""
    modules = [path.read_bytes() for room in ROOMS for path in sorted((PLACE.parent / room).rglob("*.py"))]
    return [text for text in modules if any(mark in text for mark in _MARKS)] + [(PLACE / name).read_bytes() for name in _LINKING]


def library_path() -> Path:
    """Return where the library of these sources lies, for this Python on this kind of machine."""
    return PLACE / f"{NAME}_{digest_of_sources()}{EXTENSION_SUFFIXES[0]}"


def clean(but: Path | None = None) -> list[Path]:
    """Remove libraries, all but one; returns those that are gone."""
    gone = [path for path in PLACE.glob(f"{NAME}_*") if path != but]
    for path in gone:
        path.unlink()
    return gone


@cache
def _library() -> Any:
    path = library_path()
    if IN_ZIP:
        from eventide.compilation.packed import taken_out  # noqa: PLC0415 - see IN_ZIP

        path = taken_out(path.name)
    if not path.exists():
        return None
    try:
        spec = spec_from_file_location(NAME, path, loader=ExtensionFileLoader(NAME, str(path)))
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError as error:
        sys.stderr.write(f"eventide: the linked kernels cannot be loaded ({error}); numba compiles them when they are called.\n")
        return None
    return module


def linked(name: str) -> Callable[..., object] | None:
    """Return a kernel of the library by its module and name, None where there is none."""
    library = _library()
    return None if library is None else library.find(name.removeprefix("eventide."))


def kernel_names() -> list[str]:
    """Return the names of all kernels of the library; none where there is no library."""
    library = _library()
    return [] if library is None else library.names()
