"""From the text of a CEQL query to the tokens of its grammar: clauses checked, every expression one token."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from lark import Token

from eventide.errors import ParseError, did_you_mean
from eventide.language.parts.columns import column_tokens, name_token
from eventide.language.reading.clauses import Clause, check_order, find_clauses
from eventide.language.reading.grammar import slice_token
from eventide.language.reading.tokens import depth_change, is_word, span_of
from eventide.pattern.sequence_printing import SELECTOR_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CLAUSES = ("SELECT", "FROM", "WHERE", "FILTER", "PARTITION_BY", "WITHIN", "CONSUME_BY", "GROUP_BY", "ORDER_BY", "LIMIT", "SAMPLE")
_SLICED = {"FILTER": "CONDITION", "WITHIN": "WINDOW", "GROUP_BY": "GROUPING", "ORDER_BY": "ORDERING", "SAMPLE": "SAMPLING"}
_PATTERN_WORDS = ("AND", "OR", "NOT", "AS", "FILTER")


def prepare_tokens(tokens: list[Token], text: str) -> list[Token]:
    """Return the tokens that ceql.lark reads.

    >>> from eventide.language.reading.tokens import tokenize
    >>> text = "SELECT a.x AS y WHERE A AS a WITHIN 5 minutes"
    >>> [token.type for token in prepare_tokens(tokenize(text), text)]
    ['SELECT', 'EXPRESSION', 'AS', 'NAME', 'WHERE', 'NAME', 'AS', 'NAME', 'WITHIN', 'WINDOW']
    """
    if not tokens:
        raise ParseError("EMPTY_QUERY", "The query is empty.", hint="Write a query such as SELECT * WHERE A ; B.")
    before, clauses = find_clauses(tokens, CLAUSES)
    if before:
        raise ParseError(
            "MISSING_CLAUSE", "A CEQL query begins with SELECT.", span=span_of(before[0]), hint="Write SELECT * before it."
        )
    check_order(clauses, CLAUSES, ("FILTER",), ("SELECT", "WHERE"))
    return [token for clause in clauses for token in _clause_tokens(clause, text)]


def _clause_tokens(clause: Clause, text: str) -> Iterator[Token]:
    span = clause.span
    yield Token(clause.keyword, text[span.start : span.end], start_pos=span.start, end_pos=span.end)
    body = clause.body
    match clause.keyword:
        case "SELECT":
            if body and _is_selector(body):
                yield Token.new_borrow_pos("SELECTOR", body[0].value, body[0])
                body = body[1:]
            else:
                _check_selector(body)
            yield from column_tokens(body, text)
        case keyword if keyword in _SLICED and body:
            yield slice_token(_SLICED[keyword], body, text)
        case "WHERE":
            yield from _pattern_tokens(body, text)
        case "LIMIT" if body and body[0].value == "-":
            raise ParseError("BAD_LIMIT", "LIMIT cannot be negative.", span=span_of(body[0], body[-1]), hint="Write LIMIT 10.")
        case "LIMIT" if body and body[0].type != "NUMBER":
            raise ParseError(
                "BAD_LIMIT", f"LIMIT takes a whole number, not {body[0].value}.", span=span_of(body[0]), hint="Write LIMIT 10."
            )
        case _:
            yield from (name_token(token) for token in body)


def _is_selector(body: Sequence[Token]) -> bool:
    """A selector word is a selector unless it is used as a name or a function: MAX(b.x), last.price, next, b."""
    if body[0].type != "NAME" or body[0].value.upper() not in SELECTOR_WORDS:
        return False
    if len(body) == 1:
        return True
    following = body[1]
    if following.value == "*":
        return len(body) == 2
    return following.type != "SYMBOL" and not is_word(following, "AS")


def _check_selector(body: Sequence[Token]) -> None:
    if len(body) < 2 or body[0].type != "NAME":
        return
    star = body[1].value == "*" and len(body) == 2
    two_names = body[1].type in ("NAME", "QUOTED") and not is_word(body[1], "AS")
    if star or (two_names and get_close_matches(body[0].value.upper(), SELECTOR_WORDS, n=1, cutoff=0.7)):
        raise ParseError(
            "UNKNOWN_SELECTOR",
            f"{body[0].value} is not a selector.",
            span=span_of(body[0]),
            hint=did_you_mean(body[0].value, SELECTOR_WORDS),
        )


def _pattern_tokens(body: Sequence[Token], text: str) -> Iterator[Token]:
    index = 0
    while index < len(body):
        token = body[index]
        word = token.value.upper() if token.type == "NAME" else ""
        index += 1
        if word not in _PATTERN_WORDS:
            yield name_token(token)
            continue
        # A name of its own keeps the grammar from taking the FILTER clause for a filter of the last part.
        yield Token.new_borrow_pos("PART_FILTER" if word == "FILTER" else word, token.value, token)
        if word == "FILTER":
            end = _end_of_condition(body, index)
            if end > index:
                yield slice_token("CONDITION", list(body[index:end]), text)
            index = end


def _end_of_condition(body: Sequence[Token], start: int) -> int:
    depth = 0
    for index in range(start, len(body)):
        token = body[index]
        change = depth_change(token)
        ends = token.type == "SYMBOL" and token.value in (";", ":", "~>")
        if depth == 0 and (change < 0 or ends or _is_filter(body, index)):
            return index
        depth += change
    return len(body)


def _is_filter(body: Sequence[Token], index: int) -> bool:
    dotted = (index and body[index - 1].value == ".") or (index + 1 < len(body) and body[index + 1].value == ".")
    return is_word(body[index], "FILTER") and not dotted
