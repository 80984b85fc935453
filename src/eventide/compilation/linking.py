"""Building the library of kernels: the table is compiled in several processes, and what comes out is linked with `glue.c`.

numba compiles each signature without a way in from Python; its optimised modules become objects, with one entry point a
signature that takes words of eight bytes, which the glue fills. A kernel that others call is compiled with them.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections import defaultdict
from importlib import import_module
from inspect import unwrap
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from types import FunctionType
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from eventide.compilation.library import PLACE, clean, library_path
from eventide.compilation.signatures import ITEM_LETTERS, LETTERS, Array, Group, Scalar, read_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from eventide.compilation.signatures import Argument, Signature

BASELINE = {"x86_64": "x86-64-v2"}
"""What every processor in use can do. Kernels are branches and whole numbers: a newer one would gain nothing."""
_NOT_FOR_BUILDING = ("NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK", "NUMBA_OPT", "NUMBA_DEBUGINFO")


class Form(TypedDict):
    """What a signature became: the words that it takes, its result as the glue reads it, and how large that is."""

    words: int
    result: str
    result_bytes: int


class BuildError(Exception):
    """The library cannot be built here."""


def build(processes: int, tell: Callable[[], None]) -> Path:
    """Compile and link all kernels; `tell` is called whenever a signature of the table is compiled."""
    signatures = read_table()
    path = library_path()
    compiler = _compiler()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        shares = _shares(signatures, processes)
        forms = _compiled(shares, place, tell)
        (place / "table.c").write_text(_table(signatures, forms), encoding="utf-8")
        _link(compiler, place, [place / f"{number}.o" for number in range(len(shares))], path)
    clean(but=path)
    return path


def _shares(signatures: Sequence[Signature], processes: int) -> list[list[int]]:
    """Return which process compiles which signatures: the largest first, each where least is added to what is there already.

    A process compiles what several of its kernels call only once.
    """
    called = [_functions_below(_function_of(signature)) for signature in signatures]
    shares: list[list[int]] = [[] for _ in range(processes)]
    held: list[set[FunctionType]] = [set() for _ in range(processes)]
    for number in sorted(range(len(signatures)), key=lambda number: -_size(called[number])):
        lightest = min(range(processes), key=lambda place: _size(held[place] | called[number]))
        shares[lightest].append(number)
        held[lightest] |= called[number]
    return [share for share in shares if share]


def _function_of(signature: Signature) -> FunctionType:
    found: FunctionType = unwrap(getattr(import_module(f"eventide.{signature.module}"), signature.function))
    return found


def _functions_below(function: FunctionType) -> set[FunctionType]:
    """Return a kernel and all kernels that it calls."""
    found = {function}
    waiting = [function]
    while waiting:
        one = waiting.pop()
        named = [one.__globals__.get(name) for name in one.__code__.co_names]
        for called in [unwrap(value) for value in named if callable(value)]:
            if isinstance(called, FunctionType) and called.__module__.startswith("eventide.") and called not in found:
                found.add(called)
                waiting.append(called)
    return found


def _size(functions: Iterable[FunctionType]) -> int:
    """Return what it takes to compile functions, in bytes of Python's code: near enough to share them out."""
    return sum(len(function.__code__.co_code) for function in functions)


def _compiled(shares: list[list[int]], place: Path, tell: Callable[[], None]) -> dict[int, Form]:
    """Return what each signature became; the objects lie at `place`."""
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_BUILDING}
    environment |= {
        "NUMBA_CPU_NAME": BASELINE.get(os.uname().machine, "generic"),
        "NUMBA_CPU_FEATURES": "",
        "EVENTIDE_KERNELS": "numba",
        "PYTHONPATH": os.pathsep.join([str(PLACE.parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    script = "from eventide.compilation.compiling import compile_share; compile_share()"
    running = [
        subprocess.Popen(  # noqa: S603 - our own interpreter and numbers
            [sys.executable, "-c", script, str(place / str(number)), *map(str, share)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number, share in enumerate(shares)
    ]
    with DefaultSelector() as waiting:
        for process in running:
            assert process.stdout is not None
            waiting.register(process.stdout, EVENT_READ, process.stdout)
        while waiting.get_map():
            for ready, _ in waiting.select():
                if ready.data.readline():
                    tell()
                else:
                    waiting.unregister(ready.fileobj)
    if any(process.wait() for process in running):
        raise BuildError("numba could not compile a kernel; the message above says which.")
    told = [json.loads((place / f"{number}.json").read_text(encoding="utf-8")) for number in range(len(shares))]
    return {int(number): form for forms in told for number, form in forms.items()}


def _compiler() -> list[str]:
    """Return the command of the C compiler; asked for first, for compiling the kernels takes a while."""
    command = shlex.split(os.environ.get("CC", "cc"))
    if not command or shutil.which(command[0]) is None:
        raise BuildError(f"there is no C compiler {' '.join(command)}.")
    return command


def _link(compiler: list[str], place: Path, objects: Sequence[Path], path: Path) -> None:
    include = ["-I", sysconfig.get_path("include"), "-I", np.get_include()]
    sources = [str(PLACE / "glue.c"), str(place / "table.c"), *map(str, objects)]
    made = place / path.name
    try:
        command = [*compiler, "-O2", "-shared", "-fPIC", "-s", *include, *sources, "-lm", "-o", str(made)]
        subprocess.run(command, check=True)  # noqa: S603 - the compiler that the user chose
    except subprocess.CalledProcessError:
        raise BuildError("the C compiler could not link them; its message stands above.") from None
    # Another process may be loading the old file: it is replaced as a whole.
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_bytes(made.read_bytes())
    fresh.replace(path)


def _table(signatures: Sequence[Signature], forms: dict[int, Form]) -> str:
    """Return the C source that lists kernels with their overloads."""
    by_name: dict[str, list[int]] = defaultdict(list)
    for number, signature in enumerate(signatures):
        by_name[f"{signature.module}.{signature.function}"].append(number)
    lines = [f'#include "{PLACE / "glue.h"}"']
    lines += [f"extern int eventide_{number}(void *, uint64_t *, void **);" for number in forms]
    for place, numbers in enumerate(by_name.values()):
        rows = ", ".join(_row(signatures[number], number, forms[number]) for number in numbers)
        lines.append(f"static const overload forms_{place}[] = {{{rows}}};")
    rows = ", ".join(f'{{"{name}", {len(own)}, forms_{place}}}' for place, (name, own) in enumerate(by_name.items()))
    lines += [f"const kernel eventide_kernels[] = {{{rows}}};", f"const int eventide_kernel_count = {len(by_name)};"]
    return "\n".join(lines) + "\n"


def _row(signature: Signature, number: int, form: Form) -> str:
    spec = "".join(map(_spec, signature.arguments))
    count = len(signature.arguments)
    return f'{{"{spec}", "{form["result"]}", {count}, {form["words"]}, {form["result_bytes"]}, eventide_{number}}}'


def _spec(argument: Argument) -> str:
    match argument:
        case Scalar(type=type_):
            return LETTERS[type_]
        case Array(type=type_, dimensions=dimensions, const=const):
            return f"{'c' if const else 'a'}{ITEM_LETTERS[type_]}{dimensions}"
        case Group(items=items):
            return f"({''.join(map(_spec, items))})"
