"""Where parsers lie that were built before: in the package, put there when it was built, or in the user's cache directory."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eventide.caches import cache_directories, is_ours, made_ours
from eventide.language.reading.saved_parsers import SHIPPED, build_parser, restored, saved_name, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lark import Lark, Token, Transformer


def load_grammar(file_name: str, transformer: Transformer[Token, Any]) -> Lark:
    """Return the parser of a grammar file below `language`, from a file if there is one that can be used.

    Without one it is built, and kept for the next process where that is possible.

    >>> from lark import Transformer
    >>> load_grammar("sase/sase.lark", Transformer()).options.parser
    'lalr'
    """
    language = files("eventide.language")
    grammar = language.joinpath(file_name).read_text(encoding="utf-8")
    name = saved_name(Path(file_name).stem, grammar)
    for text in _texts(language, name):
        try:
            return restored(text, transformer)
        except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError):
            # Damaged, or lark reads it in another way than the version in its name says.
            continue
    parser = build_parser(grammar, transformer)
    _keep(name, parser)
    return parser


def _texts(language: Any, name: str) -> Iterator[str]:
    """Yield what files hold that may be the parser, best first."""
    with suppress(OSError, ValueError):
        yield language.joinpath(SHIPPED, name).read_text(encoding="ascii")
    for directory in filter(is_ours, cache_directories("parsers")):
        with suppress(OSError, ValueError):
            yield (directory / name).read_text(encoding="ascii")


def _keep(name: str, parser: Lark) -> None:
    """Write a parser to the first place that takes it; where none does, the next process builds its own."""
    for directory in filter(made_ours, cache_directories("parsers")):
        with suppress(OSError):
            _write(directory / name, written(parser))
            return


def _write(path: Path, text: str) -> None:
    """Write a file that is there at once or not at all: other processes may be reading it."""
    handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=path.stem)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(text)
        Path(unfinished).replace(path)
    except OSError:
        Path(unfinished).unlink(missing_ok=True)
        raise
