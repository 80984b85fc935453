"""A Spark session for the command line: local unless configured, and silent on the terminal."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from eventide.console.report import debugging
from eventide.errors import DataError, SetupError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

LOG_LINES_SHOWN = 4
FILE_CONDITIONS = ("FAILED_READ_FILE", "PATH_NOT_FOUND", "CANNOT_READ_FILE_FOOTER", "UNABLE_TO_INFER_SCHEMA", "PARQUET_")


def require_spark() -> None:
    """Refuse to go on when PySpark or Java is missing.

    >>> require_spark()  # doctest: +SKIP
    """
    try:
        import pyspark  # noqa: F401, PLC0415
    except ImportError:
        raise SetupError(
            "PYSPARK_MISSING", "PySpark is not installed.", hint="pip install 'eventide[spark]', or use --engine local."
        ) from None
    if os.environ.get("SPARK_REMOTE"):
        return
    home = os.environ.get("JAVA_HOME")
    if not (home and (Path(home) / "bin" / "java").exists()) and shutil.which("java") is None:
        raise SetupError(
            "JAVA_MISSING",
            "Java was not found; Spark needs Java 17 or newer.",
            hint="Install it (apt install openjdk-17-jre-headless), set JAVA_HOME, or use --engine local.",
        )


def start_session(settings: Mapping[str, str] | None = None, *, log: Path | None = None) -> SparkSession:
    """Start or join a Spark session; what the JVM prints goes to the file `log`.

    >>> start_session({"spark.master": "local[2]"})  # doctest: +SKIP
    """
    require_spark()
    from pyspark.sql import SparkSession  # noqa: PLC0415

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    cores = os.cpu_count() or 2
    defaults = {
        # The driver talks to itself: no name look-up, no open port on the network.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # 200 tasks for a laptop's cores would be mostly overhead.
        "spark.sql.shuffle.partitions": str(2 * cores),
        # One kernel call per batch: large batches keep the calls few.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.builder.appName("eventide")
    if not os.environ.get("SPARK_REMOTE"):
        builder = builder.master("local[*]")
        for name, value in defaults.items():
            builder = builder.config(name, value)
    for name, value in (settings or {}).items():
        builder = builder.config(name, value)
    log_path = log or _temporary_log()
    try:
        with _standard_error_into(log_path):
            return builder.getOrCreate()
    except Exception as error:
        raise SetupError(
            "SPARK_NOT_STARTED",
            f"Spark did not start. It said:\n{_last_words(log_path) or error}",
            hint="Spark needs Java 17 or newer; check java -version, JAVA_HOME and the --spark-conf settings.",
        ) from error


def _temporary_log() -> Path:
    descriptor, name = tempfile.mkstemp(prefix="eventide-spark-", suffix=".log")
    os.close(descriptor)
    if not debugging():
        atexit.register(lambda: Path(name).unlink(missing_ok=True))
    return Path(name)


def _last_words(log: Path) -> str:
    # The places in Spark's own code say nothing to a user; the sentences before them do.
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    sentences = [line for line in lines if not line[0].isspace()]
    causes = [line for line in sentences if "Exception" in line or "Error" in line or "ERROR" in line]
    return "\n".join((causes or sentences)[-LOG_LINES_SHOWN:])


@contextmanager
def _standard_error_into(path: Path) -> Iterator[None]:
    # The JVM inherits the file descriptor and keeps it; its warnings and stack traces then never reach the terminal.
    sys.stderr.flush()
    saved = os.dup(2)
    sink = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.dup2(sink, 2)
        with os.fdopen(os.dup(saved), "w", buffering=1) as terminal, _said_on(terminal):
            yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(sink)


@contextmanager
def _said_on(terminal: TextIO) -> Iterator[None]:
    # What this process says meanwhile is for the user, unless somebody captures it.
    if sys.stderr is not sys.__stderr__:
        yield
        return
    with redirect_stderr(terminal):
        yield


@contextmanager
def data_errors_named(path: str) -> Iterator[None]:
    """Turn what Spark raises about a file that it cannot read into an error about the data.

    >>> with data_errors_named("trades.parquet"):
    ...     pass
    """
    try:
        yield
    except Exception as error:
        # Depending on where it fails it is an error of PySpark or of Py4J; the condition is in the text of both.
        told = re.search(rf"\[(?:{'|'.join(FILE_CONDITIONS)})[^\n]*", str(error))
        if told is None:
            raise
        raise DataError(
            "UNREADABLE_FILE",
            f"{path} cannot be read. Spark says: {told.group()}",
            hint="Check that all files are complete and of the same format.",
        ) from error


def require_replaceable(target: str) -> None:
    """Refuse to replace a folder that is not the result of an earlier Spark run.

    >>> require_replaceable("no-such-folder")
    """
    place = Path(target)
    if place.is_dir() and any(place.iterdir()) and not (place / "_SUCCESS").exists():
        raise DataError(
            "OUTPUT_EXISTS",
            f"{target} is a folder with files that Spark did not write.",
            hint="Choose another --output, or remove the folder.",
        )


def write_parquet(frame: DataFrame, target: str) -> None:
    """Write a DataFrame as a folder of Parquet files.

    >>> write_parquet(matches, "matches.parquet")  # doctest: +SKIP
    """
    if "://" not in target:
        require_replaceable(target)
        if Path(target).is_file():
            Path(target).unlink()
    frame.write.mode("overwrite").parquet(target)
