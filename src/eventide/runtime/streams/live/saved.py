"""An open stream as bytes: what it was opened with, what it has counted, and the state of its buckets."""

from __future__ import annotations

from dataclasses import asdict, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eventide.errors import DataError
from eventide.records import record
from eventide.runtime.streams.job import EMBEDDED, RUNTIMES, SPARK
from eventide.runtime.streams.state_bytes import NotAState, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FORMAT = "eventide stream"
VERSION = 1
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""From a version of the parts to the next one."""
QUERY, QUERIES, STATEMENT = "query", "queries", "statement"


@record
class Recipe:
    """What a stream was opened with: enough to open it again."""

    kind: str
    texts: Mapping[str, list[str]]
    """The text and the language of each query by name; no text where a query was built and no language can write it."""
    names: Mapping[str, str]
    """What tells the queries from others, by name."""
    roles: Mapping[str, dict[str, Any]]
    """The roles of the columns by stream."""
    settings: Mapping[str, Any]
    schemas: Mapping[str, pa.Schema] = field(default_factory=dict)
    """The columns by stream."""


@record
class Saved:
    """A dumped stream."""

    recipe: Recipe
    counted: Mapping[str, int]
    states: Mapping[str, Mapping[int, bytes]]
    """The state of the buckets by flow."""
    hashes: list[int]
    """What some keys hash to where it was written."""

    def pack(self) -> bytes:
        """Return all of it as bytes."""
        recipe = asdict(self.recipe)
        del recipe["schemas"]
        parts: dict[str, Any] = {"recipe": recipe, "counted": dict(self.counted), "hashes": self.hashes}
        for stream, schema in self.recipe.schemas.items():
            parts[f"schema/{stream}"] = schema.serialize()
        for flow, buckets in self.states.items():
            for number, state in buckets.items():
                parts[f"state/{flow}/{number}"] = state
        body = pack(parts)
        return pack({"format": FORMAT, "version": VERSION, "digest": _digest(body), "body": body})

    @classmethod
    def unpack(cls, state: bytes) -> Saved:
        """Return what `pack` made of a stream; anything else is refused."""
        parts = _readable(state)
        schemas: dict[str, pa.Schema] = {}
        states: dict[str, dict[int, bytes]] = {}
        for name, part in parts.items():
            if name.startswith("schema/"):
                schemas[name.removeprefix("schema/")] = pa.ipc.read_schema(pa.py_buffer(part))
            elif name.startswith("state/"):
                _, flow, number = name.split("/")
                states.setdefault(flow, {})[int(number)] = part
        return cls(Recipe(**parts["recipe"], schemas=schemas), parts["counted"], states, parts["hashes"])


def _readable(state: bytes) -> dict[str, Any]:
    if not isinstance(state, bytes | bytearray | memoryview):
        raise _unknown(f"a {type(state).__name__}")
    try:
        outer = unpack(state)
    except NotAState:
        raise _unknown("these bytes") from None
    if outer.get("format") != FORMAT:
        if "clocks" in outer and "queries" in outer:
            raise DataError(
                "OTHER_RUNTIME",
                f"The state is a bucket of a stream on {RUNTIMES[outer.get('engine', SPARK)]}; "
                f"et.resume reads what live.dump wrote on {RUNTIMES[EMBEDDED]}.",
                hint="Go on where the state was written, or open a stream anew and replay the events of one window.",
            )
        raise _unknown("these bytes")
    if outer["digest"] != _digest(outer["body"]):
        raise DataError(
            "DAMAGED_STATE",
            "The state is not what was dumped: bytes are missing or changed.",
            hint="Write it to a new file and rename that, so that a crash leaves the old one; resume from an older dump.",
        )
    parts, version = unpack(outer["body"]), outer["version"]
    while version in MIGRATIONS:
        parts, version = MIGRATIONS[version](parts), version + 1
    if version != VERSION:
        raise DataError(
            "STATE_VERSION",
            f"The state was written by another version of Eventide (format {version}, this one reads {VERSION}).",
            hint="Resume it with that version, or open the stream anew.",
        )
    return parts


def _digest(body: bytes) -> str:
    return blake2b(body, digest_size=16).hexdigest()


def _unknown(what: str) -> DataError:
    return DataError("UNKNOWN_STATE", f"No stream was dumped as {what}.", hint="Give the bytes that live.dump() returned.")
