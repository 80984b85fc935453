"""What is sent to Spark's Python workers, so that a worker that cannot run it says why.

A function of this package crosses as its name, and a worker without the package fails before any line of ours runs. So it
crosses inside a small function that holds all of its own code, looks for the package and only then unpacks what it carries.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle

from eventide.errors import WORKERS, SetupError, other_python
from eventide.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import types as st

    Batches = Iterator[pa.RecordBatch]

_WITHOUT = f"{WORKERS}WITHOUT_EVENTIDE"
_OTHER = f"{WORKERS}WITH_ANOTHER_EVENTIDE"
_LACK = f"{WORKERS}LACK_A_PACKAGE"
_WHAT_TO_DO = "Call et.ship(spark) once, install eventide where the workers run, or set PYSPARK_PYTHON to a Python that has it."
_PROBE = "import sys, importlib.util as u; print(*sys.version_info[:2], u.find_spec('eventide') is not None)"

_passed: set[tuple[str, str]] = set()
"""Sessions whose workers were looked at, by the application and the Python of its workers."""
_shipped: set[str] = set()
"""Applications that were sent the package."""


def through_workers(frame: DataFrame, run: Callable[[Batches], Batches], schema: st.StructType | str) -> DataFrame:
    """Return what a function makes of the rows of each task."""
    refuse_unfit_workers(frame.sparkSession)
    opened = opening(run)

    def start(batches: Any) -> Any:
        yield from opened()(batches)

    return frame.mapInArrow(start, schema)


def opening(value: Any) -> Callable[[], Any]:
    """Return a function that gives a value back, in this process or in a worker, where it first looks whether it can."""
    packed: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    version, what_to_do = VERSION, _WHAT_TO_DO
    without, other, lack = _WITHOUT, _OTHER, _LACK

    # Functions inside others are pickled with their code. This one must not name anything of this module.
    def opened() -> Any:
        import pickle  # noqa: PLC0415
        import sys  # noqa: PLC0415

        def refused(condition: str, message: str) -> RuntimeError:
            return RuntimeError(f"[{condition}] {message} Their Python is {sys.executable}.\nHint: {what_to_do}")

        try:
            from eventide.version import VERSION as THEIRS  # noqa: PLC0415

            if version != THEIRS:
                raise refused(other, f"Spark's workers have Eventide {THEIRS}, this program has {version}.")
            return pickle.loads(packed)  # noqa: S301 - our own
        except ModuleNotFoundError as error:
            if error.name and error.name.startswith("eventide"):
                raise refused(without, "Spark's workers have no Eventide.") from None
            raise refused(lack, f"Spark's workers have no {error.name}, which Eventide needs.") from None

    return opened


def refuse_unfit_workers(session: SparkSession) -> None:
    """Refuse a local session whose workers run a Python that cannot work for us, before a job starts.

    Workers of a cluster are elsewhere: they say it themselves.
    """
    context = local_context(session)
    if context is None:
        return
    application, python = str(context.applicationId), str(context.pythonExec)
    if (application, python) in _passed or _same_file(python, sys.executable):
        return
    major, minor, has_eventide = _asked(python)
    if (major, minor) != sys.version_info[:2]:
        raise other_python(f"{major}.{minor}", "{}.{}".format(*sys.version_info))
    if not has_eventide and application not in _shipped:
        raise SetupError(_WITHOUT, f"Spark's workers have no Eventide. Their Python is {python}.", hint=_WHAT_TO_DO)
    _passed.add((application, python))


def note_shipped(session: SparkSession) -> None:
    """Remember that the workers of a session were sent the package."""
    context = local_context(session)
    if context is not None:
        _shipped.add(str(context.applicationId))


def local_context(session: SparkSession) -> Any:
    """Return the context of a session whose workers run on this machine; None for clusters and for Spark Connect."""
    context = getattr(session, "_sc", None)
    return context if context is not None and str(context.master).startswith("local") else None


def _same_file(one: str, other: str) -> bool:
    # Environments link to the same interpreter; only the path tells which packages it has.
    return Path(shutil.which(one) or one).absolute() == Path(other).absolute()


def _asked(python: str) -> tuple[int, int, bool]:
    try:
        said = subprocess.run([python, "-c", _PROBE], capture_output=True, text=True, check=True, timeout=60).stdout  # noqa: S603 - what Spark runs, too
    except (OSError, subprocess.SubprocessError) as error:
        raise SetupError(
            f"{WORKERS}DO_NOT_START",
            f"Spark's workers are to run {python}, which does not start: {error}",
            hint="Set PYSPARK_PYTHON to a Python that runs, before the session starts.",
        ) from None
    major, minor, has_eventide = said.split()[-3:]
    return int(major), int(minor), has_eventide == "True"
