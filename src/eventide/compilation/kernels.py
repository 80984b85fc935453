"""The mark of a kernel, and which code runs when it is called."""

from __future__ import annotations

import os
import sys
from functools import cache, update_wrapper
from threading import Timer
from typing import TYPE_CHECKING, Any, TypeVar, cast

from eventide.compilation.library import linked

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., object]")

PLAIN = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
"""Whether kernels run as the Python that they are written in."""
STRICT = os.environ.get("EVENTIDE_KERNELS") == "linked"
"""Whether a linked kernel refuses what the table does not name: for tests. Else numba compiles it for what it is given."""
BY_NUMBA = os.environ.get("EVENTIDE_KERNELS") == "numba" or os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0")
"""Whether numba compiles what the library holds: for development, and to check bounds."""
NOTICE_SECONDS = 2.0
NOTICE = "eventide: numba compiles the kernels, which takes a while, once. To have them before: eventide kernels build\n"
NOTHING = """There are no compiled kernels for this machine, and there is no numba to compile them.
Hint: Install numba where the workers run, or call et.ship(spark) from a machine of the same kind after eventide kernels build."""


class Kernel:
    """A function that is compiled: the library has it, or numba does it when it is first called, or called by another kernel."""

    def __init__(self, function: Callable[..., object], *, inner: bool, version: str) -> None:
        update_wrapper(self, function)
        self._function = function
        self._inner = inner
        self._version = version
        self._dispatcher: Any = None
        self._run: Callable[..., object] | None = None

    def __call__(self, *arguments: object) -> object:
        """Run it."""
        if self._run is None:
            self._run = self._found()
            if self._run is self._dispatcher:
                return self._compiled_first(arguments)
        try:
            return self._run(*arguments)
        except TypeError as error:
            if STRICT or self._run is self._dispatcher or self._inner:
                raise
            sys.stderr.write(f"eventide: {error}; numba compiles this kernel.\n")
            self._run = self.dispatcher()
            return self._run(*arguments)

    def _compiled_first(self, arguments: tuple[object, ...]) -> object:
        # What numba finds in its cache takes no time, and there is no need to speak of it.
        notice = Timer(NOTICE_SECONDS, _say_once)
        notice.daemon = True
        notice.start()
        try:
            return self._dispatcher(*arguments)
        finally:
            notice.cancel()

    def _found(self) -> Callable[..., object]:
        if self._inner:
            raise TypeError(f"Only other kernels can call {self._function.__name__}.")
        name = f"{self._function.__module__}.{self._function.__name__}"
        found = None if BY_NUMBA or self._version else linked(name)
        return cast("Callable[..., object]", self.dispatcher()) if found is None else found

    def __reduce__(self) -> str:
        return self._function.__name__

    def dispatcher(self) -> Any:
        """Return numba's dispatcher of it."""
        if self._dispatcher is None:
            try:
                from eventide.compilation.by_numba import compiled  # noqa: PLC0415 - numba is slow to import, and rarely needed
            except ModuleNotFoundError as error:
                raise RuntimeError(f"[WORKERS_WITHOUT_KERNELS] {NOTHING}") from error

            self._dispatcher = compiled(self._function, inner=self._inner, version=self._version)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """What numba takes it for inside another kernel."""
        from eventide.compilation.by_numba import CalledKernel  # noqa: PLC0415 - numba is slow to import, and rarely needed

        return CalledKernel(self.dispatcher())


@cache
def _say_once() -> None:
    if os.environ.get("EVENTIDE_WAITS") != "no":
        sys.stderr.write(NOTICE)


def kernel(function: Function, version: str = "") -> Function:
    """Mark a kernel that Python calls; `signatures.txt` lists its signatures.

    One of another package is not linked; `version` tells its sources from those of other versions.

    >>> kernel(lambda x: x + 1)(1)
    2
    """
    return function if PLAIN else cast("Function", Kernel(function, inner=False, version=version))


def inner_kernel(function: Function, version: str = "") -> Function:
    """Mark a kernel that only other kernels call: it is compiled with them."""
    return function if PLAIN else cast("Function", Kernel(function, inner=True, version=version))
