"""Which lines of the table of signatures the tests use: noted where EVENTIDE_USED_SIGNATURES names a file.

`make signatures` hands the file to `python -m tools.used_signatures`, which refuses a line that nothing used.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np

from eventide.compilation.kernels import Kernel
from eventide.compilation.signatures import Array, Group, Scalar, Signature, read_table

TYPES = {"i": "int", "u": "uint", "f": "float"}
NOTED = os.environ.get("EVENTIDE_USED_SIGNATURES")


def fits(wanted, given) -> bool:
    """Say whether an argument is of a type of the table."""
    match wanted:
        case Array(type_, dimensions, const):
            named = type_ if type_ == "bool" else f"{TYPES[type_[0]]}{type_[1:]}"
            same = isinstance(given, np.ndarray) and given.dtype.name == named and given.ndim == dimensions
            return same and given.flags.writeable is not const
        case Group(_, items):
            return isinstance(given, tuple) and len(given) == len(items) and all(map(fits, items, given))
        case Scalar("none"):
            return given is None
        case Scalar(type_):
            return isinstance(given, float | np.floating) is (type_ == "f64")


@cache
def forms_of(name: str) -> list[tuple[int, Signature]]:
    """Return the lines of a kernel with their numbers."""
    return [(number, one) for number, one in enumerate(read_table()) if f"eventide.{one.module}.{one.function}" == name]


class Uses:
    """A plugin that notes every kernel that Python calls."""

    def __init__(self) -> None:
        self.used: set[int] = set()
        run = Kernel.__call__

        def noted(kernel, *arguments):
            for number, form in forms_of(f"{kernel.__module__}.{kernel.__name__}"):
                if number not in self.used and all(map(fits, form.arguments, arguments)):
                    self.used.add(number)
            return run(kernel, *arguments)

        Kernel.__call__ = noted

    def pytest_sessionfinish(self) -> None:
        with Path(NOTED).open("a", encoding="ascii") as file:
            file.write("".join(f"{number}\n" for number in sorted(self.used)))


def pytest_configure(config) -> None:
    if NOTED:
        config.pluginmanager.register(Uses())
