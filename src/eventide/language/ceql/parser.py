"""CEQL: SELECT, FROM, WHERE, FILTER, PARTITION BY, WITHIN, CONSUME BY, GROUP BY, ORDER BY, LIMIT, SAMPLE, in this order.

Only SELECT and WHERE are needed; FILTER may come several times. Comments are `-- ...` and `/* ... */`, names with odd
characters go in backticks, keywords may be written in any case.

Patterns, from tight to loose:

* `T`, `stream>T`, parentheses;
* behind a pattern: `AS x` (binds to what stands directly before it: `T+ AS x` names the events of the loop), `+ * ? {n} {n,}
  {n,m}`, and `FILTER condition`, which reaches to the next `;`, `:`, `~>`, `)` or clause. The last FILTER outside of
  parentheses is the FILTER clause and concerns the whole pattern;
* `A ; B` any events may lie between, `A : B` none, `A ~> B` none that could have been taken (strategy *next*), and `NOT E`
  as a part of such a sequence;
* `AND`, then `OR`: `A ; B OR C` is `(A ; B) OR C`.

The spellings `~>`, `:+`, `~+`, `p:{2,3}`, `p~{2,3}`, `:AND` and `~AND` are ours: the sign before a quantifier or AND gives
its strategy (`:` strict, `~` next), so that every pattern of the model can be written as text.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import takewhile
from typing import Any

from lark import Lark, Token, Transformer

from eventide.errors import ParseError, Span, did_you_mean
from eventide.language.ceql.tokens import CLAUSES, prepare_tokens
from eventide.language.parts.columns import build_column
from eventide.language.parts.quantifiers import QUANTIFIERS, read_bounds
from eventide.language.parts.sequences import (
    build_absence,
    build_repeat,
    build_sequence,
    covering,
    finished,
    not_position,
    positive,
)
from eventide.language.parts.totals import parse_grouping, parse_ordering, parse_sample
from eventide.language.parts.windows import parse_whole_number
from eventide.language.parts.within import Within, parse_within
from eventide.language.reading.clauses import misspelt_clause
from eventide.language.reading.expressions import parse_condition
from eventide.language.reading.grammar import errors_in, run_grammar
from eventide.language.reading.parser_cache import load_grammar
from eventide.language.reading.tokens import bare_name, span_of, tokenize
from eventide.pattern.sequences import (
    Absence,
    Both,
    Consumption,
    Either,
    Event,
    Filtered,
    Grouping,
    Name,
    Named,
    Ordering,
    OutputItem,
    Pattern,
    Query,
    Repeat,
    Sample,
    Selector,
    Sequence,
    Strategy,
)

_SIGN = {"SEMICOLON": Strategy.ANY, "COLON": Strategy.STRICT, "ARROW": Strategy.NEXT}
_AND = {"AND": Strategy.ANY, "STRICT_AND": Strategy.STRICT, "NEXT_AND": Strategy.NEXT}
_PREFIX = {":": Strategy.STRICT, "~": Strategy.NEXT}


def parse_ceql(text: str) -> Query:
    """Read a CEQL query.

    >>> query = parse_ceql("SELECT * WHERE A AS a ; B+ AS b FILTER a.x < b.x WITHIN 100 events")
    >>> query.window.size
    100
    """
    tokens = tokenize(text)
    with errors_in(text, lambda: misspelt_clause(tokens, CLAUSES)):
        query: Query = run_grammar(_parser(), prepare_tokens(tokens, text), text)
        return finished(replace(query, text=text))


def loop_strategy(written: str) -> Strategy:
    """Return the strategy that the sign before a quantifier stands for.

    >>> loop_strategy("~+")
    <Strategy.NEXT: 'next'>
    """
    return _PREFIX.get(written[0], Strategy.ANY)


def _names(children: list[Any]) -> tuple[Name, ...]:
    return tuple(Name(bare_name(token), span_of(token)) for token in children if token.type in ("NAME", "QUOTED"))


class _Builder(Transformer[Token, Any]):
    """Builds the query from the grammar's reductions; clauses are pairs of a field of Query and its value."""

    def start(self, children: list[tuple[str, Any]]) -> Query:
        fields: dict[str, Any] = {}
        for field, value in children:
            if field == "filter":
                fields["pattern"] = Filtered(fields["pattern"], value, span=value.span)
            elif field == "select":
                fields["selector"], fields["output"] = value
            elif field == "within":
                fields["window"], fields["step_window"] = value.window, value.step_window
            else:
                fields[field] = value
        return Query(language="ceql", **fields)

    def select(self, children: list[Any]) -> tuple[str, tuple[Selector, tuple[OutputItem, ...] | None]]:
        selector = Selector.ALL
        for child in children:
            if isinstance(child, Token) and child.type == "SELECTOR":
                word = child.value.upper()
                selector = Selector.NEXT if word == "NXT" else Selector[word]
        items = tuple(child for child in children if isinstance(child, OutputItem))
        return "select", (selector, items or None)

    def item(self, children: list[Token]) -> OutputItem:
        return build_column(children)

    def streams(self, children: list[Token]) -> tuple[str, tuple[Name, ...]]:
        return "streams", _names(children)

    def where(self, children: list[Any]) -> tuple[str, Pattern]:
        pattern = children[1]
        if isinstance(pattern, Absence):
            raise not_position(pattern, "A pattern needs an event that occurs.", "Add a part, as in A ; NOT B ; C.")
        return "pattern", pattern

    def filter(self, children: list[Token]) -> tuple[str, Any]:
        return "filter", parse_condition(children[1].value, children[1].start_pos or 0)

    def partition_by(self, children: list[Token]) -> tuple[str, tuple[Name, ...]]:
        return "partition_by", _names(children)

    def within(self, children: list[Token]) -> tuple[str, Within]:
        return "within", parse_within(children[1].value, children[1].start_pos or 0)

    def consume_by(self, children: list[Token]) -> tuple[str, Consumption]:
        word = children[1].value.upper()
        known = [consumption.name for consumption in Consumption]
        if word not in known:
            raise ParseError(
                "UNEXPECTED_TOKEN",
                f"CONSUME BY does not know {children[1].value}.",
                span=span_of(children[1]),
                hint=did_you_mean(word, known),
            )
        return "consumption", Consumption[word]

    def limit(self, children: list[Token]) -> tuple[str, int]:
        return "limit", parse_whole_number(children[1], "BAD_LIMIT", "LIMIT", "Write LIMIT 10.")

    def group_by(self, children: list[Token]) -> tuple[str, Grouping]:
        return "group_by", parse_grouping(children[1].value, children[1].start_pos or 0)

    def order_by(self, children: list[Token]) -> tuple[str, Ordering]:
        return "order_by", parse_ordering(children[1].value, children[1].start_pos or 0)

    def sample(self, children: list[Token]) -> tuple[str, Sample]:
        return "sample", parse_sample(children[1].value, children[1].start_pos or 0)

    def disjunction(self, children: list[Any]) -> Either:
        parts = tuple(positive(child) for child in children if not isinstance(child, Token))
        return Either(parts, span=covering(parts[0], parts[-1]))

    def conjunction(self, children: list[Any]) -> Both:
        parts = [positive(children[0])]
        strategy = _AND[children[1].type]
        for sign, child in zip(children[1::2], children[2::2], strict=True):
            if _AND[sign.type] is not strategy:
                parts = [Both(tuple(parts), strategy, span=covering(parts[0], parts[-1]))]
                strategy = _AND[sign.type]
            parts.append(positive(child))
        return Both(tuple(parts), strategy, span=covering(parts[0], parts[-1]))

    def sequence(self, children: list[Any]) -> Sequence:
        elements, signs = children[::2], children[1::2]
        for edge in (zip(elements, signs, strict=False), zip(reversed(elements), reversed(signs), strict=False)):
            for element, sign in takewhile(lambda pair: isinstance(pair[0], Absence), edge):
                if sign.type != "SEMICOLON":
                    raise not_position(
                        element,
                        "NOT at the edge of a pattern concerns the whole window.",
                        "Use ; between NOT and its neighbour.",
                    )
        return build_sequence(elements, [_SIGN[sign.type] for sign in signs])

    def absence(self, children: list[Any]) -> Absence:
        sign, pattern = children
        end = pattern.span.end if pattern.span else sign.end_pos
        return build_absence(pattern, Span(sign.start_pos, end))

    def named(self, children: list[Any]) -> Named:
        pattern, _, name = children
        return Named(positive(pattern), bare_name(name), span=_span(pattern, name))

    def filtered(self, children: list[Any]) -> Filtered:
        pattern, _, condition = children
        expression = parse_condition(condition.value, condition.start_pos or 0)
        return Filtered(positive(pattern), expression, span=_span(pattern, condition))

    def repeated(self, children: list[Any]) -> Repeat:
        pattern, quantifier = children
        minimum, maximum = QUANTIFIERS[quantifier.value[-1]]
        return build_repeat(positive(pattern), minimum, maximum, loop_strategy(quantifier.value), _span(pattern, quantifier))

    def counted(self, children: list[Any]) -> Repeat:
        pattern, opening, *numbers, closing = children
        minimum, maximum = read_bounds(numbers)
        repeat = build_repeat(positive(pattern), minimum, maximum, loop_strategy(opening.value), span_of(opening, closing))
        return replace(repeat, span=_span(pattern, closing))

    def event(self, children: list[Token]) -> Event:
        stream = bare_name(children[0]) if len(children) > 1 else None
        return Event(bare_name(children[-1]), stream, span=span_of(children[0], children[-1]))

    def group(self, children: list[Any]) -> Pattern | Absence:
        inner: Pattern | Absence = children[1]
        return inner


def _span(pattern: Pattern | Absence, last: Token) -> Span:
    return Span(pattern.span.start if pattern.span else 0, last.end_pos or 0)


@cache
def _parser() -> Lark:
    # Not at import: workers that run plans read no query.
    return load_grammar("ceql/ceql.lark", _Builder())
