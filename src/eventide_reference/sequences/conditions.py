"""Conditions over the events of a match: their instances, and when an instance is determined (section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, cast

from sqlglot import exp

from eventide.errors import BindError
from eventide_reference.values import Value, aggregate, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eventide.pattern import Expression

Row = dict[str, Any]
Bindings = dict[str, tuple[int, ...]]
"""The positions that each variable binds, in increasing order."""

NEIGHBOURS = ("NEXT", "PREV")
AGGREGATES = (exp.Sum, exp.Avg, exp.Min, exp.Max)


@dataclass(frozen=True, slots=True)
class Reading:
    """One place of an expression that reads events: `kind` is BARE, NEXT, PREV, FIRST, LAST, COUNT, AGGREGATE or SUPPORT."""

    kind: str
    variable: str


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """One part of a condition between top-level ANDs."""

    tree: exp.Expr
    readings: frozenset[Reading]

    @property
    def focused(self) -> tuple[str, ...]:
        """The variables that range over their events one by one: those read bare or by NEXT or PREV."""
        return tuple(sorted({reading.variable for reading in self.readings if reading.kind in {"BARE", *NEIGHBOURS}}))

    @property
    def variables(self) -> frozenset[str]:
        """All variables that are mentioned."""
        return frozenset(reading.variable for reading in self.readings if reading.kind != "SUPPORT")

    @property
    def reads_one_event(self) -> bool:
        """Whether an instance looks at no more than one event."""
        return len(self.variables) <= 1 and all(reading.kind == "BARE" for reading in self.readings)


def conjuncts(expression: Expression, *, default: str | None = None) -> tuple[Condition, ...]:
    """Cut a condition at its top-level ANDs; attributes without a variable belong to `default`.

    >>> import sqlglot
    >>> from eventide.pattern import Expression
    >>> text = "(a.x < b.x AND b.x < NEXT(b.x)) AND COUNT(b) > 2"
    >>> [condition.focused for condition in conjuncts(Expression(text, sqlglot.parse_one(text, dialect="spark")))]
    [('a', 'b'), ('b',), ()]
    """
    return tuple(Condition(tree, frozenset(readings(tree))) for tree in _cut(_qualified(expression.tree, default)))


def _cut(tree: exp.Expr) -> Iterator[exp.Expr]:
    core = tree.unnest()
    if isinstance(core, exp.And):
        yield from _cut(core.this)
        yield from _cut(core.expression)
    else:
        yield core


def _qualified(tree: exp.Expr, default: str | None) -> exp.Expr:
    if default is None:
        return tree

    def qualify(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not node.table and not isinstance(node.parent, exp.Count):
            return exp.column(node.name, table=default)
        return node

    return tree.copy().transform(qualify)


def function_name(node: exp.Expr) -> str | None:
    """Return the name of a function that reads bound events, None for everything else.

    >>> import sqlglot
    >>> function_name(sqlglot.parse_one("NEXT(b.x)")), function_name(sqlglot.parse_one("ABS(b.x)"))
    ('NEXT', None)
    """
    if isinstance(node, exp.Anonymous) and str(node.this).upper() in NEIGHBOURS:
        return str(node.this).upper()
    if isinstance(node, exp.First):
        return "FIRST"
    if isinstance(node, exp.Last):
        return "LAST"
    if isinstance(node, exp.Count):
        return "COUNT"
    return "AGGREGATE" if isinstance(node, AGGREGATES) else None


def argument(node: exp.Expr) -> exp.Expr:
    """Return the argument of a function that reads bound events.

    >>> import sqlglot
    >>> argument(sqlglot.parse_one("NEXT(b.x)")).sql()
    'b.x'
    """
    return cast("exp.Expr", node.expressions[0] if isinstance(node, exp.Anonymous) else node.this)


def readings(tree: exp.Expr) -> Iterator[Reading]:
    """Yield every place of an expression that reads events.

    >>> import sqlglot
    >>> [(reading.kind, reading.variable) for reading in readings(sqlglot.parse_one("a.x + SUM(b.y)"))]
    [('BARE', 'a'), ('AGGREGATE', 'b')]
    """
    name = function_name(tree)
    if name is not None:
        if isinstance(argument(tree), exp.Star):
            yield Reading("SUPPORT", "*")
        else:
            yield Reading(name, argument_variable(tree))
    elif isinstance(tree, exp.Column):
        if not tree.table:
            raise BindError(
                "UNQUALIFIED_ATTRIBUTE", f"{tree.name} does not say of which variable it is.", hint=f"Write x.{tree.name}."
            )
        yield Reading("BARE", tree.table)
    else:
        for child in tree.iter_expressions():
            yield from readings(child)


def argument_variable(node: exp.Expr) -> str:
    """Return the one variable that a function over bound events reads.

    >>> import sqlglot
    >>> argument_variable(sqlglot.parse_one("SUM(b.x * b.y)")), argument_variable(sqlglot.parse_one("COUNT(b)"))
    ('b', 'b')
    """
    names = {column.table or column.name for column in argument(node).find_all(exp.Column)}
    if len(names) != 1:
        raise BindError("ONE_VARIABLE_NEEDED", f"{node.sql()} must read exactly one variable.", hint="Write SUM(x.a).")
    return names.pop()


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Where an expression reads its events: the rows, what each variable binds and the event each focused variable is at."""

    rows: list[Row]
    bindings: Bindings
    support: tuple[int, ...]
    focus: Mapping[str, int]

    def value(self, tree: exp.Expr) -> Value:
        """Return the value of an expression whose NEXT and PREV have an event to read."""
        return value_of(tree, self.read)

    def read(self, node: exp.Expr) -> Value:
        """Return the value of a column, or of a function over bound events."""
        if isinstance(node, exp.Column):
            return self.rows[self.focus[node.table]].get(node.name)
        name = function_name(node)
        if name is None:
            raise NotImplementedError(f"the oracle does not evaluate {node.sql()}")
        inner = argument(node)
        if isinstance(inner, exp.Star):
            return len(self.support)
        variable = argument_variable(node)
        if name in NEIGHBOURS:
            neighbour = self.neighbour(name, variable)
            if neighbour is None:
                raise LookupError(f"{node.sql()} of a vacuous instance is never read")
            return self.at(neighbour, variable).value(inner)
        positions = self.seen(variable)
        if isinstance(inner, exp.Column) and not inner.table:
            return len(positions)
        values = [self.at(position, variable).value(inner) for position in positions]
        if name == "FIRST":
            return values[0] if values else None
        if name == "LAST":
            return values[-1] if values else None
        return aggregate(type(node), values)

    def seen(self, variable: str) -> tuple[int, ...]:
        """Return the events that FIRST, LAST and aggregates read: those before the one in focus, or all."""
        positions = self.bindings[variable]
        if variable in self.focus:
            return tuple(position for position in positions if position < self.focus[variable])
        return positions

    def is_vacuous(self, readings: frozenset[Reading]) -> bool:
        """Tell whether an event is asked for that is not there: a neighbour, or any event before the one in focus."""
        for reading in readings:
            if reading.kind in NEIGHBOURS and self.neighbour(reading.kind, reading.variable) is None:
                return True
            if (
                reading.kind in {"FIRST", "LAST", "AGGREGATE"}
                and reading.variable in self.focus
                and not self.seen(reading.variable)
            ):
                return True
        return False

    def neighbour(self, name: str, variable: str) -> int | None:
        """Return the position of the next or previous event of the variable, None when there is none."""
        here = self.focus[variable]
        if name == "NEXT":
            return min((position for position in self.bindings[variable] if position > here), default=None)
        return max((position for position in self.bindings[variable] if position < here), default=None)

    def at(self, position: int, variable: str) -> Evaluation:
        """Return the evaluation of an argument at one event of its variable."""
        return Evaluation(self.rows, self.bindings, self.support, {variable: position})


