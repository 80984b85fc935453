"""The library of compiled kernels, as the command line builds, lists and removes it."""

from __future__ import annotations

import os
import sys

from eventide.compilation.library import clean, kernel_names, library_path
from eventide.compilation.linking import BuildError, build
from eventide.compilation.signatures import read_table
from eventide.console.report import Stopwatch, counting, say
from eventide.errors import SetupError


def build_kernels(processes: int | None) -> None:
    """Build the library, unless that of these sources is there."""
    path = library_path()
    if path.exists():
        say(f"The kernels are built: {path.name}")
        return
    number = len(read_table())
    say(f"Compiling {number} kernels, which takes a minute of processor time, once")
    watch = Stopwatch()
    try:
        with counting("Compiling", number) as advance:
            build(processes or len(os.sched_getaffinity(0)), lambda: advance(1))
    except BuildError as error:
        raise SetupError(
            "NO_KERNELS",
            f"The kernels cannot be built: {error}",
            hint="Install a C compiler, or name it in CC. Without it everything works: numba compiles at first use.",
        ) from None
    say(f"{len(kernel_names())} kernels in {watch}, written to {path.name}")


def list_kernels() -> None:
    """Say which library there is, and what is in it."""
    names = kernel_names()
    if not names:
        say("The kernels are not built: numba compiles them at first use. Build them with: eventide kernels build")
        return
    say(f"{len(names)} kernels in {library_path().name}")
    sys.stdout.write("".join(f"{name}\n" for name in names))


def clean_kernels() -> None:
    """Remove the library."""
    gone = clean()
    say(f"{len(gone)} removed" if gone else "There are no kernels to remove.")
