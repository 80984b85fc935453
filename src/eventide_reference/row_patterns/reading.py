"""What expressions of MEASURES and DEFINE read from the rows of a match (section 10)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from eventide.errors import BindError, did_you_mean
from eventide_reference.values import Value, aggregate, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

AGGREGATES = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows in order and the names of their columns."""

    rows: Sequence[Mapping[str, Any]]
    columns: Sequence[str]

    def spelling(self, name: str) -> str:
        """Return a column's name as the input spells it: the very name, or else one that differs in case alone.

        >>> Table([], ["Price", "x", "X"]).spelling("PRICE"), Table([], ["Price", "x", "X"]).spelling("X")
        ('Price', 'X')
        """
        if name in self.columns:
            return name
        alike = [column for column in self.columns if column.lower() == name.lower()]
        if len(alike) != 1:
            raise BindError("UNKNOWN_COLUMN", f"There is no column {name}.", hint=did_you_mean(name, self.columns))
        return alike[0]

    def value(self, position: int, column: str) -> Value:
        """Return the value of a column at a row."""
        return self.rows[position][self.spelling(column)]


@dataclass(frozen=True, slots=True)
class Sight:
    """A match, or the beginning of one, seen from its current row.

    `variables` are those of the rows from `start` on; running semantics sees the first `seen` of them. `members` holds the
    primary variables of each SUBSET variable.

    >>> import sqlglot
    >>> table = Table([{"x": 1}, {"x": 2}, {"x": 4}], ["x"])
    >>> sight = Sight(table, start=0, variables=("A", "B", "B"), seen=2, number=1, members={})
    >>> [sight.value(sqlglot.parse_one(text)) for text in ("x", "SUM(B.x)", "FINAL(SUM(B.x))", "NEXT(A.x, 2)", "CLASSIFIER()")]
    [2, 2, 6, 4, 'B']
    """

    table: Table
    start: int
    variables: tuple[str, ...]
    seen: int
    number: int
    members: Mapping[str, frozenset[str]]

    def value(self, tree: exp.Expr) -> Value:
        """Return the value of an expression at the current row."""
        # Decimals that are only handed on stay decimals; the evaluator makes them doubles.
        return self.read(tree) if _is_reading(tree) else value_of(tree, self.read)

    def read(self, node: exp.Expr) -> Value:
        """Return the value of a column, a navigation, an aggregate, CLASSIFIER or MATCH_NUMBER."""
        match function_name(node):
            case "MATCH_NUMBER":
                return self.number
            case "RUNNING":
                return self.read(node.expressions[0])
            case "FINAL":
                return self.final().read(node.expressions[0])
            case "COLUMN" | "CLASSIFIER":
                return self.at(self.last(node), node)
            case "FIRST" | "LAST" | "PREV" | "NEXT":
                return self.at(self.reached(node), innermost(node))
            case "AGGREGATE":
                return self.aggregated(node)
        raise NotImplementedError(f"the oracle does not evaluate {node.sql()}")

    def final(self) -> Sight:
        """Return the same match under final semantics: all its rows are seen."""
        return replace(self, seen=len(self.variables))

    def positions(self, variable: str | None) -> list[int]:
        """Return the rows of a variable that are seen; None stands for all variables."""
        return [self.start + place for place in range(self.seen) if self.belongs(self.variables[place], variable)]

    def belongs(self, primary: str, variable: str | None) -> bool:
        """Tell whether rows of a primary variable are rows of a variable."""
        return variable is None or primary in self.members.get(variable, {variable})

    def last(self, node: exp.Expr) -> int | None:
        """Return the last row of the variable that an expression reads, None when there is none."""
        return max(self.positions(variable_of(node)), default=None)

    def reached(self, node: exp.Expr) -> int | None:
        """Return the row that a navigation arrives at, None when there is none."""
        name = function_name(node)
        if name == "RUNNING":
            return self.reached(node.expressions[0])
        if name == "FINAL":
            return self.final().reached(node.expressions[0])
        if name not in {"FIRST", "LAST", "PREV", "NEXT"}:
            return self.last(node)
        inner, *rest = node.expressions
        if name in {"FIRST", "LAST"}:
            positions = self.positions(variable_of(inner))
            back = offset(rest, default=0)
            ordered = positions if name == "FIRST" else positions[::-1]
            return ordered[back] if back < len(ordered) else None
        from_here = self.reached(inner)
        if from_here is None:
            return None
        distance = offset(rest, default=1)
        target = from_here - distance if name == "PREV" else from_here + distance
        return target if 0 <= target < len(self.table.rows) else None

    def at(self, position: int | None, tree: exp.Expr) -> Value:
        """Return the value of an expression at one row, mapped or not; null when there is no row."""
        if position is None:
            return None

        def read(node: exp.Expr) -> Value:
            match function_name(node):
                case "COLUMN":
                    return self.table.value(position, node.name)
                case "CLASSIFIER":
                    place = position - self.start
                    mapped = self.variables[place] if 0 <= place < len(self.variables) else None
                    return mapped if mapped is not None and self.belongs(mapped, variable_of(node)) else None
                case "MATCH_NUMBER":
                    return self.number
            raise NotImplementedError(f"the oracle does not evaluate {node.sql()} inside a navigation or an aggregate")

        return read(tree) if _is_reading(tree) else value_of(tree, read)

    def aggregated(self, node: exp.Expr) -> Value:
        """Return the value of an aggregate over the rows of its variable."""
        argument = node.this
        positions = self.positions(variable_of(argument))
        if argument.is_star:
            return len(positions)
        values = [value for position in positions if (value := self.at(position, argument)) is not None]
        if values and all(isinstance(value, Decimal) for value in values):
            match node:
                case exp.Sum():
                    return sum(values, Decimal(0))
                case exp.Min():
                    return min(values)
                case exp.Max():
                    return max(values)
        return aggregate(type(node), values)


