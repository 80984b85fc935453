"""SASE: PATTERN SEQ(...), WHERE, WITHIN with SLIDE, RETURN, GROUP BY.

Components are `Type variable`, `Type+ variable[]` (also `*`, `?`, `{n,m}`), `!Type variable`, and SEQ, AND, OR of components.
The variable defaults to the type. Conditions are joined by AND; `[attribute]` asks for one value in all events. A strategy
wraps the conditions: `WHERE skip_till_next_match(a, b[]) { ... }`. Without RETURN all variables are returned.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from lark import Lark, Token, Transformer

from eventide.errors import ParseError, Span, did_you_mean
from eventide.language.parts.absences import negated_variable, with_absence_conditions
from eventide.language.parts.columns import build_column
from eventide.language.parts.quantifiers import QUANTIFIERS, read_bounds
from eventide.language.parts.sequences import build_absence, build_repeat, build_sequence, finished, not_position
from eventide.language.parts.totals import parse_grouping
from eventide.language.parts.within import Within, parse_within
from eventide.language.reading.clauses import misspelt_clause
from eventide.language.reading.expressions import parse_condition
from eventide.language.reading.grammar import errors_in, run_grammar
from eventide.language.reading.parser_cache import load_grammar
from eventide.language.reading.tokens import bare_name, span_of, tokenize
from eventide.language.sase.equality import equality_conditions
from eventide.language.sase.tokens import CLAUSES, STRATEGIES, equality_attributes, prepare_tokens
from eventide.pattern.expressions import conjunction
from eventide.pattern.sequences import (
    Absence,
    Both,
    Either,
    Event,
    Expression,
    Filtered,
    Gap,
    Grouping,
    Name,
    Named,
    OutputItem,
    Pattern,
    Query,
    Repeat,
    Sequence,
    Strategy,
    absences,
    positive_variables,
    walk,
)
from eventide.records import record


@record
class _Where:
    """What a WHERE clause says."""

    strategy: str = "skip_till_any_match"
    attributes: tuple[Token, ...] = ()
    conditions: tuple[Expression, ...] = ()
    variables: tuple[Token, ...] = ()


@record
class _Parsed:
    """A query before its strategy and its conditions were worked in."""

    pattern: Pattern
    where: _Where
    within: Within
    output: tuple[OutputItem, ...] | None
    group_by: Grouping | None


def parse_sase(text: str) -> Query:
    """Read a SASE query.

    >>> from eventide.pattern.sequence_printing import to_ceql
    >>> print(to_ceql(parse_sase("PATTERN SEQ(A a, B+ b[]) WHERE [id] AND a.x < b.x WITHIN 30 mins SLIDE 2 mins")))
    SELECT *
    WHERE A AS a ; B+ AS b
    FILTER a.id = b.id AND b.id = NEXT(b.id) AND a.x < b.x
    WITHIN 30 minutes SLIDE 2 minutes
    """
    tokens = tokenize(text)
    with errors_in(text, lambda: misspelt_clause(tokens, CLAUSES)):
        parsed: _Parsed = run_grammar(_parser(), prepare_tokens(tokens, text), text)
        _check_variables(parsed)
        return finished(_query(parsed, text))


def _query(parsed: _Parsed, text: str) -> Query:
    where = parsed.where
    pattern = _with_strategy(parsed.pattern, STRATEGIES[where.strategy])
    partitioned = where.strategy == "partition_contiguity"
    conditions: list[Expression] = []
    if not partitioned:
        for attribute in where.attributes:
            equal, absent = equality_conditions(pattern, attribute)
            conditions.extend(equal)
            pattern = with_absence_conditions(pattern, absent)
    conditions.extend(where.conditions)
    if conditions:
        pattern = Filtered(pattern, conjunction(conditions))
    partition_by = tuple(Name(bare_name(token), span_of(token)) for token in where.attributes) if partitioned else ()
    return Query(
        pattern=pattern,
        output=parsed.output,
        partition_by=partition_by,
        window=parsed.within.window,
        step_window=parsed.within.step_window,
        group_by=parsed.group_by,
        text=text,
        language="sase",
    )


def _with_strategy(pattern: Pattern, strategy: Strategy) -> Pattern:
    match pattern:
        case Sequence(parts=parts, gaps=gaps):
            inner = tuple(_with_strategy(part, strategy) for part in parts)
            return replace(pattern, parts=inner, gaps=tuple(Gap(strategy, gap.absences) for gap in gaps))
        case Both(parts=parts):
            return replace(pattern, parts=tuple(_with_strategy(part, strategy) for part in parts), strategy=strategy)
        case Either(parts=parts):
            return replace(pattern, parts=tuple(_with_strategy(part, strategy) for part in parts))
        case Repeat(pattern=repeated):
            return replace(pattern, pattern=_with_strategy(repeated, strategy), strategy=strategy)
        case Named(pattern=named) | Filtered(pattern=named):
            return replace(pattern, pattern=_with_strategy(named, strategy))
        case Event():
            return pattern


def _check_variables(parsed: _Parsed) -> None:
    """A variable names one component; the variables of a strategy are those of the pattern."""
    seen: dict[str, Span | None] = {}
    named = [(part.variable, part.span) for part in walk(parsed.pattern) if isinstance(part, Named)]
    named += [(absence.variable, absence.span) for absence in absences(parsed.pattern) if absence.variable is not None]
    for variable, span in sorted(named, key=lambda pair: pair[1].start if pair[1] else 0):
        if variable in seen:
            raise ParseError(
                "DUPLICATE_VARIABLE",
                f"Two components have the variable {variable}.",
                span=span,
                hint=f"Give one of them another name, such as {variable}2.",
            )
        seen[variable] = span
    known = positive_variables(parsed.pattern) | {negated_variable(absence) or "" for absence in absences(parsed.pattern)}
    for token in parsed.where.variables:
        if bare_name(token) not in known:
            raise ParseError(
                "UNKNOWN_VARIABLE",
                f"The pattern has no variable {bare_name(token)}.",
                span=span_of(token),
                hint=did_you_mean(bare_name(token), seen or known),
            )


class _Builder(Transformer[Token, Any]):
    """Builds the query from the grammar's reductions; a list of absences stands for AND(!B, !C)."""

    def start(self, children: list[Any]) -> _Parsed:
        component, *clauses = [child for child in children if not isinstance(child, Token)]
        where, within, output, group_by = _Where(), Within(), None, None
        for clause in clauses:
            match clause:
                case _Where():
                    where = clause
                case Within():
                    within = clause
                case Grouping():
                    group_by = clause
                case _:
                    output = clause or None
        return _Parsed(_part(component), where, within, output, group_by)

    def single(self, children: list[Any]) -> Pattern:
        kind = children[0]
        quantifier = next((child for child in children[1:] if isinstance(child, tuple)), None)
        variable = next((child for child in children[1:] if isinstance(child, list)), None)
        event = Event(bare_name(kind), span=span_of(kind))
        pattern: Pattern = event
        if quantifier is not None:
            minimum, maximum, place = quantifier
            pattern = build_repeat(event, minimum, maximum, span=place)
        if variable is None:
            return pattern
        if len(variable) > 1 and quantifier is None:
            raise ParseError(
                "UNEXPECTED_TOKEN",
                f"{kind.value} {variable[0].value}[] is not repeated.",
                span=span_of(variable[1], variable[-1]),
                hint=f"Write {kind.value}+ {variable[0].value}[] or {kind.value} {variable[0].value}.",
            )
        name = bare_name(variable[0])
        return Named(pattern, name, span=span_of(kind, variable[-1])) if name != event.type else pattern

    def quantifier(self, children: list[Token]) -> tuple[int, int | None, Span]:
        if children[0].type == "QUANTIFIER" and children[0].value in QUANTIFIERS:
            return *QUANTIFIERS[children[0].value], span_of(children[0])
        if children[0].value[0] in ":~":
            raise ParseError(
                "UNEXPECTED_TOKEN",
                f"{children[0].value} is CEQL.",
                span=span_of(children[0]),
                hint="In SASE the strategy stands in WHERE: strict_contiguity(a, b[]) { ... }.",
            )
        return *read_bounds(children[1:-1]), span_of(children[0], children[-1])

    def variable(self, children: list[Token]) -> list[Token]:
        return children

    def operation(self, children: list[Any]) -> Pattern | list[Absence]:
        operator, closing = children[0], children[-1]
        components = [child for child in children[1:] if not isinstance(child, Token)]
        span = span_of(operator, closing)
        if len(components) < 2:
            raise ParseError(
                "UNEXPECTED_TOKEN",
                f"{operator.value.upper()} takes two or more components.",
                span=span,
                hint="Write the component alone, as in PATTERN A a.",
            )
        match operator.value.upper():
            case "SEQ":
                return _sequence(components, span)
            case "AND" if all(isinstance(component, Absence | list) for component in components):
                return [absence for component in components for absence in _as_list(component)]
            case "AND":
                return Both(tuple(_part(component) for component in components), span=span)
            case _:
                return Either(tuple(_part(component) for component in components), span=span)

    def absence(self, children: list[Any]) -> Absence | list[Absence]:
        bang, component = children
        if isinstance(component, Absence | list):
            raise ParseError(
                "NOT_POSITION", "An event cannot be negated twice.", span=span_of(bang), hint="Write one ! before a type."
            )
        parts = component.parts if isinstance(component, Either) else (component,)
        found = [build_absence(part, Span(bang.start_pos, part.span.end) if part.span else None) for part in parts]
        return found if len(found) > 1 else found[0]

    def where(self, children: list[Token]) -> _Where:
        strategy = "skip_till_any_match"
        variables: list[Token] = []
        attributes: list[Token] = []
        conditions: list[Expression] = []
        for child in children[1:]:
            if child.type == "STRATEGY":
                strategy, variables = _read_strategy(child)
            elif child.type == "EQUALITY":
                attributes.extend(equality_attributes(child))
            elif child.type == "CONDITION":
                conditions.append(parse_condition(child.value, child.start_pos or 0))
        return _Where(strategy, tuple(attributes), tuple(conditions), tuple(variables))

    def within(self, children: list[Token]) -> Within:
        return parse_within(children[1].value, children[1].start_pos or 0)

    def group_by(self, children: list[Token]) -> Grouping:
        return parse_grouping(children[1].value, children[1].start_pos or 0)

    def item(self, children: list[Token]) -> OutputItem:
        return build_column(children)

    def output(self, children: list[Any]) -> tuple[OutputItem, ...]:
        items = tuple(child for child in children if isinstance(child, OutputItem))
        if len(items) == 1 and items[0].alias is None:
            tree = items[0].expression.tree
            if tree.key == "anonymous" and tree.this not in ("NEXT", "PREV"):
                raise ParseError(
                    "BAD_EXPRESSION",
                    f"RETURN lists columns; it does not build an event {tree.this}.",
                    span=items[0].span,
                    hint="Write the columns alone, as in RETURN a.id, b.price AS price.",
                )
        return items


def _sequence(components: list[Any], span: Span) -> Sequence:
    elements = [element for component in components for element in _as_list(component)]
    return replace(build_sequence(elements, [Strategy.ANY] * (len(elements) - 1)), span=span)


def _as_list(component: Any) -> list[Any]:
    return component if isinstance(component, list) else [component]


def _part(component: Any) -> Pattern:
    if isinstance(component, list | Absence):
        absence = component[0] if isinstance(component, list) else component
        raise not_position(absence, "! can only be used in a SEQ.", "Write SEQ(A a, !B b, C c).")
    pattern: Pattern = component
    return pattern


def _read_strategy(token: Token) -> tuple[str, list[Token]]:
    """Return the name of a strategy and the variables it lists, placed in the whole query."""
    offset = token.start_pos or 0
    name, *rest = tokenize(token.value)
    variables = [
        Token(part.type, part.value, start_pos=offset + (part.start_pos or 0), end_pos=offset + (part.end_pos or 0))
        for part in rest
        if part.type in ("NAME", "QUOTED")
    ]
    return name.value.lower(), variables


@cache
def _parser() -> Lark:
    # Not at import: workers that run plans read no query.
    return load_grammar("sase/sase.lark", _Builder())
