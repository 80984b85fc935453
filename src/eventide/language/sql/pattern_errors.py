"""What is wrong with a row pattern that the grammar refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import ParseError, Span
from eventide.language.reading.tokens import span_of

if TYPE_CHECKING:
    from lark import Token

_QUANTIFIERS = ("STAR", "PLUS", "QUESTION", "OPEN_BRACE")
_ENDS = ("RIGHT", "$END", "COMMA", "CLOSE_EXCLUSION")
_BEGINNINGS = ("BAR", "LEFT", "COMMA", "OPEN_EXCLUSION")
_PARTS_HINT = "Write the variables one after the other, with | between alternatives, as in A (B | C)+ D."


def explain_pattern(token: Token, tokens: list[Token], source_text: str, place: Span) -> ParseError:
    """Return the error for a token that cannot stand where it does.

    >>> from lark import Token
    >>> star = Token("STAR", "*", start_pos=0, end_pos=1)
    >>> explain_pattern(star, [star], "*", Span(0, 1)).message
    'There is nothing before * that it could repeat.'
    """
    position = _position(token, tokens)
    before = tokens[position - 1] if position else None
    written = "The end of the pattern" if token.type == "$END" else source_text[token.start_pos : token.end_pos] or token.value
    condition, message, hint = _reason(token, before, tokens[:position], written)
    if token.type != "$END":
        span = span_of(token)
    elif tokens:
        span = span_of(tokens[-1])
    else:
        span = place
    return ParseError(condition, message, text=source_text, span=span, hint=hint)


def _position(token: Token, tokens: list[Token]) -> int:
    if token.type == "$END":
        return len(tokens)
    return next(index for index, known in enumerate(tokens) if known.start_pos == token.start_pos)


def _reason(token: Token, before: Token | None, earlier: list[Token], written: str) -> tuple[str, str, str]:
    begins = before is None or before.type in _BEGINNINGS
    if _inside_braces(earlier):
        return "BAD_QUANTIFIER", f"{written} cannot be used in a quantifier.", "Write {2}, {2,}, {,3} or {2,3}."
    if (token.type == "BAR" and begins) or (token.type in _ENDS and before is not None and before.type == "BAR"):
        return "EMPTY_ALTERNATIVE", "A side of | is empty.", "Write () for an alternative without rows, as in (A | ())."
    if token.type in _QUANTIFIERS and begins:
        return "BAD_QUANTIFIER", f"There is nothing before {token.value} that it could repeat.", f"Write A{_example(token)}."
    if token.type in _QUANTIFIERS:
        return "BAD_QUANTIFIER", "A part takes one quantifier.", f"Put the part in parentheses: (A+){_example(token)}."
    if token.type == "$END" and before is None:
        return "UNEXPECTED_END", "The pattern is empty.", "Write a pattern such as PATTERN (A B+), or () for the empty one."
    if token.type == "$END":
        return "UNEXPECTED_END", f"The pattern ends too early, after {before.value if before else ''}.", _PARTS_HINT
    if token.type in ("COMMA", "RIGHT") and _part_of_permute_missing(earlier):
        name = "MATCH_RECOGNIZE_PERMUTE_TOO_FEW_PATTERNS"
        return name, f"A part of PERMUTE is missing before {token.value}.", "Write PERMUTE(A, B)."
    if token.type == "COMMA":
        return "UNEXPECTED_TOKEN", "Parts of a pattern have no comma between them.", "Write A B, or PERMUTE(A, B) for any order."
    if token.type in ("CLOSE_EXCLUSION", "OPEN_EXCLUSION"):
        return "UNEXPECTED_TOKEN", f"{token.value} cannot stand here.", "Write a pattern inside, as in {- A+ -}."
    return "UNEXPECTED_TOKEN", f"{written} cannot be used in a pattern.", _hint_for(token)


def _inside_braces(earlier: list[Token]) -> bool:
    for token in reversed(earlier):
        if token.type == "OPEN_BRACE":
            return True
        if token.type not in ("NUMBER", "COMMA"):
            return False
    return False


def _part_of_permute_missing(earlier: list[Token]) -> bool:
    kinds = [token.type for token in earlier[-2:]]
    return kinds[-1:] == ["COMMA"] or kinds == ["PERMUTE", "LEFT"]


def _hint_for(token: Token) -> str:
    if token.value.startswith("'"):
        return "Put a variable with odd characters in backticks or double quotes."
    if token.value in ("&", "&&", ";", "->", ":", "~>"):
        return "Parts side by side follow each other: write A B."
    if token.type == "NUMBER":
        return "A number of rounds goes in braces, as in A{3}."
    if token.value == "-":
        return "Put parts that are left out of the result in {- and -}, as in A {- B+ -} C."
    return _PARTS_HINT


def _example(token: Token) -> str:
    return "{2,3}" if token.type == "OPEN_BRACE" else str(token.value)