def function_name(node: exp.Expr) -> str | None:
    """Return what kind of reading a node is; None for everything else.

    >>> import sqlglot
    >>> [function_name(sqlglot.parse_one(text)) for text in ("A.x", "PREV(A.x)", "COUNT(*)", "ABS(A.x)")]
    ['COLUMN', 'PREV', 'AGGREGATE', None]
    """
    match node:
        case exp.Column():
            return "COLUMN"
        case exp.Anonymous():
            return str(node.this)
        case _ if isinstance(node, AGGREGATES):
            return "AGGREGATE"
    return None


def _is_reading(node: exp.Expr) -> bool:
    return function_name(node) is not None


def innermost(node: exp.Expr) -> exp.Expr:
    """Return the expression that nested navigation evaluates where it arrives.

    >>> last = exp.Anonymous(this="LAST", expressions=[exp.column("x", "A"), exp.Literal.number(2)])
    >>> innermost(exp.Anonymous(this="PREV", expressions=[last])).sql()
    'A.x'
    """
    while function_name(node) in {"FIRST", "LAST", "PREV", "NEXT", "RUNNING", "FINAL"}:
        node = node.expressions[0]
    return node


def offset(arguments: list[exp.Expr], *, default: int) -> int:
    """Return the number of rows that a navigation asks for.

    >>> offset([exp.Literal.number(2)], default=1), offset([], default=1)
    (2, 1)
    """
    return int(value_of(arguments[0], lambda _node: None)) if arguments else default


def variable_of(tree: exp.Expr) -> str | None:
    """Return the one variable that an expression reads, None when it reads all rows.

    >>> import sqlglot
    >>> [variable_of(sqlglot.parse_one(text)) for text in ("A.x * A.y", "x", "CLASSIFIER(A)", "A.*", "1")]
    ['A', None, 'A', 'A', None]
    """
    named = {
        call.expressions[0].name
        for call in tree.find_all(exp.Anonymous)
        if function_name(call) == "CLASSIFIER" and call.expressions
    }
    columns = {column.table or None for column in tree.find_all(exp.Column) if not _names_a_variable(column)}
    variables: set[str | None] = named | columns
    if len(variables) > 1:
        raise BindError("ONE_VARIABLE_NEEDED", f"{tree.sql()} must read exactly one variable.", hint="Write SUM(A.x * A.y).")
    return variables.pop() if variables else None


def _names_a_variable(column: exp.Column) -> bool:
    return column.parent is not None and function_name(column.parent) == "CLASSIFIER"
