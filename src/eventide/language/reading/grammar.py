"""How lark reads our tokens, and how its complaints become errors a user can act on."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lark import Token
from lark.exceptions import UnexpectedToken

from eventide.errors import ParseError, Span
from eventide.language.reading.tokens import span_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lark import Lark

_WORDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "EXPRESSION": "an expression",
    "CONDITION": "a condition",
    "EQUALITY": "[attribute]",
    "WINDOW": "a window such as 30 minutes",
    "SELECTOR": "ALL, ANY, NEXT, LAST, MAX or STRICT",
    "HEAD": "PATTERN",
    "OPERATOR": "SEQ(",
    "STRATEGY": "a strategy",
    "PARTITION_BY": "PARTITION BY",
    "CONSUME_BY": "CONSUME BY",
    "GROUP_BY": "GROUP BY",
    "ORDER_BY": "ORDER BY",
    "GROUPING": "PARTITION, END or WINDOW",
    "ORDERING": "a score such as SUM(b.x) DESC",
    "SAMPLING": "a number",
    "STAR": "*",
    "COMMA": ",",
    "BAR": "|",
    "BANG": "!",
    "LEFT": "(",
    "RIGHT": ")",
    "OPEN_SQUARE": "[",
    "CLOSE_SQUARE": "]",
    "CLOSE_BRACE": "}",
    "SEMICOLON": ";",
    "COLON": ":",
    "ARROW": "~>",
    "GREATER": ">",
    "PART_FILTER": "FILTER",
}
_VAGUE = ("UNEXPECTED_TOKEN", "UNEXPECTED_END", "MISSING_CLAUSE", "BAD_EXPRESSION", "BAD_WINDOW", "BAD_LIMIT")
SYMBOLS = {
    ";": "SEMICOLON",
    ":": "COLON",
    "~>": "ARROW",
    "(": "LEFT",
    ")": "RIGHT",
    "[": "OPEN_SQUARE",
    "]": "CLOSE_SQUARE",
    "}": "CLOSE_BRACE",
    ">": "GREATER",
    ",": "COMMA",
    "|": "BAR",
    "!": "BANG",
    ":AND": "STRICT_AND",
    "~AND": "NEXT_AND",
    **{sign + mark: "QUANTIFIER" for sign in ("", ":", "~") for mark in "+*?"},
    **{sign + "{": "OPEN_BRACE" for sign in ("", ":", "~")},
}


def run_grammar(parser: Lark, tokens: list[Token], text: str) -> Any:
    """Parse prepared tokens of the query `text`; errors carry the place but not yet the text, see `errors_in`.

    >>> from lark import Transformer
    >>> from eventide.language.reading.parser_cache import load_grammar
    >>> run_grammar(load_grammar("sase/sase.lark", Transformer()), [Token("NAME", "A")], "A").data == "start"
    True
    """
    try:
        return parser.parse(tokens)
    except UnexpectedToken as error:
        raise _unexpected(error.token, set(error.accepts or error.expected), text) from None


@contextmanager
def errors_in(text: str, better: Callable[[], ParseError | None] = lambda: None) -> Iterator[None]:
    """Give every parse error that passes the text of the query, so that it can show the place.

    `better` may know an error that explains the trouble more closely, such as a misspelt clause.

    >>> with errors_in("A B"):
    ...     raise ParseError("UNEXPECTED_TOKEN", "B cannot stand here.", span=Span(2, 3))
    Traceback (most recent call last):
    eventide.errors.ParseError: [UNEXPECTED_TOKEN] B cannot stand here.
    line 1, column 3
      A B
        ^
    """
    try:
        yield
    except ParseError as error:
        shown = (better() if error.condition in _VAGUE else None) or error
        raise ParseError(shown.condition, shown.message, text=text, span=shown.span, hint=shown.hint) from None


def symbol_token(token: Token) -> Token:
    """Return the token with the terminal name that the grammars use for a symbol.

    >>> symbol_token(Token("SYMBOL", ";")).type
    'SEMICOLON'
    """
    if token.type == "SYMBOL":
        return Token.new_borrow_pos(SYMBOLS.get(token.value.upper(), "OTHER"), token.value, token)
    return token


def slice_token(kind: str, tokens: list[Token], text: str) -> Token:
    """Return one token of this kind for everything from the first to the last of `tokens`.

    >>> from eventide.language.reading.tokens import tokenize
    >>> slice_token("CONDITION", tokenize(" a.x > 1 "), " a.x > 1 ")
    Token('CONDITION', 'a.x > 1')
    """
    span = span_of(tokens[0], tokens[-1])
    return Token(kind, text[span.start : span.end], start_pos=span.start, end_pos=span.end)


def _unexpected(token: Token, expected: set[str], text: str) -> ParseError:
    hint = _advice(token, expected)
    if token.type == "$END":
        end = len(text.rstrip())
        return ParseError("UNEXPECTED_END", "The query ends too early.", span=Span(end, end + 1), hint=hint)
    return ParseError("UNEXPECTED_TOKEN", f"{token.value} cannot stand here.", span=span_of(token), hint=hint)


def _advice(token: Token, expected: set[str]) -> str:
    expected = expected - {"$END"}
    if token.value == ".":
        return "Put a name that holds a dot in backticks: `a.b`."
    if token.type in ("AND", "OR", "NOT", "AS", "PART_FILTER") and "NAME" in expected and "LEFT" not in expected:
        return f"Put a name that is also a keyword in backticks: `{token.value}`."
    if "SEMICOLON" in expected and "WHERE" not in expected:
        return "Join patterns with ;, :, AND or OR, or begin the next clause."
    if {"NAME", "LEFT", "NOT"} <= expected or {"NAME", "OPERATOR"} <= expected:
        return "Write an event type here."
    if {"COMMA", "BAR", "RIGHT"} <= expected:
        return "Separate components with , and close with )."
    words = sorted(_WORDS.get(name, name) for name in expected)
    if not words:
        return "Remove it."
    shown = words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]
    return f"Write {shown} here."
