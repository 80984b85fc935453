"""PARTITION BY, ORDER BY and the rows per match of MATCH_RECOGNIZE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import ParseError
from eventide.language.reading.tokens import bare_name, is_word, span_of
from eventide.language.sql.tokens import is_name, split_at_commas
from eventide.pattern.row_patterns import RowsPerMatch, SortKey
from eventide.pattern.sequences import Name

if TYPE_CHECKING:
    from collections.abc import Collection

    from lark import Token

    from eventide.language.reading.clauses import Clause

_MODES = {
    ("ONE", "ROW", "PER", "MATCH"): RowsPerMatch.ONE,
    ("ALL", "ROWS", "PER", "MATCH"): RowsPerMatch.ALL_SHOW_EMPTY,
    **{tuple(mode.value.split()): mode for mode in RowsPerMatch},
}
# The first is the name that Databricks has for it.
_NOT_A_COLUMN = {
    "PARTITION BY": "MATCH_RECOGNIZE_PARTITION_BY_MUST_BE_COLUMN",
    "ORDER BY": "ORDER_BY_MUST_BE_COLUMN",
}
_MODE_HINT = (
    "Write ONE ROW PER MATCH or ALL ROWS PER MATCH, the second also with SHOW EMPTY MATCHES, OMIT EMPTY MATCHES or WITH "
    "UNMATCHED ROWS behind it."
)
_NEXT_HINT = {
    "PARTITION BY": "Put a comma between columns, or write the next clause.",
    "ORDER BY": "Write ASC or DESC, NULLS FIRST or NULLS LAST, a comma, or the next clause.",
}


def read_partition_by(clause: Clause | None, source_text: str, input_names: Collection[str] | None) -> tuple[Name, ...]:
    """Return the columns of PARTITION BY.

    >>> read_partition_by(None, "", None)
    ()
    """
    if clause is None:
        return ()
    items = split_at_commas(clause.body, clause.head[-1], source_text, "Write PARTITION BY and columns, as in PARTITION BY a, b.")
    return tuple(_column(item, "PARTITION BY", source_text, input_names) for item in items)


def read_order_by(clause: Clause | None, source_text: str, input_names: Collection[str] | None) -> tuple[SortKey, ...]:
    """Return the columns of ORDER BY; nulls come first when ascending and last when descending unless it is written.

    >>> read_order_by(None, "", None)
    ()
    """
    if clause is None:
        return ()
    items = split_at_commas(clause.body, clause.head[-1], source_text, "Write ORDER BY and columns, as in ORDER BY a, b DESC.")
    return tuple(_sort_key(item, source_text, input_names) for item in items)


def read_rows_per_match(clause: Clause | None, source_text: str) -> RowsPerMatch:
    """Return which rows a match puts out, one when nothing is written.

    >>> read_rows_per_match(None, "")
    <RowsPerMatch.ONE: 'ONE ROW PER MATCH'>
    """
    if clause is None:
        return RowsPerMatch.ONE
    tokens = [*clause.head, *clause.body]
    mode = _MODES.get(tuple(str(token.value).upper() for token in tokens))
    if mode is None:
        raise ParseError(
            "BAD_ROWS_PER_MATCH",
            "The rows per match cannot be read.",
            text=source_text,
            span=span_of(tokens[0], tokens[-1]),
            hint=_MODE_HINT,
        )
    return mode


def _sort_key(item: list[Token], source_text: str, input_names: Collection[str] | None) -> SortKey:
    rest = list(item)
    nulls_first: bool | None = None
    if len(rest) > 2 and is_word(rest[-2], "NULLS") and any(is_word(rest[-1], word) for word in ("FIRST", "LAST")):
        nulls_first = is_word(rest[-1], "FIRST")
        del rest[-2:]
    descending = len(rest) > 1 and is_word(rest[-1], "DESC")
    if len(rest) > 1 and (descending or is_word(rest[-1], "ASC")):
        del rest[-1]
    column = _column(rest, "ORDER BY", source_text, input_names)
    return SortKey(column, descending, not descending if nulls_first is None else nulls_first)


def _column(item: list[Token], keyword: str, source_text: str, input_names: Collection[str] | None) -> Name:
    span = span_of(item[0], item[-1])
    if len(item) == 1 and is_name(item[0]):
        return Name(bare_name(item[0]), span)
    if len(item) == 3 and is_name(item[0]) and item[1].value == "." and is_name(item[2]):
        _check_qualifier(item[0], keyword, source_text, input_names)
        return Name(bare_name(item[2]), span)
    if len(item) > 1 and all(is_name(token) for token in item[:2]):
        raise ParseError(
            "UNEXPECTED_TOKEN",
            f"{item[1].value} cannot come after a column of {keyword}.",
            text=source_text,
            span=span_of(item[1]),
            hint=_NEXT_HINT[keyword],
        )
    raise ParseError(
        _NOT_A_COLUMN[keyword],
        f"{keyword} takes columns, not expressions.",
        text=source_text,
        span=span,
        hint="Compute it in a sub-query: (SELECT *, ... AS x FROM t) MATCH_RECOGNIZE (...).",
    )


def _check_qualifier(token: Token, keyword: str, source_text: str, input_names: Collection[str] | None) -> None:
    if input_names is None or bare_name(token).lower() in {name.lower() for name in input_names}:
        return
    raise ParseError(
        _NOT_A_COLUMN[keyword],
        f"{token.value} is not the table that MATCH_RECOGNIZE stands over.",
        text=source_text,
        span=span_of(token),
        hint=f"Leave out {token.value} and the dot; compute a field of a struct in a sub-query.",
    )
