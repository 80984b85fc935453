"""What a file sink has committed, read from its own log: files of killed attempts lie beside the others and do not count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow.parquet as pq

COMPACT = ".compact"


def committed_files(sink: Path, batches: int | None = None) -> list[Path]:
    """Return the files of a sink, or of its first micro-batches, in the order of the micro-batches."""
    log = sink / "_spark_metadata"
    written = sorted((path for path in log.glob("*") if path.stem.isdigit()), key=lambda path: int(path.stem))[:batches]
    whole = [place for place, path in enumerate(written) if path.suffix == COMPACT]
    files = []
    for path in written[whole[-1] if whole else 0 :]:
        _version, *entries = path.read_text(encoding="utf-8").splitlines()
        files += [Path(unquote(urlparse(json.loads(entry)["path"]).path)) for entry in entries]
    return files


def committed_rows(sink: Path, batches: int | None = None) -> list[dict[str, Any]]:
    """Return the rows of a sink in the order in which they were committed."""
    return [row for path in committed_files(sink, batches) for row in pq.ParquetFile(path).read().to_pylist()]
