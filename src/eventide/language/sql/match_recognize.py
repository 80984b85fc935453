"""What stands between the parentheses of MATCH_RECOGNIZE.

PARTITION BY, ORDER BY, MEASURES, the rows per match, AFTER MATCH SKIP, PATTERN, WITHIN, SUBSET and DEFINE come in this order.
Only PATTERN is needed; a variable that DEFINE does not name takes every row.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, NoReturn

from sqlglot import exp

from eventide.errors import ParseError, Span, did_you_mean
from eventide.language.reading.tokens import bare_name, depth_change, is_word, span_of
from eventide.language.sql.clauses import find_row_clauses, misspelt_row_clause
from eventide.language.sql.columns import read_order_by, read_partition_by, read_rows_per_match
from eventide.language.sql.expressions import RowNames, read_row_expression
from eventide.language.sql.pattern import read_row_pattern
from eventide.language.sql.tokens import is_name, is_variable, split_at_commas, tokenize_rows, variable_name
from eventide.language.sql.within import read_within
from eventide.pattern.row_patterns import Definition, Measure, RowPattern, RowQuery, Skip, SkipTo, Subset
from eventide.pattern.sequences import Name

if TYPE_CHECKING:
    from collections.abc import Collection

    from lark import Token

    from eventide.language.reading.clauses import Clause
    from eventide.pattern.sequences import Expression

_UNNAMED = "MATCH_RECOGNIZE_MEASURES_MUST_BE_ALIASED"
_VAGUE = ("UNEXPECTED_TOKEN", "UNEXPECTED_END", "BAD_EXPRESSION", "BAD_WINDOW", "BAD_QUANTIFIER", _UNNAMED)
_SKIP_HINT = "Write AFTER MATCH SKIP PAST LAST ROW, TO NEXT ROW, TO FIRST A, TO LAST A or TO A."
_SUBSET_HINT = "Write SUBSET U = (A, B)."
_DEFINE_HINT = "Write DEFINE A AS A.price > 10, with commas between definitions."
_MEASURES_HINT = "Write MEASURES LAST(A.price) AS low, with commas between measures."


def parse_match_recognize(
    body_text: str, offset: int = 0, source_text: str | None = None, input_names: Collection[str] | None = None
) -> RowQuery:
    """Read what stands between the parentheses of MATCH_RECOGNIZE, at `offset` in the whole SQL text.

    `input_names` are the names that may qualify a column of PARTITION BY and ORDER BY; None allows any.

    >>> query = parse_match_recognize("ORDER BY t MEASURES LAST(b.x) AS x PATTERN (A B+) DEFINE b AS b.x > a.x")
    >>> query.definitions[0].condition.sql
    'B.x > A.x'
    """
    source = body_text if source_text is None else source_text
    tokens = tokenize_rows(body_text, offset, source)
    place = Span(offset, offset + max(len(body_text), 1))
    try:
        return _Reader(tokens, source, place, input_names).query()
    except ParseError as error:
        better = misspelt_row_clause(tokens, source) if error.condition in _VAGUE else None
        if better is None:
            raise
        raise better from None


class _Reader:
    """Reads the clauses one by one; PATTERN and SUBSET come first, for the others name their variables."""

    def __init__(self, tokens: list[Token], source: str, place: Span, input_names: Collection[str] | None) -> None:
        self.source = source
        self.input_names = input_names
        self.clauses = find_row_clauses(tokens, source, place)
        self.names = RowNames(())

    def query(self) -> RowQuery:
        bare = RowQuery(self._pattern(self.clauses["PATTERN"]))
        self.names = RowNames(bare.variables)
        subsets = self._subsets(self.clauses.get("SUBSET"))
        self.names = RowNames(self.names.primary, tuple(subset.name for subset in subsets))
        within = self.clauses.get("WITHIN")
        if "INITIAL" in self.clauses and self.clauses["INITIAL"].body:
            extra = self.clauses["INITIAL"].body[0]
            self._fail("UNEXPECTED_TOKEN", f"{extra.value} cannot stand here.", span_of(extra), "Write PATTERN after INITIAL.")
        return replace(
            bare,
            partition_by=read_partition_by(self.clauses.get("PARTITION_BY"), self.source, self.input_names),
            order_by=read_order_by(self.clauses.get("ORDER_BY"), self.source, self.input_names),
            measures=self._measures(self.clauses.get("MEASURES")),
            rows_per_match=read_rows_per_match(self.clauses.get("ROWS_PER_MATCH"), self.source),
            skip=self._skip(self.clauses.get("AFTER_MATCH_SKIP")),
            within=None if within is None else read_within(within.body, self.source, within.span),
            subsets=subsets,
            definitions=self._definitions(self.clauses.get("DEFINE")),
            within_span=None if within is None else span_of(within.head[0], within.body[-1]),
            text=self.source,
        )

    def _pattern(self, clause: Clause) -> RowPattern:
        # The parentheses of the clause are those of a group as well, so the pattern can be read with them.
        body = clause.body
        depths = list(accumulate(depth_change(token) for token in body))
        if body and body[0].value == "(" and depths.index(0) < len(body) - 1:
            extra = body[depths.index(0) + 1]
            self._fail(
                "UNEXPECTED_TOKEN",
                f"{extra.value} cannot come after the pattern.",
                span_of(extra),
                "Put all of the pattern in parentheses, as in PATTERN ((A B)+ C).",
            )
        return read_row_pattern(body, self.source, clause.span)

    def _subsets(self, clause: Clause | None) -> tuple[Subset, ...]:
        subsets: list[Subset] = []
        for item in self._items(clause, _SUBSET_HINT):
            subset = self._subset(item)
            if any(subset.name == other.name for other in subsets):
                self._fail(
                    "DUPLICATE_SUBSET", f"The subset {subset.name} is there twice.", span_of(item[0]), "Rename one of them."
                )
            subsets.append(subset)
        return tuple(subsets)

    def _subset(self, item: list[Token]) -> Subset:
        shaped = (
            len(item) >= 5
            and is_variable(item[0])
            and item[1].value == "="
            and item[2].value == "("
            and item[-1].value == ")"
            and all(is_variable(token) if index % 2 == 0 else token.value == "," for index, token in enumerate(item[3:-1]))
            and len(item) % 2 == 1
        )
        if not shaped:
            self._fail("UNEXPECTED_TOKEN", "The subset cannot be read.", span_of(item[0], item[-1]), _SUBSET_HINT)
        if self._found(item[0]) is not None:
            self._fail(
                "DUPLICATE_VARIABLE",
                f"{item[0].value} is a variable of the pattern already.",
                span_of(item[0]),
                "Give the subset a different name.",
            )
        members = tuple(Name(self._primary(token, "SUBSET"), span_of(token)) for token in item[3:-1:2])
        return Subset(variable_name(item[0]), members, span_of(item[0], item[-1]))

    def _measures(self, clause: Clause | None) -> tuple[Measure, ...]:
        if clause is not None and not clause.body:
            self._fail("MATCH_RECOGNIZE_EMPTY_MEASURES", "MEASURES is empty.", clause.span, _MEASURES_HINT)
        measures: list[Measure] = []
        for item in self._items(clause, _MEASURES_HINT):
            measure = self._measure(item)
            if any(measure.name.lower() == other.name.lower() for other in measures):
                self._fail(
                    "DUPLICATE_MEASURE",
                    f"There are two measures {measure.name}.",
                    span_of(item[-1]),
                    "Rename one of them with AS.",
                )
            measures.append(measure)
        return tuple(measures)

    def _measure(self, item: list[Token]) -> Measure:
        span = span_of(item[0], item[-1])
        named = _outer_as(item)
        if named and named[0] + 2 < len(item) and is_name(item[named[0] + 1]):
            self._fail_without_comma(item[named[0] + 2])
        if named and (named[0] == 0 or named[0] + 2 != len(item) or not is_name(item[-1])):
            self._fail(_UNNAMED, "The measure cannot be read.", span, _MEASURES_HINT)
        if named:
            return Measure(bare_name(item[-1]), self._expression(item[:-2], "the measure"), span)
        expression = self._unnamed_measure(item)
        tree = expression.tree
        if not isinstance(tree, exp.Column) or self.names.find(tree.table, quoted=True) is None:
            self._fail(_UNNAMED, "A measure needs a name.", span, f"Add one with AS: {expression.sql[:60]} AS name.")
        return Measure(f"{tree.table}_{tree.name}", expression, span)

    def _unnamed_measure(self, item: list[Token]) -> Expression:
        try:
            return self._expression(item, "the measure")
        except ParseError as error:
            last = item[-1]
            if len(item) > 1 and is_name(last) and error.span == span_of(last):
                raise self._error(
                    _UNNAMED, f"AS is missing before {last.value}.", error.span, f"Write AS {last.value}."
                ) from None
            raise

    def _skip(self, clause: Clause | None) -> Skip:
        if clause is None:
            return Skip()
        words = [*clause.head, *clause.body]
        match [str(token.value).upper() for token in words]:
            case ["AFTER", "MATCH", "SKIP", "PAST", "LAST", "ROW"]:
                return Skip()
            case ["AFTER", "MATCH", "SKIP", "TO", "NEXT", "ROW"]:
                return Skip(SkipTo.NEXT_ROW)
            case ["AFTER", "MATCH", "SKIP", "TO", "FIRST" | "LAST" as which, _]:
                return Skip(SkipTo[which], self._target(words[-1]))
            case ["AFTER", "MATCH", "SKIP", "TO", _]:
                return Skip(SkipTo.LAST, self._target(words[-1]))
        raise self._error("BAD_SKIP", "AFTER MATCH SKIP cannot be read.", span_of(words[0], words[-1]), _SKIP_HINT)

    def _target(self, token: Token) -> Name:
        found = self._found(token)
        if found is None:
            hint = did_you_mean(token.value, (*self.names.primary, *self.names.unions)) if is_variable(token) else _SKIP_HINT
            self._fail("UNKNOWN_VARIABLE", f"There is no variable {token.value} to skip to.", span_of(token), hint)
        return Name(found, span_of(token))

    def _definitions(self, clause: Clause | None) -> tuple[Definition, ...]:
        definitions: list[Definition] = []
        for item in self._items(clause, _DEFINE_HINT):
            if len(item) < 3 or not is_variable(item[0]) or not is_word(item[1], "AS"):
                self._fail("UNEXPECTED_TOKEN", "The definition cannot be read.", span_of(item[0], item[-1]), _DEFINE_HINT)
            if len(inner := _outer_as(item)) > 1:
                self._fail_without_comma(item[inner[1] - 1])
            if (union := self._found(item[0])) in self.names.unions:
                self._fail(
                    "SUBSET_DEFINED", f"The subset {union} cannot be defined.", span_of(item[0]), "Define its members instead."
                )
            variable = self._primary(item[0], "DEFINE")
            if any(variable == other.variable for other in definitions):
                self._fail(
                    "MATCH_RECOGNIZE_DUPLICATE_PATTERN_VARIABLE",
                    f"The variable {variable} is defined twice.",
                    span_of(item[0]),
                    "Join its conditions with AND.",
                )
            condition = self._expression(item[2:], "the condition")
            definitions.append(Definition(variable, condition, span_of(item[0], item[-1])))
        return tuple(definitions)

    def _expression(self, tokens: list[Token], what: str) -> Expression:
        return read_row_expression(tokens, self.source, self.names, what)

    def _items(self, clause: Clause | None, hint: str) -> list[list[Token]]:
        return [] if clause is None else split_at_commas(clause.body, clause.head[-1], self.source, hint)

    def _found(self, token: Token) -> str | None:
        return self.names.find(variable_name(token), quoted=token.type != "NAME") if is_variable(token) else None

    def _primary(self, token: Token, keyword: str) -> str:
        """Return the variable of the pattern that a token names."""
        found = self._found(token)
        if found is None or found not in self.names.primary:
            message = f"{keyword} names {token.value}, which is not in PATTERN."
            hint = did_you_mean(token.value, self.names.primary)
            self._fail("UNKNOWN_VARIABLE", message, span_of(token), hint)
        return found

    def _fail_without_comma(self, token: Token) -> NoReturn:
        message = f"A comma is missing before {token.value}."
        self._fail("UNEXPECTED_TOKEN", message, span_of(token), f"Write , {token.value}.")

    def _fail(self, condition: str, message: str, span: Span, hint: str) -> NoReturn:
        raise self._error(condition, message, span, hint)

    def _error(self, condition: str, message: str, span: Span, hint: str) -> ParseError:
        return ParseError(condition, message, text=self.source, span=span, hint=hint)


def _outer_as(tokens: list[Token]) -> list[int]:
    """Return where AS stands outside of brackets."""
    found: list[int] = []
    depth = 0
    for index, token in enumerate(tokens):
        depth += depth_change(token)
        if depth == 0 and is_word(token, "AS") and not (index and tokens[index - 1].value == "."):
            found.append(index)
    return found
