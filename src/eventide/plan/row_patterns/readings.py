"""What MEASURES and DEFINE read of a match: navigations, classifiers, aggregates, the match number.

An expression is taken apart into its *readings* and the scalar rest, in which every reading is a column `__et_r0`, `__et_r1`, ...
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.errors import BindError, did_you_mean
from eventide.plan.expressions.references import span_of
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eventide.errors import Span
    from eventide.plan.expressions.schema import StreamSchema

MARK = "__et_r"
NAVIGATIONS = ("FIRST", "LAST", "PREV", "NEXT")
AGGREGATES: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}


_INSTEAD: dict[type[exp.Expr], str] = {
    exp.Lag: "Write PREV(x, 1).",
    exp.Lead: "Write NEXT(x, 1).",
    exp.FirstValue: "Write FIRST(x).",
    exp.LastValue: "Write LAST(x).",
}


@record
class Navigation:
    """A row of the match: the n-th of some variables (None: of all rows) from its first or last row, then moved by rows."""

    variables: frozenset[str] | None = None
    first: bool = False
    offset: int = 0
    shift: int = 0
    final: bool = False

    @property
    def current(self) -> bool:
        """Whether this is the row itself under running semantics, but for the shift."""
        return self.variables is None and not self.first and self.offset == 0 and not self.final


@record
class Cell:
    """The value of an expression over one row at a place; null when there is no such row."""

    place: Navigation
    sql: str
    tree: exp.Expression = field(compare=False, repr=False)


@record
class Classifier:
    """The name of the variable that the row at a place is mapped to, if that is one of `of`."""

    place: Navigation
    of: frozenset[str] | None


@record
class Total:
    """An aggregate over the rows of some variables; `sql` None counts rows."""

    function: str
    variables: frozenset[str] | None
    final: bool
    sql: str | None
    tree: exp.Expression | None = field(compare=False, repr=False, default=None)


@record
class MatchNumber:
    """MATCH_NUMBER()."""


Reading = Cell | Classifier | Total | MatchNumber


@record
class ReadExpression:
    """An expression taken apart. `rest` is the scalar part over `__et_r0`, ...; `readings[n]` is what `__et_rn` stands for."""

    rest: exp.Expression
    readings: tuple[Reading, ...]
    source: exp.Expression


def mark_number(node: exp.Expr) -> int | None:
    """Return the number of the reading that a node stands for, or None."""
    if isinstance(node, exp.Column) and node.name.startswith(MARK):
        return int(node.name.removeprefix(MARK))
    return None


@record
class Names:
    """What names mean in a clause: columns of the input, variables, subsets."""

    schema: StreamSchema
    variables: tuple[str, ...]
    subsets: Mapping[str, frozenset[str]]
    text: str | None

    def rows_of(self, name: str) -> frozenset[str]:
        """Return the primary variables that a variable or subset stands for."""
        return self.subsets[name] if name in self.subsets else frozenset((name,))

    def knows(self, name: str) -> bool:
        """Return whether a name is a variable or a subset."""
        return name in self.variables or name in self.subsets

    def error(self, condition: str, message: str, node: exp.Expr | None, hint: str, span: Span | None = None) -> BindError:
        """Return an error at the place of a node."""
        return BindError(
            condition, message, text=self.text, span=span or (None if node is None else span_of(node, with_calls=True)), hint=hint
        )


@record
class Reader:
    """Takes expressions apart.

    `defines` is the variable whose condition this is, None in MEASURES; `last_row` says that measures are read at the last row
    only, where running and final agree.
    """

    names: Names
    defines: str | None = None
    last_row: bool = False

    def take(self, tree: exp.Expression) -> ReadExpression:
        """Take one expression apart."""
        readings: dict[Reading, int] = {}
        rest = self._rest(exp.Paren(this=tree.copy()), readings).this
        return ReadExpression(rest, tuple(readings), tree)

    def _rest(self, node: exp.Expression, readings: dict[Reading, int]) -> exp.Expression:
        """Replace the readings inside a node by marks."""
        for child in list(node.iter_expressions()):
            reading = self._reading(child)
            if isinstance(reading, exp.Expression):
                child.replace(self._rest(exp.Paren(this=reading), readings))
            elif reading is not None:
                number = readings.setdefault(reading, len(readings))
                child.replace(exp.column(f"{MARK}{number}"))
            else:
                self._refuse(child)
                self._rest(child, readings)
        return node

    def _reading(self, node: exp.Expr) -> Reading | exp.Expression | None:
        """Return what a node reads, an expression of several readings, or None for a scalar operator."""
        if isinstance(node, _Ready):
            reading: Reading = node.meta["reading"]
            return reading
        final = False
        wrapped = _function(node) in ("RUNNING", "FINAL")
        if wrapped:
            final = _function(node) == "FINAL"
            if final and self.defines is not None:
                raise self.names.error(
                    "FINAL_IN_DEFINE",
                    "FINAL cannot be used in DEFINE: the match is not known yet.",
                    node,
                    "Leave FINAL out, or use it in MEASURES.",
                )
            node = _only_argument(node, self.names)
        if isinstance(node, exp.Column):
            return self._column(node, Navigation(final=self._final(final)))
        if _function(node) in NAVIGATIONS:
            return self._navigation(node, final=final)
        if _function(node) == "CLASSIFIER":
            of = self._classified(node)
            return Classifier(self._place(Navigation(of, final=self._final(final))), of)
        if _function(node) == "MATCH_NUMBER":
            if node.expressions:
                raise self.names.error("BAD_ARGUMENT", "MATCH_NUMBER takes no argument.", node, "Write MATCH_NUMBER().")
            return MatchNumber()
        if type(node) in AGGREGATES:
            return self._total(node, final=final)
        if wrapped:
            raise self.names.error(
                "BAD_ARGUMENT",
                "RUNNING and FINAL belong before FIRST, LAST, an aggregate or a column.",
                node,
                "Write FINAL LAST(A.price) or RUNNING SUM(A.price).",
            )
        return None

    def _final(self, final: bool) -> bool:
        return final or self.last_row

    def _place(self, place: Navigation) -> Navigation:
        """Return the one form of a place: in the condition of A, the last row of A is the current row."""
        last = self.defines is not None and not place.first and place.offset == 0
        if last and (place.variables is None or self.defines in place.variables):
            return replace(place, variables=None)
        return place

    def _column(self, node: exp.Column, place: Navigation) -> Cell:
        variables, tree = self._resolved(node)
        place = self._place(replace(place, variables=variables))
        return Cell(place, tree.sql(dialect="spark"), tree)

    def _resolved(self, node: exp.Column) -> tuple[frozenset[str] | None, exp.Expression]:
        """Return the variables a column reference reads and the expression over one row it means."""
        parts = [part.name for part in node.parts]
        variables = None
        if len(parts) > 1 and self.names.knows(parts[0]):
            variables = self.names.rows_of(parts[0])
            parts = parts[1:]
        if isinstance(node.this, exp.Star):
            shown = node.sql(dialect="spark")
            raise self.names.error("BAD_ARGUMENT", f"{shown} can only be counted.", node, f"Write COUNT({shown}).")
        column = self.names.schema.resolve(parts[0])
        if column is None:
            raise self._unknown(node, parts)
        tree: exp.Expression = exp.column(exp.to_identifier(column, quoted=True))
        for field_name in parts[1:]:
            tree = exp.Dot(this=tree, expression=exp.to_identifier(field_name, quoted=True))
        for identifier, original in zip(tree.find_all(exp.Identifier), node.find_all(exp.Identifier), strict=False):
            identifier.meta.update(original.meta)
        return variables, tree

    def _unknown(self, node: exp.Column, parts: list[str]) -> BindError:
        if self.names.knows(parts[0]):
            return self.names.error(
                "VARIABLE_WITHOUT_COLUMN",
                f"{parts[0]} is a pattern variable; its rows have columns.",
                node,
                f"Write a column of it, such as {parts[0]}.{next(iter(self.names.schema.columns), 'x')}, or COUNT({parts[0]}.*).",
            )
        if len(parts) > 1:
            hint = did_you_mean(parts[0], [*self.names.variables, *self.names.subsets])
            if not hint.startswith("Did"):
                hint += " The name of the table is not known inside the clause."
            return self.names.error("UNKNOWN_VARIABLE", f"The pattern has no variable {parts[0]}.", node, hint)
        return self.names.error(
            "UNKNOWN_COLUMN",
            f"The input has no column {parts[0]}.",
            node,
            did_you_mean(parts[0], self.names.schema.columns),
        )

    def _navigation(self, node: exp.Expr, *, final: bool) -> Reading | exp.Expression:
        name = _function(node)
        argument, offset = self._arguments(node)
        if name in ("FIRST", "LAST"):
            place = Navigation(first=name == "FIRST", offset=offset, final=self._final(final))
            return self._at(argument, place, node)
        shift = -offset if name == "PREV" else offset
        inner_final = final
        if _function(argument) in ("RUNNING", "FINAL"):
            inner_final = _function(argument) == "FINAL"
            argument = _only_argument(argument, self.names)
        if _function(argument) in ("FIRST", "LAST"):
            inner, inner_offset = self._arguments(argument)
            place = Navigation(
                first=_function(argument) == "FIRST", offset=inner_offset, shift=shift, final=self._final(inner_final)
            )
            return self._at(inner, place, node)
        return self._at(argument, Navigation(shift=shift, final=self._final(inner_final)), node)

    def _arguments(self, node: exp.Expr) -> tuple[exp.Expression, int]:
        name = _function(node)
        default = 0 if name in ("FIRST", "LAST") else 1
        if not 1 <= len(node.expressions) <= 2:
            raise self.names.error("BAD_ARGUMENT", f"{name} takes a value and an offset.", node, f"Write {name}(A.x, 1).")
        if len(node.expressions) == 1:
            return node.expressions[0], default
        offset = node.expressions[1]
        if not isinstance(offset, exp.Literal) or offset.is_string or not str(offset.this).isdigit() or len(offset.this) > 9:
            raise self.names.error(
                "BAD_OFFSET", f"The offset of {name} is a whole number that is not negative.", node, f"Write {name}(A.x, 2)."
            )
        return node.expressions[0], int(offset.this)

    def _at(self, argument: exp.Expression, place: Navigation, node: exp.Expr) -> Reading | exp.Expression:
        """Return what an expression over one row gives at a place."""
        variables = self._one_variable(argument, node)
        place = self._place(replace(place, variables=variables))
        if _function(argument) == "CLASSIFIER":
            return Classifier(place, self._classified(argument))
        if any(_function(part) in ("CLASSIFIER", "MATCH_NUMBER") for part in argument.walk()):
            return self._spread(argument, place)
        tree = self._over_one_row(argument)
        return Cell(place, tree.sql(dialect="spark"), tree)

    def _one_variable(self, argument: exp.Expression, node: exp.Expr) -> frozenset[str] | None:
        """Return the variables that all parts of an argument read."""
        found: dict[frozenset[str] | None, None] = {}
        for part in argument.walk(prune=lambda inner: _function(inner) == "CLASSIFIER"):
            self._refuse(part)
            if _function(part) in (*NAVIGATIONS, "RUNNING", "FINAL") or type(part) in AGGREGATES:
                rule = "Only PREV and NEXT take a FIRST or LAST, and nothing beside it: PREV(FIRST(A.x)) + 1."
                if type(node) in AGGREGATES:
                    rule = f"An aggregate reads columns: {_name(node)}(A.x)."
                raise self.names.error(
                    "NESTED_NAVIGATION",
                    f"{_function(part) or AGGREGATES[type(part)].upper()} cannot be used inside {_name(node)}.",
                    part,
                    rule,
                )
            if isinstance(part, exp.Column) and not isinstance(part.this, exp.Star):
                found.setdefault(self._resolved(part)[0])
            elif _function(part) == "CLASSIFIER" and part.expressions:
                found.setdefault(self._classified(part))
        if len(found) > 1:
            aggregate = type(node) in AGGREGATES
            raise self.names.error(
                "MATCH_RECOGNIZE_AGGREGATE_MIXED_QUALIFIERS" if aggregate else "SEVERAL_VARIABLES",
                f"The argument of {_name(node)} reads the rows of several variables.",
                node,
                "Give all its columns the same variable, or split it into several calls.",
            )
        return next(iter(found), None)

    def _over_one_row(self, argument: exp.Expression) -> exp.Expression:
        holder = exp.Paren(this=argument.copy())
        for column in list(holder.find_all(exp.Column)):
            column.replace(self._resolved(column)[1])
        tree = holder.this
        assert isinstance(tree, exp.Expression)
        return tree

    def _spread(self, argument: exp.Expression, place: Navigation) -> exp.Expression:
        """Return an argument that mixes columns with CLASSIFIER or MATCH_NUMBER, each part navigated by itself."""
        holder = exp.Paren(this=argument.copy())
        for part in list(holder.walk(bfs=False)):
            if isinstance(part, exp.Column):
                tree = self._resolved(part)[1]
                part.replace(_ready(Cell(place, tree.sql(dialect="spark"), tree)))
            elif _function(part) == "CLASSIFIER":
                part.replace(_ready(Classifier(place, self._classified(part))))
        there = exp.true()
        exists = _ready(Cell(place, "TRUE", there))
        return exp.Case(ifs=[exp.If(this=exists, true=holder)])

    def _classified(self, node: exp.Expr) -> frozenset[str] | None:
        """Return the variables that the argument of CLASSIFIER names; None when there is no argument."""
        if not node.expressions:
            return None
        argument = node.expressions[0]
        if len(node.expressions) > 1 or not isinstance(argument, exp.Column) or not self.names.knows(argument.name):
            raise self.names.error(
                "BAD_ARGUMENT",
                "CLASSIFIER takes nothing, or a pattern variable.",
                node,
                did_you_mean(argument.name, [*self.names.variables, *self.names.subsets]),
            )
        return self.names.rows_of(argument.name)

    def _total(self, node: exp.Expr, *, final: bool) -> Total:
        name = AGGREGATES[type(node)]
        argument = node.this
        plain = not any(value for key, value in node.args.items() if key not in ("this", "big_int"))
        if isinstance(argument, exp.Distinct):
            raise self.names.error(
                "MATCH_RECOGNIZE_AGGREGATE_DISTINCT",
                f"{name.upper()} over the rows of a match takes no DISTINCT.",
                node,
                "Leave DISTINCT out, or use ALL ROWS PER MATCH and aggregate the result by MATCH_NUMBER().",
            )
        if not plain or argument is None:
            raise self.names.error(
                "UNSUPPORTED_AGGREGATE", f"{name.upper()} takes one argument here.", node, f"Write {name.upper()}(A.x)."
            )
        final = self._final(final)
        if isinstance(argument, exp.Star):
            return Total("count", None, final, None)
        if isinstance(argument, exp.Column) and isinstance(argument.this, exp.Star):
            if name != "count" or not self.names.knows(argument.table):
                raise self.names.error(
                    "UNKNOWN_VARIABLE",
                    f"The pattern has no variable {argument.table}.",
                    node,
                    did_you_mean(argument.table, [*self.names.variables, *self.names.subsets]),
                )
            return Total("count", self.names.rows_of(argument.table), final, None)
        variables = self._one_variable(argument, node)
        if any(_function(part) in ("CLASSIFIER", "MATCH_NUMBER") for part in argument.walk()):
            raise self.names.error(
                "UNSUPPORTED_AGGREGATE",
                f"{name.upper()} cannot read CLASSIFIER or MATCH_NUMBER.",
                node,
                "Count the rows of a variable with COUNT(A.*).",
            )
        tree = self._over_one_row(argument)
        return Total(name, variables, final, tree.sql(dialect="spark"), tree)

    def _refuse(self, node: exp.Expr) -> None:
        if isinstance(node, exp.Query | exp.Window):
            raise self.names.error(
                "UNSUPPORTED_EXPRESSION",
                "Sub-queries and window functions cannot be used in MEASURES or DEFINE.",
                node,
                "Compute the value in the input of MATCH_RECOGNIZE, or around it.",
            )
        if isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
            raise self.names.error(
                "BAD_ARGUMENT",
                "FIRST and LAST take the first and the last row, also where its value is null.",
                node,
                f"Write {node.this.sql(dialect='spark')}, or keep nulls out of the variable by its condition.",
            )
        if self.defines is not None and (isinstance(node, exp.Rand | exp.Randn | exp.Uuid) or _unsteady(node)):
            raise self.names.error(
                "MATCH_RECOGNIZE_NONDETERMINISTIC_DEFINE",
                f"{node.sql(dialect='spark')} has another value each time, so a match would have no meaning.",
                node,
                "Compute it as a column of the input.",
            )
        if isinstance(node, exp.UDTF | exp.Explode):
            raise self.names.error(
                "UNSUPPORTED_EXPRESSION",
                f"{node.sql(dialect='spark')} makes several rows.",
                node,
                "Put it into the input of MATCH_RECOGNIZE, or around it.",
            )
        if isinstance(node, exp.AggFunc) and type(node) not in AGGREGATES:
            raise self.names.error(
                "UNSUPPORTED_AGGREGATE",
                f"{node.sql(dialect='spark')} is not a function that row patterns know.",
                node,
                _INSTEAD.get(type(node), "Use COUNT, SUM, AVG, MIN or MAX, or FIRST, LAST, PREV and NEXT."),
            )


class _Ready(exp.Expression):
    """A reading inside a tree that is still taken apart."""


def _ready(reading: Reading) -> _Ready:
    node = _Ready()
    node.meta["reading"] = reading
    return node


def _function(node: exp.Expr) -> str:
    return str(node.this) if isinstance(node, exp.Anonymous) else ""


def _unsteady(node: exp.Expr) -> bool:
    names = ("RANDOM", "UUID", "SHUFFLE", "MONOTONICALLY_INCREASING_ID", "SPARK_PARTITION_ID", "RANDSTR", "UNIFORM")
    return isinstance(node, exp.Anonymous) and str(node.this).upper() in names


def _name(node: exp.Expr) -> str:
    return _function(node) or AGGREGATES[type(node)].upper()


def _only_argument(node: exp.Expr, names: Names) -> exp.Expression:
    if len(node.expressions) != 1:
        raise names.error(
            "BAD_ARGUMENT", f"{_function(node)} stands before one call.", node, f"Write {_function(node)} LAST(A.x)."
        )
    argument = node.expressions[0]
    assert isinstance(argument, exp.Expression)
    return argument
