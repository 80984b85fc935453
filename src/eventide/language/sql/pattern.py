"""The PATTERN of MATCH_RECOGNIZE.

From tight to loose: a variable, `^`, `$`, `()`, a group in parentheses, `{- ... -}`, `PERMUTE(..., ...)`; behind each of them one
quantifier `* + ? {n} {n,} {,m} {n,m}`, reluctant with a `?` behind it; parts side by side; `|`.
"""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedToken

from eventide.errors import ParseError, Span
from eventide.language.parts.windows import parse_whole_number
from eventide.language.reading.parser_cache import load_grammar
from eventide.language.reading.tokens import depth_change, is_word, span_of
from eventide.language.sql.pattern_errors import explain_pattern
from eventide.language.sql.tokens import is_variable, tokenize_rows, variable_name
from eventide.pattern.row_patterns import (
    Alternation,
    Concatenation,
    Empty,
    Exclusion,
    PartitionEnd,
    PartitionStart,
    Permutation,
    Repetition,
    RowPattern,
    Variable,
)
from eventide.records import record

_SYMBOLS = {
    "|": "BAR",
    "*": "STAR",
    "+": "PLUS",
    "?": "QUESTION",
    "{": "OPEN_BRACE",
    "}": "CLOSE_BRACE",
    ",": "COMMA",
    "(": "LEFT",
    ")": "RIGHT",
    "^": "CARET",
    "$": "DOLLAR",
}
_BOUNDS: dict[str, tuple[int, int | None]] = {"STAR": (0, None), "PLUS": (1, None), "QUESTION": (0, 1)}
# Fewer than other brackets may have: the stages behind walk a pattern by recursion, and a level can be three nodes of the model.
MAXIMUM_PATTERN_DEPTH = 64
_QUANTIFIER_HINT = "Write {2}, {2,}, {,3} or {2,3}."


def parse_row_pattern(text: str, offset: int = 0, source_text: str | None = None) -> RowPattern:
    """Read a row pattern that stands at `offset` in the whole SQL text.

    >>> parse_row_pattern("a b*?")
    Concatenation(parts=(Variable(name='A'), Repetition(part=Variable(name='B'), least=0, most=None, reluctant=True)))
    """
    source = text if source_text is None else source_text
    return read_row_pattern(tokenize_rows(text, offset, source), source, Span(offset, offset + max(len(text), 1)))


def read_row_pattern(tokens: list[Token], source_text: str, place: Span) -> RowPattern:
    """Read a row pattern from its tokens; `place` is where an error points when there are none.

    >>> read_row_pattern(tokenize_rows("()", 0, "()"), "()", Span(0, 1))
    Empty()
    """
    _check_depth(tokens, source_text)
    prepared = _prepare(tokens)
    try:
        placed: Any = _parser().parse(prepared)
    except UnexpectedToken as error:
        raise explain_pattern(error.token, prepared, source_text, place) from None
    except ParseError as error:
        raise ParseError(error.condition, error.message, text=source_text, span=error.span, hint=error.hint) from None
    pattern: RowPattern = placed.pattern
    return pattern


def _check_depth(tokens: list[Token], source_text: str) -> None:
    depths = accumulate(depth_change(token) for token in tokens)
    for token, depth in zip(tokens, depths, strict=True):
        if depth > MAXIMUM_PATTERN_DEPTH:
            raise ParseError(
                "QUERY_TOO_DEEP",
                f"Brackets of a pattern are nested more than {MAXIMUM_PATTERN_DEPTH} levels deep.",
                text=source_text,
                span=span_of(token),
                hint="Remove brackets that are not needed.",
            )


@record
class _Placed:
    """A pattern and where it stands, brackets included."""

    pattern: RowPattern
    span: Span


def _prepare(tokens: list[Token]) -> list[Token]:
    """Return the tokens with the terminal names of the grammar."""
    prepared: list[Token] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        pair = token.value + following.value if following is not None and token.type == following.type == "SYMBOL" else ""
        if pair in ("{-", "-}"):
            assert following is not None
            kind = "OPEN_EXCLUSION" if pair == "{-" else "CLOSE_EXCLUSION"
            prepared.append(Token(kind, pair, start_pos=token.start_pos, end_pos=following.end_pos))
            index += 2
            continue
        prepared.extend(_named(token, following))
        index += 1
    return prepared


