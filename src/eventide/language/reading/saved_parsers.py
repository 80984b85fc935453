"""Parsers as text: analysing a grammar takes longer than most queries, so it is done once and its tables are kept.

The text is JSON and not lark's own pickle: nothing in it can run, and any Python may read it. The build of a wheel loads this
module by its path, so it imports lark and nothing of ours.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import lark
from lark import Lark, Token, Transformer
from lark.grammar import NonTerminal, Rule, RuleOptions, Symbol, Terminal
from lark.lexer import Lexer, TerminalDef

if TYPE_CHECKING:
    from collections.abc import Iterator

# The folder below `language` that the build of a wheel fills.
SHIPPED = "saved"
# To be raised when the text of a parser changes its shape.
_FORMAT = 1


class TokenList(Lexer):
    """Hands lark the tokens that were cut before."""

    def __init__(self, configuration: object) -> None:
        del configuration

    def lex(self, data: list[Token]) -> Iterator[Token]:  # type: ignore[override]
        """Yield the tokens as they are."""
        yield from data


def build_parser(grammar: str, transformer: Transformer[Token, Any] | None = None) -> Lark:
    r"""Analyse a grammar; reductions are handed to the transformer at once.

    LALR needs no recursion however long a query is, and no tree is kept.

    >>> build_parser("start: NAME\n%declare NAME").options.parser
    'lalr'
    """
    return Lark(grammar, parser="lalr", lexer=TokenList, transformer=transformer, maybe_placeholders=False)


def saved_name(stem: str, grammar: str) -> str:
    """Return the name of the file for a parser: another grammar or another lark has another file.

    >>> saved_name("sase", "start: NAME").startswith(f"sase-lark-{lark.__version__}-")
    True
    """
    digest = hashlib.sha256(f"{_FORMAT}\n{grammar}".encode()).hexdigest()
    return f"{stem}-lark-{lark.__version__}-{digest[:16]}.json"


def written(parser: Lark) -> str:
    r"""Return a parser as text: a line with the digest of the rest, and its tables.

    >>> written(build_parser("start: NAME\n%declare NAME")).count("\n")
    1
    """
    data, memo = parser.memo_serialize([TerminalDef, Rule])
    # Classes and functions are not data; `restored` puts its own there.
    data["options"] = {**data["options"], "lexer": None, "transformer": None}
    data["parser"]["lexer_conf"]["lexer_type"] = None
    text = json.dumps([data, memo], separators=(",", ":"))
    return f"{_digest(text)}\n{text}"


def restored(text: str, transformer: Transformer[Token, Any]) -> Lark:
    r"""Return the parser that was written; a damaged text is a ValueError.

    >>> text = written(build_parser("start: NAME\n%declare NAME"))
    >>> restored(text, Transformer()).parse([Token("NAME", "A")]).children
    [Token('NAME', 'A')]
    >>> restored(text[:-9], Transformer())
    Traceback (most recent call last):
    ValueError: the tables of a parser are damaged
    """
    digest, _, tables = text.partition("\n")
    if digest != _digest(tables):
        raise ValueError("the tables of a parser are damaged")
    data, memo = json.loads(tables)
    data["options"]["lexer"] = data["parser"]["lexer_conf"]["lexer_type"] = TokenList
    table = data["parser"]["parser"]
    table["tokens"] = _by_number(table["tokens"])
    table["states"] = {state: _by_number(actions) for state, actions in _by_number(table["states"]).items()}
    # `Lark.load` takes no transformer; the parsers that lark's own generator writes come in by this way.
    return Lark._load_from_dict(data, _with_rules(_by_number(memo)), transformer=transformer)  # type: ignore[no-any-return, no-untyped-call]  # noqa: SLF001


def _with_rules(memo: dict[int, Any]) -> dict[int, Any]:
    """Put the rules of a grammar into the place of their texts, which lark would read one symbol after the other."""
    symbols: dict[tuple[str, str, bool], Symbol] = {}
    options: dict[str, RuleOptions] = {}

    def symbol(entry: dict[str, Any]) -> Symbol:
        key = (entry["__type__"], entry["name"], entry.get("filter_out", False))
        if key not in symbols:
            kind, name, filter_out = key
            symbols[key] = Terminal(name, filter_out) if kind == "Terminal" else NonTerminal(name)
        return symbols[key]

    def rule(entry: dict[str, Any]) -> Rule:
        said = {name: value for name, value in entry["options"].items() if name != "__type__"}
        known = options.setdefault(str(said), RuleOptions(**said))
        origin = NonTerminal(entry["origin"]["name"])
        return Rule(origin, [symbol(part) for part in entry["expansion"]], entry["order"], entry["alias"], known)

    return {number: rule(entry) if entry["__type__"] == "Rule" else entry for number, entry in memo.items()}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _by_number(table: dict[str, Any]) -> dict[int, Any]:
    """Return a table with the numbers that JSON has made text of."""
    return {int(key): value for key, value in table.items()}
