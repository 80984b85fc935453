"""`eventide doctor`: what this machine and its Spark workers have, what they lack, and what to do."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from eventide.caches import cache_directories, made_ours
from eventide.compilation.library import kernel_names, library_path
from eventide.console import report
from eventide.console.spark import start_session
from eventide.errors import EventideError, errors
from eventide.executors.probe import ask_workers
from eventide.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eventide.executors.probe import Worker

JAVA = 17
OPTIONAL = {"pyspark": "Spark", "pandas": "Spark's streams", "protobuf": "Spark's streams"}
"""Packages that a part of Eventide needs, with that part."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: fine, wrong, or only worth knowing."""

    what: str
    said: str
    hint: str | None = None
    wrong: bool = False

    @property
    def sign(self) -> tuple[str, str]:
        """The word before it, and its colour."""
        if self.wrong:
            return "wrong", "bold red"
        return ("note", "yellow") if self.hint else ("ok", "green")


def examine(settings: Mapping[str, str], *, with_spark: bool) -> bool:
    """Write what was found, line by line; returns whether nothing is wrong.

    >>> examine({}, with_spark=False)  # doctest: +SKIP
    True
    """
    console = report.results_console()
    fine = True
    for finding in findings(settings, with_spark=with_spark):
        word, style = finding.sign
        console.print(Text.assemble((f"{word:>5}  ", style), (f"{finding.what:<10}  ", "bold"), finding.said), soft_wrap=True)
        if finding.hint:
            console.print(Text.assemble(" " * 7, ("Hint: ", "bold cyan"), finding.hint), soft_wrap=True)
        fine = fine and not finding.wrong
    return fine


def findings(settings: Mapping[str, str], *, with_spark: bool) -> Iterator[Finding]:
    """Yield what is found, the quick things first."""
    yield Finding("Eventide", f"{VERSION}, in {Path(__file__).parents[1]}")
    yield Finding("Python", f"{platform.python_version()}, {sys.executable}")
    yield from _packages()
    yield _kernels()
    yield _cache()
    java = _java()
    yield java
    if with_spark and not java.wrong and _version_of("pyspark"):
        yield from _spark(settings)


def _packages() -> Iterator[Finding]:
    needed = [text for text in requires("eventide") or () if "extra ==" not in text] if _version_of("eventide") else []
    for text in needed:
        found = re.match(r"([\w.-]+)\s*(.*)", text)
        assert found is not None
        name, wanted = found[1], found[2].strip("() ")
        installed = _version_of(name)
        if installed is None or not _within(installed, wanted):
            said = f"is {installed}, not {wanted}" if installed else "is not installed"
            yield Finding("package", f"{name} {said}", hint=f"pip install '{name}{wanted}'", wrong=True)
    there = {name: _version_of(name) for name in OPTIONAL}
    yield Finding("packages", ", ".join(f"{name} {number}" for name, number in there.items() if number) or "no optional ones")
    missing = [f"{name} (for {OPTIONAL[name]})" for name, number in there.items() if number is None]
    if missing:
        said = f"not installed: {', '.join(missing)}"
        yield Finding("packages", said, hint="pip install 'eventide[spark]', if you need Spark.")


def _within(installed: str, wanted: str) -> bool:
    """Say whether a version is one of those that a requirement names.

    >>> _within("1.10.2", "<3,>=1.4"), _within("0.9", ">=1.0")
    (True, False)
    """
    compared: dict[str, Callable[[list[int], list[int]], bool]] = {
        ">=": lambda one, other: one >= other,
        "<": lambda one, other: one < other,
    }
    return all(compared[sign](_numbers(installed), _numbers(bound)) for sign, bound in re.findall(r"(>=|<)\s*([\d.]+)", wanted))


def _numbers(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", text)[:3]]


def _version_of(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _kernels() -> Finding:
    names = kernel_names()
    if names:
        return Finding("kernels", f"{len(names)} compiled, in {library_path().name}")
    compiler = shutil.which(os.environ.get("CC", "cc"))
    said = "not compiled; numba does it at the first query, which then takes up to half a minute"
    with_compiler = "eventide kernels build"
    without = "Install a C compiler, then: eventide kernels build"
    return Finding("kernels", said, hint=with_compiler if compiler else without)


def _cache() -> Finding:
    for place in cache_directories("kernels"):
        if made_ours(place) and os.access(place, os.W_OK):
            return Finding("cache", str(place.parent))
    return Finding("cache", "there is no folder to keep one", hint="Set XDG_CACHE_HOME to a folder of your own.")


def _java() -> Finding:
    if os.environ.get("SPARK_REMOTE"):
        return Finding("Java", "not needed: Spark runs elsewhere (SPARK_REMOTE)")
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    install = "Install it (apt install openjdk-17-jre-headless), or set JAVA_HOME. Without Spark it is not needed."
    if java is None:
        return Finding("Java", "not found", hint=install, wrong=bool(_version_of("pyspark")))
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603 - the user's own
    found = re.search(r'version "(\d+)', said)
    number = int(found[1]) if found else 0
    if number < JAVA:
        return Finding("Java", f"{java} is version {number}; Spark needs {JAVA} or newer", hint=install, wrong=True)
    return Finding("Java", f"{number}, {java}")


def _spark(settings: Mapping[str, str]) -> Iterator[Finding]:
    try:
        with report.working("Starting Spark") as watch:
            session = start_session(settings)
        yield Finding("Spark", f"{session.version}, {session.conf.get('spark.master', 'remote')} (started in {watch})")
        with report.working("Asking Spark's workers"), errors():
            told = ask_workers(session)
    except EventideError as error:
        yield Finding("Spark", f"[{error.condition}] {error.message}", hint=error.hint, wrong=True)
        return
    yield from map(of_worker, told)


def of_worker(worker: Worker) -> Finding:
    """Return what there is to say about a worker."""
    where = f"Python {worker.python} on {worker.host}, {worker.executable}"
    if worker.eventide != VERSION:
        hint = "Install the same Eventide there, set PYSPARK_PYTHON to a Python that has it, or call et.ship(spark)."
        return Finding("workers", f"{where}: Eventide {worker.eventide or 'is missing'}", hint=hint, wrong=True)
    if not worker.kernels:
        return Finding("workers", f"{where}: kernels are not compiled", hint="Run there: eventide kernels build")
    return Finding("workers", f"{where}: Eventide {worker.eventide}, {worker.kernels} kernels")
