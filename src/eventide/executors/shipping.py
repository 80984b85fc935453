"""The package sent to the workers of a session: one zip file with our modules, the kernels and what of Python they need."""

from __future__ import annotations

import atexit
import hashlib
import shutil
import sys
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile, ZipInfo

from eventide.compilation.library import digest_of_sources, library_path
from eventide.compilation.packed import MARK
from eventide.errors import SetupError, warn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

PURE = ("lark", "sqlglot")
"""Packages that are Python alone. What is compiled (numpy, pyarrow) Spark's workers need for themselves."""
SHIPPED = (".py", ".txt", ".json", ".lark", ".typed")
_EPOCH = (1980, 1, 1, 0, 0, 0)


def ship(session: SparkSession) -> None:
    """Send Eventide to the workers of a Spark session, where it is not installed: classic sessions and Spark Connect.

    Workers must run the same version of Python, have what `pyspark[sql]` asks for, and be machines of the same kind as this
    one, for compiled kernels go along. Streams over Spark Connect do not see it: Spark gives them none of the files of a
    session, so install the package where that server runs. Calling it again does no harm.

    >>> ship(spark)  # doctest: +SKIP
    """
    from eventide.executors.workers import note_shipped  # noqa: PLC0415 - PySpark is optional

    if not hasattr(session, "addArtifacts"):
        kind = type(session).__name__
        raise SetupError("NOT_A_SESSION", f"ship was given a {kind}, not a Spark session.", hint="et.ship(spark)")
    if not library_path().exists():
        warn(
            "The kernels are not built, so workers compile them with numba, which must be installed there. "
            "Hint: run eventide kernels build first."
        )
    path = list(sys.path)
    try:
        session.addArtifacts(str(_packed()), pyfile=True)
    finally:
        # This process has the package; Spark puts the zip before it.
        sys.path[:] = path
    note_shipped(session)


@cache
def _packed() -> Path:
    # Executors fetch the file when they start, so it stays as long as this process.
    folder = tempfile.mkdtemp(prefix="eventide-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return pack(Path(folder))


def pack(folder: Path) -> Path:
    """Write the zip file that workers get; its name holds a digest of what is in it.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pack(Path(folder)).name.startswith("eventide-")
    True
    """
    digest = hashlib.sha256()
    written = folder / "packing.zip"
    with ZipFile(written, "w") as archive:
        for name, content in _contents():
            digest.update(name.encode())
            digest.update(content)
            # Without the times of files the same package is the same zip.
            archive.writestr(ZipInfo(name, _EPOCH), content)
    return written.rename(folder / f"eventide-{digest.hexdigest()[:16]}.zip")


def _contents() -> Iterator[tuple[str, bytes]]:
    own = Path(__file__).parents[1]
    yield from _files(own)
    library = library_path()
    if library.exists():
        yield f"eventide/compilation/{library.name}", library.read_bytes()
    yield f"eventide/compilation/{MARK}", digest_of_sources().encode()
    for name in PURE:
        module: Any = import_module(name)
        yield from _files(Path(module.__file__).parent)


def _files(package: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(package.rglob("*")):
        if path.suffix in SHIPPED and path.is_file():
            yield f"{package.name}/{path.relative_to(package).as_posix()}", path.read_bytes()
