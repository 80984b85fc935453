"""Which lines of the table of signatures are used: noted at every call of a kernel from Python."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache

import numpy as np

from eventide.compilation.kernels import Kernel
from eventide.compilation.signatures import Array, Group, Scalar, Signature, read_table

TYPES = {"i": "int", "u": "uint", "f": "float"}


def fits(wanted, given) -> bool:
    """Say whether an argument is of a type of the table, as the glue does: what is only read may be writable."""
    match wanted:
        case Array(type_, dimensions, const):
            named = type_ if type_ == "bool" else f"{TYPES[type_[0]]}{type_[1:]}"
            same = isinstance(given, np.ndarray) and given.dtype.name == named and given.ndim == dimensions
            return same and (const or given.flags.writeable)
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


@contextmanager
def noted():
    """Give the numbers of the lines that are used inside."""
    used: set[int] = set()
    run = Kernel.__call__

    def noting(kernel, *arguments):
        forms = forms_of(f"{kernel.__module__}.{kernel.__name__}")
        used.update([number for number, form in forms if all(map(fits, form.arguments, arguments))][:1])
        return run(kernel, *arguments)

    Kernel.__call__ = noting
    try:
        yield used
    finally:
        Kernel.__call__ = run
