"""SQL with MATCH_RECOGNIZE: the clauses are read by us, the rest by sqlglot.

Every clause leaves a table `__et_match_0`, `__et_match_1`, ... in the tree of the query, with the alias that the user gave it.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from sqlglot import ErrorLevel, TokenType, exp
from sqlglot.errors import SqlglotError

from eventide.errors import ParseError, Span
from eventide.language.reading.strange_texts import read_as
from eventide.language.sql.match_recognize import parse_match_recognize
from eventide.language.sql.sqlglot_reading import PlacedParser, PlacedSpark, explain_sql
from eventide.language.sql.statement_errors import misspelt_match_recognize, refuse_other_statements
from eventide.language.sql.statement_scan import find_clause_texts, scan_statement, without_bodies
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlglot import Token

    from eventide.language.sql.statement_scan import ClauseText, Piece
    from eventide.pattern.row_patterns import RowQuery

MATCH_PREFIX = "__et_match_"


@record
class MatchClause:
    """A MATCH_RECOGNIZE clause, the table expression it stands over, and the name it has in the tree."""

    name: str
    input: exp.Expression = field(compare=False, repr=False)
    input_alias: str | None
    query: RowQuery
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Statement:
    """A SQL query; a clause comes after those that its input holds."""

    text: str
    tree: exp.Expression = field(compare=False, repr=False)
    clauses: tuple[MatchClause, ...]


def parse_statement(text: str) -> Statement:
    """Read a SQL query in which MATCH_RECOGNIZE may stand behind any table.

    >>> statement = parse_statement("SELECT m.x FROM t MATCH_RECOGNIZE (MEASURES A.x AS x PATTERN (A B+) DEFINE A AS x > 3) AS m")
    >>> statement.tree.sql(dialect="spark")
    'SELECT m.x FROM __et_match_0 AS m'
    >>> statement.clauses[0].input.sql(dialect="spark")
    't'
    """
    pieces = scan_statement(text)
    clause_texts = find_clause_texts(pieces)
    refuse_other_statements(pieces, text)
    whole = Span(pieces[0].start, pieces[-1].end)
    example, split = "query such as SELECT * FROM t MATCH_RECOGNIZE (...) AS m", "use WITH for sub-queries"
    with read_as("a query", "BAD_QUERY", text, whole, example=example, split=split):
        tree, inputs = _read(text, pieces, clause_texts, whole)
        for part in (tree, *inputs.values()):
            part.sql(dialect="spark")  # sqlglot reads some texts that it cannot print, and the engines get printed text
        return Statement(text, tree, tuple(_clauses(text, clause_texts, inputs)))


class _StatementParser(PlacedParser):
    """Reads MATCH_RECOGNIZE ( ) behind a table, several times if need be."""

    QUERY_MODIFIER_PARSERS = {  # noqa: RUF012 - sqlglot's own way to declare what a parser knows
        kind: parse for kind, parse in PlacedParser.QUERY_MODIFIER_PARSERS.items() if kind is not TokenType.MATCH_RECOGNIZE
    }
    # sqlglot may read a piece of text again, so the tables are kept by the place of their keyword.
    numbers: dict[int, int]
    inputs: dict[int, exp.Expression]

    def _parse_table(
        self,
        schema: bool = False,
        joins: bool = False,
        alias_tokens: Collection[TokenType] | None = None,
        parse_bracket: bool = False,
        is_db_reference: bool = False,
        parse_partition: bool = False,
        consume_pipe: bool = False,
    ) -> exp.Expr | None:
        table = super()._parse_table(
            schema=schema,
            joins=joins,
            alias_tokens=alias_tokens,
            parse_bracket=parse_bracket,
            is_db_reference=is_db_reference,
            parse_partition=parse_partition,
            consume_pipe=consume_pipe,
        )
        if schema or not self._match(TokenType.MATCH_RECOGNIZE, advance=False):
            return table
        while self._match(TokenType.MATCH_RECOGNIZE):
            table = self._stand_in(table, self._prev, alias_tokens)
        if joins and table is not None:
            for join in self._parse_joins(alias_tokens=alias_tokens):
                table.append("joins", join)
        return table

    def _parse_derived_table_values(self, allow_value_synonym: bool = False) -> exp.Values | None:
        # sqlglot takes (VALUES ...) in one step, which leaves no room for a clause inside of the parentheses.
        if self._match_pair(TokenType.L_PAREN, TokenType.VALUES, advance=False) and self._clause_in_parentheses():
            return None
        return super()._parse_derived_table_values(allow_value_synonym)

    def _clause_in_parentheses(self) -> bool:
        depth = 0
        for index in range(self._index, len(self._tokens)):
            kind = self._tokens[index].token_type
            if kind is TokenType.MATCH_RECOGNIZE and depth == 1:
                return True
            depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
            if depth == 0:
                return False
        return False

    def _stand_in(self, table: exp.Expr | None, keyword: Token, alias_tokens: Collection[TokenType] | None) -> exp.Table:
        if not isinstance(table, exp.Table | exp.Subquery | exp.Values) or table.args.get("joins"):
            raise ParseError(
                "BAD_MATCH_INPUT",
                "MATCH_RECOGNIZE cannot stand over this.",
                text=self.sql,
                span=Span(keyword.start, keyword.end + 1),
                hint="Put it behind a table, VALUES or a query in parentheses: (SELECT ...) MATCH_RECOGNIZE (...).",
            )
        self._match(TokenType.L_PAREN)
        self._match(TokenType.R_PAREN)
        number = self.numbers[keyword.start]
        self.inputs[number] = table
        name = self.expression(exp.Identifier(this=f"{MATCH_PREFIX}{number}", quoted=False), keyword)
        alias = self._parse_table_alias(alias_tokens=alias_tokens or self.TABLE_ALIAS_TOKENS)
        return self.expression(
            exp.Table(this=name, alias=alias, pivots=self._parse_pivots(), sample=self._parse_table_sample()),
        )


class _StatementSpark(PlacedSpark):
    """Spark SQL with MATCH_RECOGNIZE."""

    Parser = _StatementParser


_DIALECT = _StatementSpark()


def _read(
    text: str, pieces: list[Piece], clause_texts: list[ClauseText], whole: Span
) -> tuple[exp.Expression, dict[int, exp.Expression]]:
    parser = _DIALECT.parser(error_level=ErrorLevel.IMMEDIATE)
    assert isinstance(parser, _StatementParser)
    parser.numbers = {clause.keyword.start: number for number, clause in enumerate(clause_texts)}
    parser.inputs = {}
    try:
        tokens = _DIALECT.tokenize(without_bodies(text, clause_texts))
        for token in tokens:
            if token.start in parser.numbers:
                token.token_type = TokenType.MATCH_RECOGNIZE
        while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
            tokens.pop()
        trees = parser.parse(tokens, text)
    except SqlglotError as error:
        raise misspelt_match_recognize(pieces, text) or _explained(error, text, whole, parser) from None
    if len(trees) != 1 or not isinstance(tree := trees[0], exp.Query | exp.Values) or not isinstance(tree, exp.Expression):
        raise ParseError(
            "NOT_A_QUERY",
            "The text is not a query.",
            text=text,
            span=whole,
            hint="Write SELECT ... FROM t MATCH_RECOGNIZE (...).",
        )
    _refuse_lost_clauses(clause_texts, parser.inputs, text)
    return tree, parser.inputs


def _explained(error: SqlglotError, text: str, whole: Span, parser: _StatementParser) -> ParseError:
    explained = explain_sql(error, text, whole, "BAD_QUERY", "the query")
    if explained.span is not None and explained.span.start in parser.numbers:
        return _not_behind_a_table(explained.span, text)
    return explained


def _refuse_lost_clauses(clause_texts: list[ClauseText], inputs: dict[int, exp.Expression], text: str) -> None:
    for number, clause in enumerate(clause_texts):
        if number not in inputs:
            raise _not_behind_a_table(clause.keyword, text)


def _not_behind_a_table(span: Span, text: str) -> ParseError:
    return ParseError(
        "BAD_MATCH_INPUT",
        "There is no table before MATCH_RECOGNIZE.",
        text=text,
        span=span,
        hint="Write it behind a table, as in FROM t MATCH_RECOGNIZE (...) AS m.",
    )


def _clauses(text: str, clause_texts: list[ClauseText], inputs: dict[int, exp.Expression]) -> list[MatchClause]:
    clauses: list[MatchClause] = []
    for number, clause in enumerate(clause_texts):
        source = inputs[number]
        body = text[clause.body.start : clause.body.end]
        names = [name for name in (source.alias_or_name,) if name]
        query = parse_match_recognize(body, clause.body.start, text, names)
        span = Span(clause.keyword.start, clause.body.end + 1)
        clauses.append(MatchClause(f"{MATCH_PREFIX}{number}", source, source.alias or None, query, span))
    return clauses