def _named(token: Token, following: Token | None) -> list[Token]:
    if is_word(token, "PERMUTE") and following is not None and following.value == "(":
        return [Token.new_borrow_pos("PERMUTE", token.value, token)]
    if is_variable(token):
        return [Token.new_borrow_pos("NAME", variable_name(token), token)]
    if token.type == "SYMBOL" and token.value == "||":
        start = token.start_pos or 0
        return [Token("BAR", "|", start_pos=place, end_pos=place + 1) for place in (start, start + 1)]
    if token.type == "NUMBER":
        return [token]
    return [Token.new_borrow_pos(_SYMBOLS.get(token.value, "OTHER"), token.value, token)]


class _Builder(Transformer[Token, Any]):
    """Builds the pattern from the grammar's reductions."""

    def start(self, children: list[_Placed]) -> _Placed:
        return children[0]

    def alternation(self, children: list[Any]) -> _Placed:
        parts = [child for child in children if isinstance(child, _Placed)]
        return _Placed(Alternation(tuple(part.pattern for part in parts)), _covering(parts))

    def concatenation(self, children: list[_Placed]) -> _Placed:
        return _Placed(Concatenation(tuple(part.pattern for part in children)), _covering(children))

    def quantified(self, children: list[Any]) -> _Placed:
        part, (least, most, end), *reluctant = children
        span = Span(part.span.start, (reluctant[0].end_pos or 0) if reluctant else end)
        return _Placed(Repetition(part.pattern, least, most, bool(reluctant), span), span)

    def quantifier(self, children: list[Token]) -> tuple[int, int | None, int]:
        end = children[-1].end_pos or 0
        if children[0].type in _BOUNDS:
            return (*_BOUNDS[children[0].type], end)
        return (*_read_bounds(children[1:-1], span_of(children[0], children[-1])), end)

    def variable(self, children: list[Token]) -> _Placed:
        span = span_of(children[0])
        return _Placed(Variable(str(children[0].value), span), span)

    def partition_start(self, children: list[Token]) -> _Placed:
        return _Placed(PartitionStart(span_of(children[0])), span_of(children[0]))

    def partition_end(self, children: list[Token]) -> _Placed:
        return _Placed(PartitionEnd(span_of(children[0])), span_of(children[0]))

    def empty(self, children: list[Token]) -> _Placed:
        span = span_of(children[0], children[-1])
        return _Placed(Empty(span), span)

    def group(self, children: list[Any]) -> _Placed:
        return _Placed(children[1].pattern, span_of(children[0], children[-1]))

    def exclusion(self, children: list[Any]) -> _Placed:
        span = span_of(children[0], children[-1])
        return _Placed(Exclusion(children[1].pattern, span), span)

    def permutation(self, children: list[Any]) -> _Placed:
        parts = tuple(child.pattern for child in children if isinstance(child, _Placed))
        span = span_of(children[0], children[-1])
        return _Placed(parts[0] if len(parts) == 1 else Permutation(parts, span), span)


def _covering(parts: list[_Placed]) -> Span:
    return Span(parts[0].span.start, parts[-1].span.end)


def _read_bounds(tokens: list[Token], span: Span) -> tuple[int, int | None]:
    """Return the bounds that stand between the braces of a quantifier."""
    comma = next((index for index, token in enumerate(tokens) if token.type == "COMMA"), None)
    least_token = None if comma == 0 else tokens[0]
    most_token = tokens[0] if comma is None else (tokens[-1] if comma < len(tokens) - 1 else None)
    least = _whole(least_token) if least_token else 0
    most = _whole(most_token) if most_token else None
    if most == 0:
        raise ParseError(
            "BAD_QUANTIFIER",
            "The upper bound of a quantifier must be at least 1.",
            span=span,
            hint="Write () for a part without rows, or remove the part.",
        )
    if most is not None and least > most:
        raise ParseError(
            "BAD_QUANTIFIER",
            f"The lower bound {least} is above the upper bound {most}.",
            span=span,
            hint=f"Write {{{most},{least}}}.",
        )
    return least, most


def _whole(token: Token) -> int:
    return parse_whole_number(token, "BAD_QUANTIFIER", "A quantifier", _QUANTIFIER_HINT)


@cache
def _parser() -> Lark:
    # Not at import: workers that run plans read no query.
    return load_grammar("sql/pattern.lark", _Builder())
