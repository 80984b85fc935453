"""State and batches as bytes: named arrays, Arrow tables and plain values behind one small header.

numpy's own archives cost milliseconds each, which a bucket would pay twice in every micro-batch.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping

MAGIC = b"ETS1"
ALIGNMENT = 64
_OPTIONS = pa.ipc.IpcWriteOptions(compression=None)


class NotAState(Exception):  # noqa: N818 - the runtime turns it into an error that a user sees
    """The bytes are no packed state."""


def pack(parts: Mapping[str, Any]) -> bytes:
    """Return parts by name (arrays, tables, bytes, and what JSON holds) as bytes.

    >>> unpack(pack({"n": 3, "a": np.arange(2), "t": pa.table({"x": [1]})}))["a"].tolist()
    [0, 1]
    """
    header: dict[str, list[Any]] = {}
    pieces: list[Any] = []
    place = 0
    for name, part in parts.items():
        if isinstance(part, np.ndarray):
            body: Any = np.ascontiguousarray(part)
            size = body.nbytes
            header[name] = ["a", place, size, body.dtype.str, list(body.shape)]
        elif isinstance(part, pa.Table):
            body = table_bytes(part)
            size = len(body)
            header[name] = ["t", place, size]
        elif isinstance(part, bytes | bytearray | memoryview | pa.Buffer):
            body, size = part, len(part)
            header[name] = ["b", place, size]
        else:
            header[name] = ["j", 0, 0, part]
            continue
        pieces.append(memoryview(body).cast("B") if size else b"")
        padding = -size % ALIGNMENT
        pieces.append(b"\0" * padding)
        place += size + padding
    head = json.dumps(header).encode()
    head += b" " * (-(len(head) + len(MAGIC) + 4) % ALIGNMENT)
    return b"".join([MAGIC, struct.pack("<I", len(head)), head, *pieces])


def unpack(packed: bytes | memoryview) -> dict[str, Any]:
    """Return the parts of what `pack` made; arrays are copies that may be written to."""
    view = memoryview(packed)
    begin = len(MAGIC) + 4
    if len(view) < begin or bytes(view[: len(MAGIC)]) != MAGIC:
        raise NotAState
    (length,) = struct.unpack("<I", view[len(MAGIC) : begin])
    try:
        header = json.loads(bytes(view[begin : begin + length]))
    except ValueError:
        raise NotAState from None
    body = view[begin + length :]
    parts: dict[str, Any] = {}
    for name, (kind, place, size, *more) in header.items():
        piece = body[place : place + size]
        if kind == "a":
            parts[name] = np.frombuffer(piece, np.dtype(more[0])).reshape(more[1]).copy()
        elif kind == "t":
            parts[name] = table_of(piece)
        elif kind == "b":
            parts[name] = bytes(piece)
        else:
            parts[name] = more[0]
    return parts


def table_bytes(table: pa.Table) -> pa.Buffer:
    """Return a table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_OPTIONS) as writer:
        writer.write_table(table)
    return sink.getvalue()


def table_of(packed: bytes | memoryview | pa.Buffer) -> pa.Table:
    """Return the table of an Arrow stream."""
    with pa.ipc.open_stream(pa.py_buffer(packed)) as reader:
        return reader.read_all()
