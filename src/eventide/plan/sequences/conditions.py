"""Conditions between events, compiled to the small programs that kernels run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eventide.errors import BindError
from eventide.match.programs.operators import Op
from eventide.match.programs.programs import MAX_SLOTS
from eventide.plan.expressions.columns import check_kinds, require_boolean, single_event
from eventide.plan.expressions.evaluable import kinds_at
from eventide.plan.expressions.operators import ENCODINGS, ConstantPool, Encoding, OpaqueCondition, OperatorEmitter, ValueColumn
from eventide.plan.expressions.references import (
    ALL_EVENTS,
    Reference,
    function_kind,
    only_bare,
    references,
    single_event_parts,
    span_of,
)
from eventide.plan.expressions.schema import CLOCK_COLUMN, Kind
from eventide.records import record

if TYPE_CHECKING:

    from sqlglot import exp

    from eventide.plan.expressions.schema import KindsOf, StreamSchema


@record
class CompiledCondition:
    """A condition as a program. `sets` are the variables it reads as sets (other than so far), with the function."""

    code: tuple[tuple[int, int, int, int], ...]
    slots: tuple[str, ...]
    paired: tuple[bool, ...]
    sets: tuple[tuple[str, str], ...]
    so_far: bool
    scope: str | None
    outside: str | None
    source: str


@dataclass
class ConditionCompiler:
    """Compiles the conditions of one query; value columns, constants and variables are shared between them."""

    schema: StreamSchema | None
    kinds_of: KindsOf
    text: str | None
    columns: list[ValueColumn] = field(default_factory=list)
    pool: ConstantPool = field(default_factory=ConstantPool)
    variables: dict[str, int] = field(default_factory=dict)
    _column_numbers: dict[str, int] = field(default_factory=dict)

    def compile(
        self, tree: exp.Expression, *, scope: str | None, source: str, outside: tuple[str, ...] = ()
    ) -> CompiledCondition:
        """Compile one condition; `outside` names the negated variable when it is a condition of a NOT."""
        if self.schema is not None:
            require_boolean(tree, check_kinds(tree, self.schema, self.text), self.text)
        read = references(tree, self.text)
        self._add_columns(tree)
        return _Emitter(self, tree, read, scope, source, outside).run()

    def reading_clock(self) -> ConditionCompiler:
        """Return this compiler for conditions that read the clock, which is no attribute that a query can name."""
        if self.schema is None:
            return self
        columns = {**self.schema.columns, CLOCK_COLUMN: Kind.INTEGER}
        return replace(self, schema=replace(self.schema, columns=columns))

    def variable(self, name: str) -> int:
        """Return the number of a variable."""
        return self.variables.setdefault(name, len(self.variables))

    def _add_columns(self, tree: exp.Expression) -> None:
        fresh: dict[str, exp.Expression] = {}
        planned: dict[str, Kind | None] = {}
        for part in single_event_parts(tree):
            resolved = part if self.schema is None else single_event(part, self.schema, self.text)
            sql = resolved.sql(dialect="spark")
            if sql not in self._column_numbers:
                fresh.setdefault(sql, resolved)
                planned[sql] = None if self.schema is None else check_kinds(part, self.schema, self.text)
        if not fresh:
            return
        kinds = kinds_at(self.kinds_of, list(fresh.values()), self.text, tree)
        for (sql, resolved), described in zip(fresh.items(), kinds, strict=True):
            # Engines make wide decimals of 1.5 * a whole number or of a decimal * 2; conditions calculate with doubles.
            wider = described is Kind.OTHER and planned[sql] in (Kind.FLOAT, Kind.DECIMAL)
            kind = Kind.FLOAT if wider else described
            if kind not in ENCODINGS:
                raise BindError(
                    "UNSUPPORTED_VALUE",
                    f"Conditions between events cannot read {sql}, its type is not a number, text, time or truth value.",
                    text=self.text,
                    span=span_of(tree),
                    hint="Convert it, for example CAST(x AS DOUBLE); decimals may have up to 15 digits.",
                )
            self._column_numbers[sql] = len(self.columns)
            self.columns.append(ValueColumn(resolved, sql, kind))

    def column(self, part: exp.Expression) -> tuple[int, Encoding]:
        """Return the number and encoding of a part over one event."""
        number = self._column_numbers[self._text_of(part)]
        return number, self.columns[number].encoding

    def knows(self, part: exp.Expression) -> bool:
        """Return whether a part over one event has a column."""
        return self._text_of(part) in self._column_numbers

    def _text_of(self, part: exp.Expression) -> str:
        resolved = part if self.schema is None else single_event(part, self.schema, self.text)
        return resolved.sql(dialect="spark")


_SETS = {
    "sum": (Op.SUM_I, Op.SUM_F),
    "min": (Op.MIN_I, Op.MIN_F),
    "max": (Op.MAX_I, Op.MAX_F),
    "avg": (Op.AVG_I, Op.AVG_F),
    "first": (Op.FIRST, Op.FIRST),
    "last": (Op.LAST, Op.LAST),
}


class _Emitter(OperatorEmitter):
    """Writes the program of one condition."""

    def __init__(
        self,
        compiler: ConditionCompiler,
        tree: exp.Expression,
        read: list[Reference],
        scope: str | None,
        source: str,
        outside: tuple[str, ...],
    ) -> None:
        super().__init__(compiler.pool, tree, compiler.text)
        self.compiler = compiler
        self.source = source
        self.scope = scope
        bare = dict.fromkeys(r.variable for r in read if r.kind in ("bare", "next", "prev"))
        self.outside = next((name for name in bare if name in outside), None)
        self.slots = list(bare)
        self.next_of = {r.variable for r in read if r.kind == "next"}
        self.prev_of = {r.variable for r in read if r.kind == "prev"}
        self.set_read = [r for r in read if r.kind not in ("bare", "next", "prev")]
        self._refuse_unclear()

    def _refuse_unclear(self) -> None:
        text = self.compiler.text
        both = self.next_of & self.prev_of
        mixed = {r.variable for r in self.set_read} & self.prev_of
        if both or mixed:
            raise BindError(
                "NEXT_AND_PREV",
                f"PREV of {min(both or mixed)} cannot be combined with NEXT or an aggregate of it in one condition.",
                text=text,
                span=span_of(self.tree),
                hint="Split it into several conditions joined by AND.",
            )
        if len(self.slots) > MAX_SLOTS:
            raise BindError(
                "TOO_MANY_VARIABLES",
                f"One condition may relate up to {MAX_SLOTS} variables, this one has {len(self.slots)}.",
                text=text,
                span=span_of(self.tree),
                hint="Split it into several conditions joined by AND.",
            )

    def run(self) -> CompiledCondition:
        self._emit(self.tree)
        for slot in self.slots:
            if slot != self.outside:
                self.compiler.variable(slot)
        if self.scope is not None:
            self.compiler.variable(self.scope)
        return CompiledCondition(
            tuple(self.code),
            tuple(self.slots),
            tuple(variable in self.next_of | self.prev_of for variable in self.slots),
            tuple((r.variable, r.kind) for r in self.set_read if r.variable not in self.slots),
            any(r.variable in self.slots for r in self.set_read),
            self.scope,
            self.outside,
            self.source,
        )

    def leaf(self, node: exp.Expression) -> Encoding | None:
        """Emit what reads events."""
        variable = only_bare(node)
        # What taking COALESCE, IN or BETWEEN apart makes is no part of the query: the parts of it have columns.
        if variable is not None and self.compiler.knows(node):
            # PREV is NEXT seen from the other event of the pair.
            return self._load(node, variable, later=variable in self.prev_of)
        return None if function_kind(node) is None else self._function(node)

    def _load(self, node: exp.Expression, variable: str, *, later: bool) -> Encoding:
        number, encoding = self.compiler.column(node)
        op = Op.LOAD_F if encoding is Encoding.FLOAT else Op.LOAD_I
        self._op(op, self.slots.index(variable), number, int(later), change=1)
        return encoding

    def _function(self, node: exp.Expression) -> Encoding:
        kind = function_kind(node)
        assert kind is not None
        if kind in ("next", "prev"):
            argument = node.expressions[0]
            variable = only_bare(argument)
            assert variable is not None
            return self._load(argument, variable, later=kind == "next")
        reference = references(node, self.compiler.text)[0]
        so_far = self.slots.index(reference.variable) if reference.variable in self.slots else -1
        variable_number = -1 if reference.variable == ALL_EVENTS else self.compiler.variable(reference.variable)
        if kind == "count":
            if reference.argument is None:
                self._op(Op.COUNT, variable_number, 0, so_far, change=1)
            else:
                number, _ = self.compiler.column(reference.argument)
                self._op(Op.COUNT_VALUE, variable_number, number, so_far, change=1)
            return Encoding.INTEGER
        assert reference.argument is not None
        number, encoding = self.compiler.column(reference.argument)
        if encoding is Encoding.CODE and kind not in ("first", "last"):
            raise OpaqueCondition(node)
        self._op(_SETS[kind][encoding is Encoding.FLOAT], variable_number, number, so_far, change=1)
        return Encoding.FLOAT if kind == "avg" else encoding
