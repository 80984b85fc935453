"""The expressions of MEASURES and DEFINE: Spark SQL with navigation, RUNNING and FINAL, in the form that `RowQuery` describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import ErrorLevel, TokenType, exp
from sqlglot import Token as SqlToken
from sqlglot.errors import SqlglotError

from eventide.errors import ParseError, Span
from eventide.language.reading.short_forms import make_identifier, place_of
from eventide.language.reading.strange_texts import read_as
from eventide.language.reading.tokens import is_word, span_of
from eventide.language.sql.sqlglot_reading import PlacedParser, PlacedSpark, explain_sql, moved
from eventide.pattern.expressions import expression_from_tree
from eventide.records import record

if TYPE_CHECKING:
    from lark import Token

    from eventide.pattern.sequences import Expression

NAVIGATION = ("FIRST", "LAST", "PREV", "NEXT")
SEMANTICS = ("RUNNING", "FINAL")
PATTERN_FUNCTIONS = frozenset((*NAVIGATION, *SEMANTICS, "CLASSIFIER", "MATCH_NUMBER"))
_SUBQUERY_HINT = "Join the tables in a query that MATCH_RECOGNIZE stands over."
_NO_KEYWORDS = (TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER)
_BETWEEN_OPERANDS = frozenset((*PlacedParser.RANGE_PARSERS, TokenType.AND, TokenType.OR, TokenType.XOR, TokenType.NOT))


@record
class RowNames:
    """The variables of a PATTERN and the union variables of its SUBSET, as they are spelt there."""

    primary: tuple[str, ...]
    unions: tuple[str, ...] = ()

    def find(self, written: str, *, quoted: bool) -> str | None:
        """Return the variable that a name in the text stands for; only a name without quotes may differ in case.

        >>> names = RowNames(("A", "b"), ("U",))
        >>> names.find("a", quoted=False), names.find("u", quoted=False), names.find("B", quoted=False)
        ('A', 'U', 'b')
        >>> names.find("a", quoted=True)
        """
        known = (*self.primary, *self.unions)
        if quoted:
            return written if written in known else None
        folded = written.upper()
        if folded in known:
            return folded
        alike = [name for name in known if name.upper() == folded]
        return alike[0] if len(alike) == 1 else None


class _RowParser(PlacedParser):
    """Reads FIRST and LAST as functions of the pattern, not as Spark's aggregates."""

    FUNCTIONS = {name: build for name, build in PlacedParser.FUNCTIONS.items() if name not in PATTERN_FUNCTIONS}  # noqa: RUF012


class _RowSpark(PlacedSpark):
    """Spark SQL with the functions of row patterns."""

    Parser = _RowParser


_DIALECT = _RowSpark()


def read_row_expression(tokens: list[Token], source_text: str, names: RowNames, what: str = "the expression") -> Expression:
    """Read an expression from its tokens, which stand in `source_text`.

    >>> from eventide.language.sql.tokens import tokenize_rows
    >>> text = "final last(a.price, 1) > prev(price)"
    >>> read_row_expression(tokenize_rows(text, 0, text), text, RowNames(("A",))).sql
    'FINAL(LAST(A.price, 1)) > PREV(price)'
    """
    span = span_of(tokens[0], tokens[-1])
    example, split = "expression such as A.price < 10", "compute a part of it in a sub-query"
    with read_as("an expression", "BAD_EXPRESSION", source_text, span, example=example, split=split):
        tree = _read(tokens, source_text, names, what)
        tree = _normal_form(tree, names)
        _refuse_what_has_no_meaning(tree, source_text, span)
        return expression_from_tree(tree, span)