def instances(condition: Condition, rows: list[Row], bindings: Bindings, support: tuple[int, ...]) -> Iterator[Evaluation]:
    """Yield one evaluation for each combination of events of the focused variables.

    >>> import sqlglot
    >>> from eventide.pattern import Expression
    >>> [condition] = conjuncts(Expression("a.x < b.x", sqlglot.parse_one("a.x < b.x")))
    >>> len(list(instances(condition, [{"x": 1}, {"x": 2}, {"x": 3}], {"a": (0,), "b": (1, 2)}, (0, 1, 2))))
    2
    """
    for events in product(*(bindings[variable] for variable in condition.focused)):
        yield Evaluation(rows, bindings, support, dict(zip(condition.focused, events, strict=True)))


def holds(condition: Condition, instance: Evaluation) -> bool:
    """Tell whether an instance is true or vacuous; null is not true.

    >>> import sqlglot
    >>> from eventide.pattern import Expression
    >>> [condition] = conjuncts(Expression("a.x < PREV(a.x)", sqlglot.parse_one("a.x < PREV(a.x)")))
    >>> first, second = instances(condition, [{"x": 1}, {"x": 2}], {"a": (0, 1)}, (0, 1))
    >>> holds(condition, first), holds(condition, second)
    (True, False)
    """
    return instance.is_vacuous(condition.readings) or instance.value(condition.tree) is True


def is_determined(condition: Condition, instance: Evaluation, is_closed: Callable[[str], bool]) -> bool:
    """Tell whether no later step can change an instance; `is_closed` says it of a variable's events ("*": of all).

    >>> import sqlglot
    >>> from eventide.pattern import Expression
    >>> [condition] = conjuncts(Expression("a.x < NEXT(a.x)", sqlglot.parse_one("a.x < NEXT(a.x)")))
    >>> first, second = instances(condition, [{"x": 1}, {"x": 2}], {"a": (0, 1)}, (0, 1))
    >>> [is_determined(condition, instance, lambda variable: False) for instance in (first, second)]
    [True, False]
    """
    for reading in condition.readings:
        if reading.kind == "NEXT" and instance.neighbour("NEXT", reading.variable) is None:
            return False
        if reading.kind == "SUPPORT" and not is_closed("*"):
            return False
        if reading.variable not in instance.focus:
            if reading.kind == "FIRST" and not instance.bindings[reading.variable]:
                return False
            if reading.kind in {"LAST", "COUNT", "AGGREGATE"} and not is_closed(reading.variable):
                return False
    return True
