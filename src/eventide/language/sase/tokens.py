"""From the text of a SASE query to the tokens of its grammar: clauses checked, every condition one token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lark import Token

from eventide.errors import ParseError, did_you_mean
from eventide.language.parts.columns import column_tokens, name_token
from eventide.language.reading.clauses import Clause, check_order, find_clauses
from eventide.language.reading.grammar import slice_token
from eventide.language.reading.tokens import depth_change, is_word, span_of, tokenize
from eventide.pattern.sequences import Strategy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CLAUSES = ("WHERE", "WITHIN", "RETURN", "GROUP_BY")
STRATEGIES = {
    "skip_till_any_match": Strategy.ANY,
    "skip_till_next_match": Strategy.NEXT,
    "strict_contiguity": Strategy.STRICT,
    "partition_contiguity": Strategy.STRICT,
}
_OPERATORS = ("SEQ", "AND", "OR")


def prepare_tokens(tokens: list[Token], text: str) -> list[Token]:
    """Return the tokens that sase.lark reads.

    >>> text = "PATTERN SEQ(A a, !B) WHERE [id] AND a.x > 1"
    >>> " ".join(token.type for token in prepare_tokens(tokenize(text), text))
    'HEAD OPERATOR LEFT NAME NAME COMMA BANG NAME RIGHT WHERE EQUALITY AND CONDITION'
    """
    if not tokens:
        raise ParseError("EMPTY_QUERY", "The query is empty.", hint="Write a query such as PATTERN SEQ(A a, B b).")
    pattern, clauses = find_clauses(tokens, CLAUSES)
    pattern = _without_label(pattern)
    if not pattern:
        raise ParseError(
            "MISSING_CLAUSE", "The query has no pattern.", span=span_of(tokens[0]), hint="Begin with PATTERN SEQ(A a, B b)."
        )
    check_order(clauses, CLAUSES, (), ())
    return [*_pattern_tokens(pattern), *(token for clause in clauses for token in _clause_tokens(clause, text))]


def _without_label(tokens: list[Token]) -> list[Token]:
    """Return the tokens without a label such as `QUERY 1 .` before the pattern."""
    if len(tokens) < 2 or not is_word(tokens[0], "QUERY") or tokens[1].type not in ("NUMBER", "NAME"):
        return tokens
    rest = tokens[2:]
    return rest[1:] if rest and rest[0].value in (".", ":") else rest


def _pattern_tokens(tokens: Sequence[Token]) -> Iterator[Token]:
    for index, token in enumerate(tokens):
        following = tokens[index + 1].value if index + 1 < len(tokens) else ""
        if index == 0 and (is_word(token, "PATTERN") or is_word(token, "EVENT")):
            yield Token.new_borrow_pos("HEAD", token.value, token)
        elif token.type == "NAME" and token.value.upper() in _OPERATORS and following == "(":
            yield Token.new_borrow_pos("OPERATOR", token.value, token)
        elif token.value == "||":
            yield Token.new_borrow_pos("BAR", token.value, token)
        else:
            yield name_token(token)


def _clause_tokens(clause: Clause, text: str) -> Iterator[Token]:
    span = clause.span
    yield Token(clause.keyword, text[span.start : span.end], start_pos=span.start, end_pos=span.end)
    match clause.keyword:
        case "WHERE":
            yield from _where_tokens(clause.body, text)
        case "WITHIN" if clause.body:
            yield slice_token("WINDOW", clause.body, text)
        case "GROUP_BY" if clause.body:
            yield slice_token("GROUPING", clause.body, text)
        case "RETURN":
            yield from column_tokens(clause.body, text)


def _where_tokens(body: list[Token], text: str) -> Iterator[Token]:
    head, conditions = _strategy_head(body)
    if head:
        name = head[0]
        if name.value.lower() not in STRATEGIES:
            raise ParseError(
                "UNKNOWN_STRATEGY",
                f"There is no strategy {name.value}.",
                span=span_of(name),
                hint=did_you_mean(name.value, STRATEGIES),
            )
        yield slice_token("STRATEGY", head, text)
    choice = _top_level_or(conditions)
    if choice is not None and _holds_equality(conditions):
        raise ParseError(
            "BAD_EXPRESSION",
            "[attribute] can only be joined by AND.",
            span=span_of(choice),
            hint="Put conditions joined by OR in parentheses: [id] AND (a.x > 1 OR b.x > 1).",
        )
    terms = [conditions] if choice is not None else _terms(conditions)
    for index, term in enumerate(terms):
        if index:
            yield Token("AND", "AND", start_pos=term[0].start_pos if term else None, end_pos=term[0].end_pos if term else None)
        if term:
            yield slice_token("EQUALITY" if _is_equality(term) else "CONDITION", term, text)


def _strategy_head(body: list[Token]) -> tuple[list[Token], list[Token]]:
    """Cut `strategy(a, b[]) { conditions }` into its head and its conditions; without braces there is no head."""
    if not body or body[0].type != "NAME":
        return [], body
    depth = 0
    for index, token in enumerate(body):
        if depth == 0 and token.value == "{":
            if body[-1].value != "}":
                raise ParseError(
                    "UNEXPECTED_TOKEN",
                    f"{body[-1].value} cannot come after the braces.",
                    span=span_of(body[-1]),
                    hint="Put all conditions inside { }.",
                )
            return body[:index], body[index + 1 : -1]
        depth += depth_change(token)
    if body[0].value.lower() in STRATEGIES:
        raise ParseError(
            "UNEXPECTED_END",
            f"The conditions of {body[0].value} are missing.",
            span=span_of(body[0]),
            hint=f"Write {body[0].value}(a, b[]) {{ a.x < b.x }}.",
        )
    return [], body


def _terms(tokens: list[Token]) -> list[list[Token]]:
    """Cut conditions at the ANDs outside of brackets, CASE and BETWEEN."""
    terms: list[list[Token]] = [[]]
    depth = 0
    between = 0
    for token in tokens:
        depth += depth_change(token) + is_word(token, "CASE") - is_word(token, "END")
        if depth == 0 and is_word(token, "BETWEEN"):
            between += 1
        if depth == 0 and is_word(token, "AND"):
            if between:
                between -= 1
            else:
                terms.append([])
                continue
        terms[-1].append(token)
    return terms


def _is_equality(term: Sequence[Token]) -> bool:
    return bool(term) and term[0].value == "[" and term[-1].value == "]"


def _holds_equality(tokens: Sequence[Token]) -> bool:
    """Say whether a bracket begins an operand, which SQL would take for an array."""
    befores = [None, *tokens]
    return any(
        token.value == "[" and (before is None or is_word(before, "AND") or is_word(before, "OR"))
        for before, token in zip(befores, tokens, strict=False)
    )


def _top_level_or(tokens: Sequence[Token]) -> Token | None:
    depth = 0
    for token in tokens:
        depth += depth_change(token) + is_word(token, "CASE") - is_word(token, "END")
        if depth == 0 and is_word(token, "OR"):
            return token
    return None


def equality_attributes(token: Token) -> list[Token]:
    """Return the attributes of an `[a, b]` term, placed in the whole query.

    >>> [name.value for name in equality_attributes(Token("EQUALITY", "[id, region]", start_pos=10))]
    ['id', 'region']
    """
    offset = token.start_pos or 0
    inner = tokenize(token.value)[1:-1]
    placed = [
        Token(part.type, part.value, start_pos=offset + (part.start_pos or 0), end_pos=offset + (part.end_pos or 0))
        for part in inner
    ]
    names, commas = placed[::2], placed[1::2]
    if not names or len(names) != len(commas) + 1 or any(name.type not in ("NAME", "QUOTED") for name in names):
        raise ParseError(
            "BAD_EXPRESSION",
            "Brackets in WHERE hold attribute names.",
            span=span_of(token),
            hint="Write [id] or [id, region].",
        )
    return names
