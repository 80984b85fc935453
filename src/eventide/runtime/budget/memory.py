"""How much memory a run may take where nobody says so: a share of what the machine, the container or the process has."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from pathlib import Path

from eventide.errors import BindError

SHARE = 4
"""A quarter: the rows that were found, those that Finish makes of them, and their copies on the way fit in the rest."""
LEAST = 1 << 26
UNKNOWN = 1 << 32
_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def default_memory() -> int:
    """Return how many bytes a run may take by default.

    >>> default_memory() >= LEAST
    True
    """
    return max(LEAST, min(_of_machine(), _of_process()) // SHARE)


def memory_size(given: int | str) -> int:
    """Return a size that a user gave, in bytes.

    >>> memory_size("2 GB"), memory_size("500MB"), memory_size(1 << 20)
    (2147483648, 524288000, 1048576)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", str(given).lower())
    size = 0 if found is None else int(float(found[1]) * (1 << 10 * " kmgt".index(found[2] or " ")))
    if size <= 0:
        raise BindError("BAD_SETTING", f"max_memory is {given!r}.", hint='Give bytes, or a size such as "2 GB".')
    return size


@cache
def _of_machine() -> int:
    """Return the memory of the machine, or of the container where that has less."""
    known = [UNKNOWN]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        known = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for name in _CGROUPS:
        path = Path(name)
        text = path.read_text(encoding="ascii").strip() if path.is_file() else ""
        if text.isdigit() and int(text):
            known.append(int(text))
    return min(known)


def _of_process() -> int:
    """Return what the limit of the process leaves (ulimit -v; Spark sets it for workers), beyond what is mapped already."""
    if sys.platform == "win32":
        return sys.maxsize
    import resource  # noqa: PLC0415 - not there on Windows

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return sys.maxsize
    sizes = Path("/proc/self/statm")
    mapped = int(sizes.read_text(encoding="ascii").split()[0]) * resource.getpagesize() if sizes.is_file() else 0
    return max(0, limit - mapped)
