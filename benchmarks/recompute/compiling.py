"""How the kernels of these benchmarks are compiled: as those of the package, cached apart.

numba looks for changes in the file of a kernel alone, not in those of the kernels that it calls. So the package caches its
kernels by a hash of all their sources, and these by one of theirs.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numba

from eventide import compilation

HERE = Path(__file__).parent
VERSION = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(HERE.rglob("*.py")))).hexdigest()[:16]


def cached_here(decorator):
    """Return a decorator of the package that puts what it compiles into a directory for this version of the benchmarks."""

    def decorate(function):
        package = numba.config.CACHE_DIR
        if package:
            numba.config.CACHE_DIR = str(Path(package) / VERSION)
        try:
            return decorator(function)
        finally:
            numba.config.CACHE_DIR = package

    return decorate


kernel = cached_here(compilation.kernel)
inner_kernel = cached_here(compilation.inner_kernel)
