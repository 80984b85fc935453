"""What a query returns: fields that the match stage fills, and expressions over them that the relational engine finishes."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.errors import BindError, did_you_mean
from eventide.plan.expressions.columns import check_kinds, single_event
from eventide.plan.expressions.references import ALL_EVENTS, Reference, function_kind, only_bare, references, span_of
from eventide.plan.expressions.schema import STREAM_COLUMN, TIE_COLUMN, Kind
from eventide.plan.sequences.structure import followers, repeatable
from eventide.records import record

if TYPE_CHECKING:
    from eventide.pattern import OutputItem, Query
    from eventide.plan.expressions.schema import StreamSchema
    from eventide.plan.sequences.binding import BoundPattern

TIME_COLUMN = "__et_time"
"""The event time as the user gave it, under one name for all streams."""
MATCH_START = "match_start"
MATCH_END = "match_end"
MATCH_ID = "match_id"


class FieldKind(Enum):
    """How the match stage fills a field from the events of a variable."""

    EVENTS = "events"
    COUNT = "count"
    COUNT_VALUE = "count_value"
    FIRST = "first"
    LAST = "last"
    SUM = "sum"
    MIN = "min"
    MAX = "max"
    START = "start"
    END = "end"
    KEY = "key"
    MATCH_ID = "match_id"


@record
class OutputField:
    """One column of the match stage; `payload` is the number of the payload column (or key column) it reads."""

    kind: FieldKind
    variable: str | None = None
    payload: int | None = None

@record
class OutputColumn:
    """A column of the result: its name and the expression over fields s0, s1, ... that finishes it."""

    name: str
    tree: exp.Expression


@record
class OutputPlan:
    """Everything between matches and result columns. `payload` are expressions over one event, computed in Prepare.

    `refine` are conditions over fields that Finish applies (conditions no kernel knows).
    """

    fields: tuple[OutputField, ...]
    columns: tuple[OutputColumn, ...]
    payload: tuple[exp.Expression, ...]
    event_fields: tuple[str, ...] = ()
    refine: tuple[exp.Expression, ...] = ()
    kept: frozenset[str] = frozenset()
    """Variables that the result shows: matches that differ in others only are one."""
    needs: frozenset[str] = frozenset()
    """Variables that must be told apart to fill the fields."""


def field_column(number: int) -> exp.Column:
    """Return the column of the match stage that holds a field."""
    return exp.column(exp.to_identifier(f"s{number}"))


class OutputBinder:
    """Binds the SELECT list of a query."""

    def __init__(self, query: Query, bound: BoundPattern, schema: StreamSchema | None) -> None:
        self.query = query
        self.text = query.text or None
        self.bound = bound
        self.schema = schema
        self._fields: dict[OutputField, int] = {}
        self._payload: dict[str, int] = {}
        self._payload_trees: list[exp.Expression] = []
        self._columns: list[OutputColumn] = []
        self._event_fields: tuple[str, ...] = ()
        self._refine: list[exp.Expression] = []
        self._kept: frozenset[str] = frozenset()
        self._needs: frozenset[str] = frozenset()
        self._refined: set[str] = set()
        self._known = {v for occurrence in bound.occurrences for v in occurrence.variables if "@" not in v}
        self._keys = {name.text.lower(): number for number, name in enumerate(query.partition_by)}

    def bind(self) -> None:
        """Bind the SELECT list."""
        if self.query.output is None:
            self._bind_star()
        else:
            self._bind_items(self.query.output)
            self._refuse_forgotten()

    def output(self) -> OutputPlan:
        """Return what has been bound."""
        return OutputPlan(
            tuple(self._fields),
            tuple(self._columns),
            tuple(self._payload_trees),
            self._event_fields,
            tuple(self._refine),
            self._kept,
            self._needs,
        )

    def _bind_star(self) -> None:
        for number, name in enumerate(self.query.partition_by):
            self._column(name.text, field_column(self._field(OutputField(FieldKind.KEY, None, number))))
        self._column(MATCH_START, self._time(FieldKind.START))
        self._column(MATCH_END, self._time(FieldKind.END))
        for variable in self.bound.variables:
            self._column(variable, field_column(self._events(variable)))
        self._kept = frozenset(self.bound.variables)
        self._needs |= self._kept

    def _bind_items(self, items: tuple[OutputItem, ...]) -> None:
        kept: set[str] = set()
        trees, wished = [], []
        for item in items:
            tree, variables = self._item(item)
            kept |= variables
            trees.append(tree)
            wished.append(item.alias or _default_name(item.expression.tree))
        if ALL_EVENTS in kept:
            kept = (kept - {ALL_EVENTS}) | set(self.bound.variables)
            # What is shown tells all bindings, those of types that have names of their own included.
            self._refined = set()
        plain = [_plain_name(item.expression.tree) for item in items]
        for number, (item, tree) in enumerate(zip(items, trees, strict=True)):
            name = wished[number]
            if item.alias is None and plain[number] is not None and wished.count(plain[number] or "") == 1:
                name = plain[number] or name
            elif item.alias is None and wished.count(name) == 1:
                pass
            elif item.alias is None:
                name = _qualified_name(item.expression.tree, number)
            if any(name.lower() == column.name.lower() for column in self._columns):
                raise BindError(
                    "DUPLICATE_COLUMN",
                    f"Two columns of the result are called {name}.",
                    text=self.text,
                    span=item.span,
                    hint=f"Name one of them: ... AS other_{name}.",
                )
            self._column(name, tree)
        self._kept = frozenset(kept)
        self._needs |= frozenset(kept)

    def refine(self, tree: exp.Expression, single: set[str]) -> None:
        """Add a condition that Finish applies to found matches; it is void where one of its `single` variables has no event."""
        replaced, variables = self._expression(tree)
        for variable in sorted(single):
            count = field_column(self._field(OutputField(FieldKind.COUNT, variable)))
            missing = exp.EQ(this=count, expression=exp.Literal.number(0))
            replaced = exp.Or(this=missing, expression=exp.Paren(this=replaced))
        self._refine.append(replaced)
        self._needs |= variables
        self._refined |= variables

    def score_column(self, tree: exp.Expression) -> tuple[str, int | None]:
        """Return the variable whose events a part of a score reads, and the payload column with what each adds."""
        kind = self._check_argument(tree)
        if kind is not None and not kind.numeric and kind is not Kind.OTHER:
            raise BindError(
                "TYPE_MISMATCH",
                f"A score adds up numbers, {tree.sql(dialect='spark')} is {kind.named}.",
                text=self.text,
                span=span_of(tree),
                hint="Convert it, for example CAST(x AS DOUBLE).",
            )
        reference = references(tree, self.text)[0] if only_bare(tree) is None else self._bare(tree)
        if reference.variable != ALL_EVENTS and reference.variable not in self._known:
            raise self._unknown_variable(reference)
        if reference.kind == "bare":
            self._refuse_many(reference)
        if reference.argument is None:
            return reference.variable, None
        if reference.kind == "count":
            missing = exp.Is(this=exp.Paren(this=reference.argument.copy()), expression=exp.Null())
            one, none = exp.Literal.number(1), exp.Literal.number(0)
            return reference.variable, self._payload_column(exp.Case(ifs=[exp.If(this=missing, true=none)], default=one))
        return reference.variable, self._payload_column(reference.argument)

    def keep_variables(self, variables: set[str]) -> None:
        """Let these variables tell matches apart as if SELECT named them."""
        if ALL_EVENTS in variables:
            variables = (variables - {ALL_EVENTS}) | set(self.bound.variables)
        self._kept |= variables
        self._needs |= variables

    def _bare(self, tree: exp.Expression) -> Reference:
        variable = only_bare(tree)
        assert variable is not None
        return Reference("bare", variable, tree, tree)

    def _check_argument(self, tree: exp.Expression) -> Kind | None:
        return None if self.schema is None else check_kinds(tree, self.schema, self.text)

    def _refuse_forgotten(self) -> None:
        """Matches that became equal are one before Finish, so it could not tell which of them the condition kept."""
        forgotten = sorted(self._refined - self._kept - {ALL_EVENTS})
        if forgotten:
            raise BindError(
                "OPAQUE_CONDITION",
                f"A condition compares {forgotten[0]} to other events with a function the matcher cannot evaluate, which is "
                f"not supported when SELECT leaves {forgotten[0]} out.",
                text=self.text,
                hint=f"Select {forgotten[0]} as well, or compute the values in columns of the events first.",
            )

    def _item(self, item: OutputItem) -> tuple[exp.Expression, set[str]]:
        tree = item.expression.tree
        if isinstance(tree, exp.Column) and not tree.table:
            name = tree.name
            if name.lower() in self._keys:
                return field_column(self._field(OutputField(FieldKind.KEY, None, self._keys[name.lower()]))), set()
            if name.lower() in (MATCH_START, MATCH_END):
                return self._time(FieldKind.START if name.lower() == MATCH_START else FieldKind.END), set()
            if name in self._known:
                return field_column(self._events(name)), {name}
            if name.lower() == MATCH_ID:
                return self._identity(), set()
            if self.schema is not None and self.schema.resolve(name) is not None:
                raise BindError(
                    "ATTRIBUTE_WITHOUT_VARIABLE",
                    f"The attribute {name} does not say of which variable.",
                    text=self.text,
                    span=span_of(tree),
                    hint=f"Write {self.bound.variables[0] if self.bound.variables else 'x'}.{name}.",
                )
            raise BindError(
                "UNKNOWN_VARIABLE",
                f"{name} is neither a variable of the pattern nor a PARTITION BY attribute.",
                text=self.text,
                span=span_of(tree),
                hint=did_you_mean(name, [*sorted(self._known), *self._keys, MATCH_START, MATCH_END, MATCH_ID]),
            )
        return self._expression(tree)

    def _expression(self, tree: exp.Expression) -> tuple[exp.Expression, set[str]]:
        if self.schema is not None:
            check_kinds(tree, self.schema, self.text)
        tree = tree.copy()
        variables: set[str] = set()
        keys = self._replace_keys(tree)
        for reference in references(keys, self.text):
            if reference.variable != ALL_EVENTS and reference.variable not in self._known:
                raise self._unknown_variable(reference)
            variables.add(reference.variable)
            fresh = self._reference(reference)
            if reference.node is keys:
                return fresh, variables
            reference.node.replace(fresh)
        return keys, variables

    def _unknown_variable(self, reference: Reference) -> BindError:
        argument = reference.argument
        qualifier = argument.args.get("table") if isinstance(argument, exp.Column) else None
        span = (span_of(qualifier) if qualifier is not None else None) or span_of(reference.node)
        if any(reference.variable in (absence.variable, absence.type) for absence in self.bound.absences):
            return BindError(
                "UNKNOWN_VARIABLE",
                f"{reference.variable} stands under NOT, so no match has an event of it.",
                text=self.text,
                span=span,
                hint=did_you_mean(reference.variable, sorted(self._known)),
            )
        return BindError(
            "UNKNOWN_VARIABLE",
            f"There is no variable {reference.variable}.",
            text=self.text,
            span=span,
            hint=did_you_mean(reference.variable, sorted(self._known)),
        )

    def _replace_keys(self, tree: exp.Expression) -> exp.Expression:
        for column in list(tree.find_all(exp.Column)):
            if column.table or (column.parent is not None and function_kind(column.parent) is not None):
                continue
            if column.name.lower() in self._keys:
                number = self._field(OutputField(FieldKind.KEY, None, self._keys[column.name.lower()]))
                # A bare identifier, so that the walk over references does not take the field for an attribute.
                column.replace(exp.to_identifier(f"s{number}"))
        return tree

    def _reference(self, reference: Reference) -> exp.Expression:
        variable = reference.variable
        if reference.kind in ("next", "prev"):
            raise BindError(
                "NEXT_IN_SELECT",
                f"{reference.kind.upper()} relates single events; a match has one row.",
                text=self.text,
                span=span_of(reference.node),
                hint=f"Use FIRST, LAST or an aggregate of {variable}, or select {variable} whole.",
            )
        if reference.kind == "count" and reference.argument is None:
            return field_column(self._field(OutputField(FieldKind.COUNT, variable)))
        assert reference.argument is not None
        number = self._payload_column(reference.argument)
        if reference.kind == "bare":
            self._refuse_many(reference)
            return field_column(self._field(OutputField(FieldKind.FIRST, variable, number)))
        if reference.kind == "avg":
            total = field_column(self._field(OutputField(FieldKind.SUM, variable, number)))
            count = field_column(self._field(OutputField(FieldKind.COUNT_VALUE, variable, number)))
            return exp.Paren(this=exp.Div(this=exp.cast(total, "double"), expression=exp.func("NULLIF", count, "0")))
        kind = FieldKind.COUNT_VALUE if reference.kind == "count" else FieldKind(reference.kind)
        return field_column(self._field(OutputField(kind, variable, number)))

    def _refuse_many(self, reference: Reference) -> None:
        members = [o.index for o in self.bound.occurrences if reference.variable in o.variables]
        later = followers(self.bound.root)
        several = repeatable(self.bound.root) & set(members) or any(set(members) & later[member] for member in members)
        if several:
            attribute = reference.node.sql(dialect="spark")
            raise BindError(
                "SEVERAL_EVENTS",
                f"{reference.variable} can hold several events, so {attribute} is not one value.",
                text=self.text,
                span=span_of(reference.node),
                hint=f"Use FIRST({attribute}), LAST({attribute}), AVG({attribute}) or another aggregate.",
            )

    def _events(self, variable: str) -> int:
        if self.schema is not None and not self._event_fields:
            self._event_fields = tuple(self.schema.columns)
            for name in self._event_fields:
                self._raw_payload(name)
        return self._field(OutputField(FieldKind.EVENTS, variable))

    def _time(self, kind: FieldKind) -> exp.Expression:
        number = self._raw_payload(TIME_COLUMN)
        return field_column(self._field(OutputField(kind, None, number)))

    def _identity(self) -> exp.Expression:
        """Return what tells a match from all others, made of what tells its events apart."""
        for column in (TIE_COLUMN, STREAM_COLUMN):
            self._raw_payload(column)
        return field_column(self._field(OutputField(FieldKind.MATCH_ID)))

    def _raw_payload(self, column: str) -> int:
        return self._payload_number(exp.column(exp.to_identifier(column, quoted=True)))

    def _payload_column(self, argument: exp.Expression) -> int:
        return self._payload_number(argument if self.schema is None else single_event(argument, self.schema, self.text))

    def _payload_number(self, tree: exp.Expression) -> int:
        sql = tree.sql(dialect="spark")
        if sql not in self._payload:
            self._payload[sql] = len(self._payload_trees)
            self._payload_trees.append(tree)
        return self._payload[sql]

    def _field(self, field: OutputField) -> int:
        return self._fields.setdefault(field, len(self._fields))

    def _column(self, name: str, tree: exp.Expression) -> None:
        self._columns.append(OutputColumn(name, tree))


def _plain_name(tree: exp.Expression) -> str | None:
    return tree.name if isinstance(tree, exp.Column) else None


def _default_name(tree: exp.Expression) -> str:
    plain = _plain_name(tree)
    if plain is not None:
        return plain
    kind = function_kind(tree)
    if kind is not None and isinstance(tree.this, exp.Column):
        column = tree.this
        return "_".join(part for part in (kind, column.table, column.name) if part)
    if kind is not None:
        return kind
    return tree.sql(dialect="spark")


def _qualified_name(tree: exp.Expression, number: int) -> str:
    if isinstance(tree, exp.Column) and tree.table:
        return f"{tree.table}_{tree.name}"
    return f"column_{number + 1}"