def _read(tokens: list[Token], source_text: str, names: RowNames, what: str) -> exp.Expression:
    span = span_of(tokens[0], tokens[-1])
    semicolon = next((token for token in tokens if token.type == "SYMBOL" and token.value == ";"), None)
    if semicolon is not None:
        raise ParseError(
            "BAD_EXPRESSION",
            "An expression holds no semicolon.",
            text=source_text,
            span=span_of(semicolon),
            hint="Separate measures and definitions with commas, conditions with AND.",
        )
    for before, token, following in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if before.value == "(" and is_word(token, "SELECT") and following.value not in (".", ")"):
            # Said here, because a query may hold a MATCH_RECOGNIZE clause, which only `statement` can read.
            raise ParseError(
                "BAD_EXPRESSION", "A sub-query cannot be used here.", text=source_text, span=span_of(token), hint=_SUBQUERY_HINT
            )
    try:
        sql_tokens = moved(_DIALECT.tokenize(_without_comments(tokens, span)), span.start)
        _free_variables_of_keywords(sql_tokens, names)
        parser = _DIALECT.parser(error_level=ErrorLevel.IMMEDIATE)
        trees = parser.parse_into(exp.Condition, _with_semantics_as_calls(sql_tokens, source_text), source_text)
    except SqlglotError as error:
        raise explain_sql(error, source_text, span, "BAD_EXPRESSION", what) from None
    if len(trees) != 1 or not isinstance(tree := trees[0], exp.Expression):
        raise ParseError(
            "BAD_EXPRESSION",
            f"{source_text[span.start : span.end][:40]} is not an expression.",
            text=source_text,
            span=span,
            hint="Write a Spark SQL expression such as A.price < 10.",
        )
    return tree


def _without_comments(tokens: list[Token], span: Span) -> str:
    """Return the text of the tokens with blanks for everything between them, so that all places stay."""
    parts: list[str] = []
    end = span.start
    for token in tokens:
        parts.extend((" " * ((token.start_pos or 0) - end), token.value))
        end = token.end_pos or 0
    return "".join(parts)


def _free_variables_of_keywords(tokens: list[SqlToken], names: RowNames) -> None:
    """Let a variable be called START, END or ALL: what stands before a dot or in CLASSIFIER( ) is a name, not a keyword."""
    for index, token in enumerate(tokens):
        before = tokens[index - 1].token_type if index else None
        following = tokens[index + 1].token_type if index + 1 < len(tokens) else None
        qualifies = following is TokenType.DOT and before is not TokenType.DOT
        classified = index > 1 and before is TokenType.L_PAREN and tokens[index - 2].text.upper() == "CLASSIFIER"
        if (qualifies or classified) and token.text.isidentifier() and token.token_type not in _NO_KEYWORDS:
            spelling = names.find(token.text, quoted=False)
            if spelling is not None:
                token.token_type, token.text = TokenType.IDENTIFIER, spelling


def _with_semantics_as_calls(tokens: list[SqlToken], source_text: str) -> list[SqlToken]:
    """Put parentheses around what RUNNING and FINAL stand before, which makes them calls that sqlglot can read."""
    opening = {index for index in range(len(tokens)) if _is_semantics(tokens, index)}
    closing: dict[int, int] = {}
    for index in opening:
        if index + 1 in opening:
            token = tokens[index + 1]
            raise ParseError(
                "BAD_EXPRESSION",
                f"{tokens[index].text} and {token.text} cannot stand together.",
                text=source_text,
                span=Span(token.start, token.end + 1),
                hint="Keep one of them.",
            )
        end = _end_of_operand(tokens, index + 1)
        closing[end] = closing.get(end, 0) + 1
    result: list[SqlToken] = []
    for index, token in enumerate(tokens):
        result.append(token)
        if index in opening:
            result.append(_parenthesis(TokenType.L_PAREN, "(", token))
        result.extend(_parenthesis(TokenType.R_PAREN, ")", token) for _ in range(closing.get(index, 0)))
    return result


def _is_semantics(tokens: list[SqlToken], index: int) -> bool:
    token = tokens[index]
    if token.text.upper() not in SEMANTICS or token.token_type is not TokenType.VAR or index + 1 >= len(tokens):
        return False
    if index and tokens[index - 1].token_type is TokenType.DOT:
        return False
    following = tokens[index + 1].token_type
    if following in (TokenType.VAR, TokenType.IDENTIFIER):
        return True
    called = index + 2 < len(tokens) and tokens[index + 2].token_type in (TokenType.L_PAREN, TokenType.DOT)
    return called and following in PlacedParser.FUNC_TOKENS and following not in _BETWEEN_OPERANDS


