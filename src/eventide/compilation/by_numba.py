"""Kernels compiled by numba when they are first called, and cached on disk where there is a place for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
from numba.core import types
from numba.core.datamodel import models, registry

from eventide.caches import cache_directories, made_ours
from eventide.compilation.library import digest_of_sources

if TYPE_CHECKING:
    from collections.abc import Callable


def _choose_cache() -> bool:
    """Point numba at a directory it can write and say whether there is one."""
    asked = os.environ.get("NUMBA_CACHE_DIR")
    # numba does not look whether what it has cached checks bounds.
    checked = "-checked" if numba.config.BOUNDSCHECK else ""  # type: ignore[attr-defined]
    for place in (Path(asked),) if asked else cache_directories("kernels"):
        # numba looks at the file of a kernel only, not at the files of the kernels that it calls.
        directory = place / f"{digest_of_sources()}{checked}"
        if made_ours(directory) and os.access(directory, os.W_OK):
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
    if LINKING:
        from eventide.compilation.front_end import KernelCompiler  # noqa: PLC0415 - only to build the library

        closed["pipeline_class"] = KernelCompiler
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


class CalledKernel(types.Dispatcher):
    """What a kernel is inside another one: called with a constant or a small whole number, it takes an i64.

    To numba each is a type of its own, for which the kernel and all that it calls would be compiled again.
    """

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Return the signature with which it is called."""
        return super().get_call_type(context, tuple(map(_widened, args)), {name: _widened(one) for name, one in kws.items()})


def _widened(type_: Any) -> Any:
    plain: Any = types.unliteral(type_)  # type: ignore[no-untyped-call]
    return types.int64 if plain in types.signed_domain else plain


registry.register_default(CalledKernel)(models.OpaqueModel)
