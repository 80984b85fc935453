"""The tokens of a MATCH_RECOGNIZE clause, with their places in the whole SQL text."""

from __future__ import annotations

from lark import Token

from eventide.errors import ParseError, Span
from eventide.language.reading.tokens import bare_name, depth_change, span_of, tokenize

# The other languages have no `$`, so their tokens have none. This sign stands for it while the text is cut: it is as long as
# `$`, never part of a longer symbol, and has no meaning in SQL.
_STAND_IN = "≠"


def tokenize_rows(text: str, offset: int, source_text: str) -> list[Token]:
    """Cut the text that stands at `offset` in `source_text` into tokens whose places are those in `source_text`.

    >>> [(token.value, token.start_pos) for token in tokenize_rows("A $", 10, " " * 10 + "A $")]
    [('A', 10), ('$', 12)]
    """
    try:
        tokens = tokenize(text.replace("$", _STAND_IN))
    except ParseError as error:
        span = error.span.shifted(offset) if error.span else None
        raise ParseError(error.condition, error.message, text=source_text, span=span, hint=error.hint) from None
    return [_placed(token, offset, source_text) for token in tokens]


def is_name(token: Token) -> bool:
    """Say whether the token can be a name in SQL.

    >>> [is_name(token) for token in tokenize("a `b` 'c'")]
    [True, True, False]
    """
    return token.type in ("NAME", "QUOTED")


def is_variable(token: Token) -> bool:
    """Say whether the token can name a pattern variable; there, and only there, double quotes are quotes of a name.

    >>> [is_variable(token) for token in tokenize('a `b` "c" 3')]
    [True, True, True, False]
    """
    return is_name(token) or (token.type == "STRING" and token.value.startswith('"') and len(token.value) > 2)


def variable_name(token: Token) -> str:
    """Return the pattern variable that a token names: upper case, or as it is written in quotes.

    >>> [variable_name(token) for token in tokenize('a `b` "c"')]
    ['A', 'b', 'c']
    """
    if token.type == "STRING":
        return str(token.value[1:-1])
    return bare_name(token) if token.type == "QUOTED" else str(token.value).upper()


def split_at_commas(tokens: list[Token], owner: Token, source_text: str, hint: str) -> list[list[Token]]:
    """Cut a list at the commas outside of brackets; an empty item is an error with this hint.

    >>> tokens = tokenize("a, f(b, c)")
    >>> [[token.value for token in item] for item in split_at_commas(tokens, tokens[0], "", "")]
    [['a'], ['f', '(', 'b', ',', 'c', ')']]
    """
    items: list[list[Token]] = [[]]
    depth = 0
    last = owner
    for token in tokens:
        depth += depth_change(token)
        if depth == 0 and token.value == "," and token.type == "SYMBOL":
            if not items[-1]:
                raise _nothing_between(span_of(token), last, source_text, hint)
            items.append([])
        else:
            items[-1].append(token)
        last = token
    if not items[-1]:
        raise _nothing_between(span_of(last), last, source_text, hint)
    return items


def _nothing_between(span: Span, last: Token, source_text: str, hint: str) -> ParseError:
    return ParseError("UNEXPECTED_END", f"Something is missing after {last.value}.", text=source_text, span=span, hint=hint)


def _placed(token: Token, offset: int, source_text: str) -> Token:
    start, end = (token.start_pos or 0) + offset, (token.end_pos or 0) + offset
    return Token(token.type, source_text[start:end], start_pos=start, end_pos=end)
