"""Questions to the workers of a Spark session: who they are and what they have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS = 8
SCHEMA = "host string, python string, executable string, eventide string, kernels int"


@dataclass(frozen=True, order=True)
class Worker:
    """What a worker says of itself; `eventide` is its version, None where there is none."""

    host: str
    python: str
    executable: str
    eventide: str | None
    kernels: int


def ask_workers(session: SparkSession) -> list[Worker]:
    """Ask a few tasks, and return each kind of worker that answered once."""

    # With all of its code inside, it runs on workers that have nothing of ours.
    def answers(batches: Any) -> Any:
        import platform  # noqa: PLC0415
        import socket  # noqa: PLC0415
        import sys  # noqa: PLC0415

        import pyarrow as pa  # noqa: PLC0415

        list(batches)
        version, kernels = None, 0
        try:
            from eventide.compilation.library import kernel_names  # noqa: PLC0415
            from eventide.version import VERSION  # noqa: PLC0415

            version, kernels = VERSION, len(kernel_names())
        except ModuleNotFoundError:
            version = None
        yield pa.RecordBatch.from_pydict(
            {
                "host": [socket.gethostname()],
                "python": [platform.python_version()],
                "executable": [sys.executable],
                "eventide": pa.array([version], pa.string()),
                "kernels": pa.array([kernels], pa.int32()),
            }
        )

    frame = session.range(0, TASKS, 1, TASKS).mapInArrow(answers, SCHEMA)
    return sorted({Worker(*row) for row in frame.collect()}, key=str)
