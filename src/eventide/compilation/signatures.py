"""The table of signatures: what Python hands to each kernel, as `signatures.txt` says it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLE = Path(__file__).parent / "signatures.txt"
LETTERS = {"i64": "l", "i32": "i", "i16": "h", "i8": "g", "u64": "L", "u8": "B", "f64": "d", "bool": "b", "none": "n"}
"""How the glue is told of numbers."""
ITEM_LETTERS = {**LETTERS, "bool": "?"}
"""How it is told of the items of arrays."""
_TOKEN = re.compile(r"(const )?(\w+)(\[[:,]*\])|(\w+)|([(),])")


@dataclass(frozen=True)
class Scalar:
    """A number: i64, u64, f64 or bool; or none."""

    type: str


@dataclass(frozen=True)
class Array:
    """A contiguous array; `const` ones are only read."""

    type: str
    dimensions: int
    const: bool


@dataclass(frozen=True)
class Group:
    """A tuple; `name` is that of its class, empty for a plain one."""

    name: str
    items: tuple[Argument, ...]


Argument = Scalar | Array | Group


@dataclass(frozen=True)
class Signature:
    """A kernel, and what it takes in one of its forms."""

    module: str
    function: str
    arguments: tuple[Argument, ...]


def read_table(text: str | None = None) -> list[Signature]:
    """Return all signatures of the table.

    >>> read_table("Pair = (i64[:], f64)" + chr(10) + "match.x.f(Pair, bool)")[0].arguments[0].items[0].dimensions
    1
    """
    groups: dict[str, tuple[Argument, ...]] = {}
    signatures = []
    for line in (TABLE.read_text(encoding="utf-8") if text is None else text).splitlines():
        if not line or line.startswith("#"):
            continue
        name, equals, body = line.partition(" = ")
        if equals:
            groups[name] = _arguments(body, groups)
            continue
        path, _, arguments = line.partition("(")
        module, _, function = path.rpartition(".")
        signatures.append(Signature(module, function, _arguments("(" + arguments, groups)))
    return signatures


def _arguments(text: str, groups: dict[str, tuple[Argument, ...]]) -> tuple[Argument, ...]:
    tokens = iter(_TOKEN.findall(text))
    assert next(tokens)[4] == "("
    return _items(tokens, groups)


def _items(tokens: Iterator[tuple[str, ...]], groups: dict[str, tuple[Argument, ...]]) -> tuple[Argument, ...]:
    items: list[Argument] = []
    pending = ""
    for const, type_, brackets, word, sign in tokens:
        if brackets:
            items.append(Array(type_, brackets.count(":"), bool(const)))
        elif word in groups:
            items.append(Group(word, groups[word]))
        elif word and word[0].isupper():
            pending = word
        elif word:
            items.append(Scalar(word))
        elif sign == "(":
            items.append(Group(pending, _items(tokens, groups)))
            pending = ""
        elif sign == ")":
            return tuple(items)
    raise ValueError("a bracket is not closed")