def _end_of_operand(tokens: list[SqlToken], index: int) -> int:
    """Return the last token of the column or call that begins at `index`."""
    while index + 2 < len(tokens) and tokens[index + 1].token_type is TokenType.DOT:
        index += 2
    if index + 1 < len(tokens) and tokens[index + 1].token_type is TokenType.L_PAREN:
        depth = 0
        for place in range(index + 1, len(tokens)):
            depth += (tokens[place].token_type is TokenType.L_PAREN) - (tokens[place].token_type is TokenType.R_PAREN)
            if depth == 0:
                return place
    return index


def _parenthesis(kind: TokenType, text: str, beside: SqlToken) -> SqlToken:
    return SqlToken(kind, text, line=beside.line, col=beside.col, start=beside.start, end=beside.end)


def _normal_form(tree: exp.Expression, names: RowNames) -> exp.Expression:
    root = exp.Paren(this=tree)
    for column in list(root.find_all(exp.Column)):
        _qualify_fields(column)
    for function in root.find_all(exp.Anonymous):
        if isinstance(function.this, str) and function.this.upper() in PATTERN_FUNCTIONS:
            function.set("this", function.this.upper())
    for column in root.find_all(exp.Column):
        table = column.args.get("table")
        if isinstance(table, exp.Identifier):
            _spell_as_in_pattern(table, names)
        elif isinstance(column.this, exp.Identifier) and _is_argument_of_classifier(column):
            _spell_as_in_pattern(column.this, names)
    for identifier in root.find_all(exp.Identifier):
        if identifier.arg_key != "table" or names.find(identifier.name, quoted=True):
            identifier.set("quoted", make_identifier(identifier.name).quoted)
    result = root.this
    result.pop()
    assert isinstance(result, exp.Expression)
    return result


def _qualify_fields(column: exp.Column) -> None:
    """Turn A.b.c, which SQL reads as schema.table.column, into field c of the column A.b."""
    parts = column.parts
    if len(parts) <= 2 or any(isinstance(part, exp.Star) for part in parts):
        return
    result: exp.Expression = exp.Column(this=parts[1].copy(), table=parts[0].copy())
    for part in parts[2:]:
        result = exp.Dot(this=result, expression=part.copy())
    column.replace(result)


def _is_argument_of_classifier(column: exp.Column) -> bool:
    return isinstance(column.parent, exp.Anonymous) and column.parent.this == "CLASSIFIER"


def _spell_as_in_pattern(identifier: exp.Identifier, names: RowNames) -> None:
    spelling = names.find(identifier.name, quoted=bool(identifier.args.get("quoted")))
    if spelling is not None:
        identifier.set("this", spelling)


def _refuse_what_has_no_meaning(tree: exp.Expression, source_text: str, span: Span) -> None:
    for node in tree.walk():
        refusal = _refusal(node)
        if refusal is not None:
            what, hint = refusal
            place = place_of(node) or span
            condition = "MATCH_RECOGNIZE_UNSUPPORTED_WINDOW_FUNCTION" if isinstance(node, exp.Window) else "BAD_EXPRESSION"
            raise ParseError(condition, f"{what} cannot be used here.", text=source_text, span=place, hint=hint)


def _refusal(node: exp.Expr) -> tuple[str, str] | None:
    if isinstance(node, exp.Query):
        return "A sub-query", _SUBQUERY_HINT
    if isinstance(node, exp.Window):
        return "A window function (OVER)", "Use FIRST, LAST, PREV, NEXT or an aggregate, or compute it in a sub-query before."
    if isinstance(node, exp.Placeholder | exp.Parameter):
        return "A parameter", "Write the value itself."
    if isinstance(node, exp.Filter):
        return "FILTER behind an aggregate", "Use CASE WHEN inside the aggregate."
    if isinstance(node, exp.Star) and not _is_counted(node):
        return "The star", "Name the column, as in A.price; COUNT(*) and COUNT(A.*) count rows."
    if isinstance(node, exp.Anonymous) and node.this in SEMANTICS and not _is_semantics_call(node):
        return f"{node.this} before this", f"Write {node.this} before a function or a column, as in {node.this} LAST(A.price)."
    return None


def _is_counted(star: exp.Star) -> bool:
    parent = star.parent
    if isinstance(parent, exp.Column) and len(parent.parts) == 2:
        parent = parent.parent
    return isinstance(parent, exp.Count)


def _is_semantics_call(node: exp.Anonymous) -> bool:
    return len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Func | exp.Column)
