"""The tokens that all query languages share.

Strings, quoted names, comments and brackets are dealt with here, once: what comes out is balanced and not too deep, so the
parsers behind need not look again. Tokens are lark tokens, because lark reads them next.
"""

from __future__ import annotations

import re

from lark import Token

from eventide.errors import ParseError, Span

MAXIMUM_DEPTH = 200

_TOKEN = re.compile(
    r"""
    (?P<SPACE>\s+)
  | (?P<COMMENT>--[^\n]*)
  | (?P<STRING>[rR]'[^']*' | [rR]"[^"]*" | '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.)*")
  | (?P<QUOTED>`(?:[^`]|``)+`)
  | (?P<NUMBER>(?:\d+\.\d+|\d+\.(?![\w.])|\d+|(?<![\w)\]`])\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<NAME>[^\W\d]\w*)
  | (?P<SYMBOL>
        ::|~>|[:~](?:AND\b|[+*?{])|<=>|<=|>=|<>|!=|==|->|\|\||&&
      | [-+*/%^&|!~<>=≤≥≠?:;,.()\[\]{}]
    )
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_CLOSING = {"(": ")", "[": "]", "{": "}", ":{": "}", "~{": "}"}
_OPENING = {")": "(", "]": "[", "}": "{"}
_LOOKALIKES = {"‘": "'", "’": "'", "“": '"', "”": '"', "−": "-", "–": "-", "×": "*", "∧": "AND", "∨": "OR", "¬": "NOT", "→": ";"}


def tokenize(text: str) -> list[Token]:
    """Cut a query into tokens of the kinds NAME, QUOTED, NUMBER, STRING and SYMBOL.

    `value` is the text as written, `start_pos` and `end_pos` are its place. Brackets are known to be balanced afterwards.

    >>> [(token.type, token.value) for token in tokenize("A ; `B c`+ -- then")]
    [('NAME', 'A'), ('SYMBOL', ';'), ('QUOTED', '`B c`'), ('SYMBOL', '+')]
    """
    tokens: list[Token] = []
    open_brackets: list[Token] = []
    position = 0
    while position < len(text):
        if text.startswith("/*", position):
            position = _end_of_comment(text, position)
            continue
        found = _TOKEN.match(text, position)
        if found is None:
            raise _unreadable(text, position)
        kind = found.lastgroup or ""
        if kind not in ("SPACE", "COMMENT"):
            token = Token(kind, found.group(), start_pos=position, end_pos=found.end())
            if kind == "SYMBOL":
                _check_bracket(token, open_brackets, text)
            tokens.append(token)
        position = found.end()
    if open_brackets:
        unclosed = open_brackets[-1]
        raise ParseError(
            "UNBALANCED_PARENTHESIS",
            f"The bracket {unclosed.value} is never closed.",
            text=text,
            span=span_of(unclosed),
            hint=f"Add a {_CLOSING[unclosed.value]}.",
        )
    return tokens


def span_of(first: Token, last: Token | None = None, offset: int = 0) -> Span:
    """Return the place from the first token to the end of the last, in a text that holds theirs at `offset`.

    >>> span_of(*tokenize("ab cd"), offset=10)
    Span(start=10, end=15)
    """
    return Span(offset + (first.start_pos or 0), offset + ((last or first).end_pos or 0))


def bare_name(token: Token) -> str:
    """Return the name that a NAME or QUOTED token stands for, without its backticks.

    >>> [bare_name(token) for token in tokenize("a `b``c`")]
    ['a', 'b`c']
    """
    if token.type == "QUOTED":
        return str(token.value[1:-1]).replace("``", "`")
    return str(token.value)


def depth_change(token: Token) -> int:
    """Return 1 for an opening bracket, -1 for a closing one and 0 for all else.

    >>> [depth_change(token) for token in tokenize("f(x)")]
    [0, 1, 0, -1]
    """
    if token.type != "SYMBOL":
        return 0
    return (token.value in _CLOSING) - (token.value in _OPENING)


def is_word(token: Token, word: str) -> bool:
    """Say whether the token is this keyword, in any case.

    >>> is_word(tokenize("select")[0], "SELECT")
    True
    """
    return token.type == "NAME" and token.value.upper() == word


def _end_of_comment(text: str, start: int) -> int:
    depth = 0
    for mark in re.finditer(r"/\*|\*/", text[start:]):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return start + mark.end()
    raise ParseError(
        "UNTERMINATED_COMMENT", "The comment is never closed.", text=text, span=Span(start, start + 2), hint="Add a */."
    )


def _unreadable(text: str, position: int) -> ParseError:
    character = text[position]
    span = Span(position, position + 1)
    if character in "'\"`":
        what = "name" if character == "`" else "string"
        if text.startswith("``", position):
            return ParseError("UNEXPECTED_CHARACTER", "A quoted name is empty.", text=text, span=span, hint="Write a name.")
        return ParseError(
            "UNTERMINATED_STRING", f"The {what} is never closed.", text=text, span=span, hint=f"Add a closing {character}."
        )
    instead = _LOOKALIKES.get(character)
    hint = f"Write {instead} instead." if instead else "Put names with other characters in backticks, text in quotes."
    return ParseError("UNEXPECTED_CHARACTER", f"The character {character!r} means nothing here.", text=text, span=span, hint=hint)


def _check_bracket(token: Token, open_brackets: list[Token], text: str) -> None:
    if token.value in _CLOSING:
        open_brackets.append(token)
        if len(open_brackets) > MAXIMUM_DEPTH:
            raise ParseError(
                "QUERY_TOO_DEEP",
                f"Brackets are nested more than {MAXIMUM_DEPTH} levels deep.",
                text=text,
                span=span_of(token),
                hint="Remove brackets that are not needed.",
            )
    elif token.value in _OPENING:
        if open_brackets and _CLOSING[open_brackets[-1].value] == token.value:
            open_brackets.pop()
            return
        hint = f"Remove it, or write {_CLOSING[open_brackets[-1].value]} first." if open_brackets else "Remove it."
        raise ParseError(
            "UNBALANCED_PARENTHESIS",
            f"The bracket {token.value} closes nothing that is open.",
            text=text,
            span=span_of(token),
            hint=hint,
        )
