"""A package that lies in a zip file, as workers get it: its library is taken out before it can be loaded."""

from __future__ import annotations

import os
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from eventide.caches import cache_directories, made_ours

MARK = "packed.txt"
"""A file beside the library that holds the digest of the sources, which the zip file need not hold."""


def digest() -> str:
    """Return the digest of the sources that the kernels of the zip file were compiled from."""
    return _read(MARK).decode()


def taken_out(name: str) -> Path:
    """Return a library of the zip file as a file of its own, which all processes of the user share.

    It is a path where nothing lies if the zip file has no such library or there is no place to put it.
    """
    try:
        content = _read(name)
    except OSError:
        return Path(__file__).parent / name
    for place in cache_directories("libraries"):
        if made_ours(place) and os.access(place, os.W_OK):
            break
    else:
        place = Path(tempfile.mkdtemp(prefix="eventide-"))
    path = place / name
    if not path.exists():
        _write(content, path)
    return path


def _read(name: str) -> bytes:
    loader: Any = globals()["__loader__"]
    content: bytes = loader.get_data(str(Path(__file__).parent / name))
    return content


def _write(content: bytes, path: Path) -> None:
    # Several workers start at the same time: each writes a file of its own, and the last one stays.
    descriptor, written = tempfile.mkstemp(dir=path.parent, suffix=sysconfig.get_config_var("EXT_SUFFIX"))
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    Path(written).replace(path)
