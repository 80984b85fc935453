"""Lists of result columns, as behind SELECT and RETURN: `a.price AS low, COUNT(b)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lark import Token

from eventide.errors import ParseError, Span
from eventide.language.reading.expressions import parse_expression
from eventide.language.reading.grammar import errors_in, slice_token, symbol_token
from eventide.language.reading.tokens import bare_name, depth_change, is_word, span_of, tokenize
from eventide.pattern.sequences import OutputItem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def column_tokens(body: Sequence[Token], text: str) -> Iterator[Token]:
    """Yield the tokens of a list of columns: EXPRESSION, AS, NAME and COMMA, or one STAR.

    >>> [token.type for token in column_tokens(tokenize("a.x + 1 AS y, b"), "a.x + 1 AS y, b")]
    ['EXPRESSION', 'AS', 'NAME', 'COMMA', 'EXPRESSION']
    """
    if len(body) == 1 and body[0].value == "*":
        yield Token.new_borrow_pos("STAR", "*", body[0])
        return
    depth = 0
    pending: list[Token] = []
    for token in body:
        depth += depth_change(token)
        if depth == 0 and token.value == ",":
            yield from _item_tokens(pending, text)
            yield symbol_token(token)
            pending = []
        else:
            pending.append(token)
    yield from _item_tokens(pending, text)


def build_column(tokens: list[Token]) -> OutputItem:
    """Return the column that EXPRESSION or EXPRESSION, AS and NAME stand for.

    >>> build_column(list(column_tokens(tokenize("a.x AS y"), "a.x AS y"))).alias
    'y'
    """
    text = tokens[0]
    expression = parse_expression(text.value, text.start_pos or 0)
    alias = bare_name(tokens[-1]) if len(tokens) > 1 else None
    return OutputItem(expression, alias, span=span_of(text, tokens[-1]))


def parse_columns(text: str) -> list[OutputItem]:
    """Read a list of columns that stands alone.

    >>> [item.alias for item in parse_columns("a.x AS y, b.z")]
    ['y', None]
    """
    items: list[OutputItem] = []
    with errors_in(text):
        pending: list[Token] = []
        for token in (*column_tokens(tokenize(text), text), Token("COMMA", ",", start_pos=len(text), end_pos=len(text))):
            if token.type != "COMMA":
                pending.append(token)
                continue
            if [part.type for part in pending] not in (["EXPRESSION"], ["EXPRESSION", "AS", "NAME"]):
                place = span_of(pending[-1]) if pending else Span(token.start_pos or 0, (token.start_pos or 0) + 1)
                raise ParseError("UNEXPECTED_TOKEN", "This is not a column.", span=place, hint="Write a.price AS low, COUNT(b).")
            items.append(build_column(pending))
            pending = []
    return items


def name_token(token: Token) -> Token:
    """Return the token as the grammars want it: quoted names are names.

    >>> name_token(tokenize("`a b`")[0])
    Token('NAME', 'a b')
    """
    return Token.new_borrow_pos("NAME", bare_name(token), token) if token.type == "QUOTED" else symbol_token(token)


def _item_tokens(tokens: Sequence[Token], text: str) -> Iterator[Token]:
    if not tokens:
        return
    expression = list(tokens)
    alias: list[Token] = []
    depth = 0
    for index, token in enumerate(tokens):
        depth += depth_change(token)
        if depth == 0 and is_word(token, "AS"):
            expression, alias = list(tokens[:index]), list(tokens[index:])
            break
    if expression:
        yield slice_token("EXPRESSION", expression, text)
    for index, token in enumerate(alias):
        yield Token.new_borrow_pos("AS", token.value, token) if index == 0 else name_token(token)
