"""Conditions between events, compiled to the small programs that kernels run."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from struct import pack, unpack
from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp

from eventide.errors import BindError
from eventide.match.programs import MAX_SLOTS, STACK, Op
from eventide.plan.evaluable import describe_at
from eventide.plan.expressions import check_kinds, require_boolean, single_event
from eventide.plan.references import (
    ALL_EVENTS,
    Reference,
    function_kind,
    only_bare,
    references,
    single_event_parts,
    span_of,
)
from eventide.plan.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eventide.plan.schema import StreamSchema

MICROSECONDS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}


class Encoding(Enum):
    """How a value column is handed to kernels: whole numbers (also times and truth values), doubles, or codes of strings."""

    INTEGER = "integer"
    FLOAT = "float"
    CODE = "code"


_ENCODINGS = {
    Kind.INTEGER: Encoding.INTEGER,
    Kind.BOOLEAN: Encoding.INTEGER,
    Kind.TIMESTAMP: Encoding.INTEGER,
    Kind.DATE: Encoding.INTEGER,
    Kind.FLOAT: Encoding.FLOAT,
    Kind.DECIMAL: Encoding.FLOAT,
    Kind.STRING: Encoding.CODE,
}


class OpaqueCondition(Exception):  # noqa: N818 - it is a finding, caught by the planner
    """The condition calls something no kernel knows."""

    def __init__(self, node: exp.Expr) -> None:
        super().__init__(node.sql(dialect="spark"))
        self.node = node


@dataclass(frozen=True)
class ValueColumn:
    """An expression over one event that a condition reads, computed in Prepare."""

    tree: exp.Expression = field(compare=False)
    sql: str
    kind: Kind

    @property
    def encoding(self) -> Encoding:
        """How kernels see the column."""
        return _ENCODINGS[self.kind]


@dataclass(frozen=True)
class Compiled:
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
    describe: Callable[[Sequence[exp.Expression]], list[Kind]]
    text: str | None
    columns: list[ValueColumn] = field(default_factory=list)
    constants: list[int] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)
    variables: dict[str, int] = field(default_factory=dict)
    _column_numbers: dict[str, int] = field(default_factory=dict)

    def compile(
        self, tree: exp.Expression, *, scope: str | None, source: str, outside: tuple[str, ...] = ()
    ) -> Compiled:
        """Compile one condition; `outside` names the negated variable when it is a condition of a NOT."""
        if self.schema is not None:
            require_boolean(tree, check_kinds(tree, self.schema, self.text), self.text)
        read = references(tree, self.text)
        self._add_columns(tree)
        return _Emitter(self, tree, read, scope, source, outside).run()

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
        kinds = describe_at(self.describe, list(fresh.values()), self.text, tree)
        for (sql, resolved), described in zip(fresh.items(), kinds, strict=True):
            # Engines make wide decimals of 1.5 * a whole number or of a decimal * 2; conditions calculate with doubles.
            wider = described is Kind.OTHER and planned[sql] in (Kind.FLOAT, Kind.DECIMAL)
            kind = Kind.FLOAT if wider else described
            if kind not in _ENCODINGS:
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
        resolved = part if self.schema is None else single_event(part, self.schema, self.text)
        number = self._column_numbers[resolved.sql(dialect="spark")]
        return number, self.columns[number].encoding

    def constant(self, value: float, *, real: bool) -> int:
        """Return the place of a constant."""
        bits = unpack("<q", pack("<d", float(value)))[0] if real else int(value)
        if bits not in self.constants:
            self.constants.append(bits)
        return self.constants.index(bits)

    def string(self, value: str) -> int:
        """Return the code that a string constant gets before any event is seen."""
        if value not in self.strings:
            self.strings.append(value)
        return self.strings.index(value)


_COMPARE: dict[type[exp.Expr], tuple[Op, Op, bool]] = {
    exp.EQ: (Op.EQ_I, Op.EQ_F, False),
    exp.NEQ: (Op.NE_I, Op.NE_F, False),
    exp.LT: (Op.LT_I, Op.LT_F, False),
    exp.LTE: (Op.LE_I, Op.LE_F, False),
    exp.GT: (Op.LT_I, Op.LT_F, True),
    exp.GTE: (Op.LE_I, Op.LE_F, True),
    exp.NullSafeEQ: (Op.SAME_I, Op.SAME_F, False),
}
_ARITHMETIC: dict[type[exp.Expr], tuple[Op, Op]] = {
    exp.Add: (Op.ADD_I, Op.ADD_F),
    exp.Sub: (Op.SUB_I, Op.SUB_F),
    exp.Mul: (Op.MUL_I, Op.MUL_F),
    exp.Mod: (Op.MOD_I, Op.MOD_F),
}
_SETS = {
    "sum": (Op.SUM_I, Op.SUM_F),
    "min": (Op.MIN_I, Op.MIN_F),
    "max": (Op.MAX_I, Op.MAX_F),
    "avg": (Op.AVG_I, Op.AVG_F),
    "first": (Op.FIRST, Op.FIRST),
    "last": (Op.LAST, Op.LAST),
}


class _Emitter:
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
        self.compiler = compiler
        self.tree = tree
        self.source = source
        self.scope = scope
        self.code: list[tuple[int, int, int, int]] = []
        self.depth = 0
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

    def run(self) -> Compiled:
        self._emit(self.tree)
        for slot in self.slots:
            if slot != self.outside:
                self.compiler.variable(slot)
        if self.scope is not None:
            self.compiler.variable(self.scope)
        return Compiled(
            tuple(self.code),
            tuple(self.slots),
            tuple(variable in self.next_of | self.prev_of for variable in self.slots),
            tuple((r.variable, r.kind) for r in self.set_read if r.variable not in self.slots),
            any(r.variable in self.slots for r in self.set_read),
            self.scope,
            self.outside,
            self.source,
        )

    def _op(self, op: Op, a: int = 0, b: int = 0, c: int = 0, *, change: int = 0) -> None:
        self.code.append((int(op), a, b, c))
        self.depth += change
        if self.depth >= STACK:
            raise BindError(
                "CONDITION_TOO_COMPLEX",
                "The condition nests too deeply.",
                text=self.compiler.text,
                span=span_of(self.tree),
                hint="Split it into several conditions joined by AND.",
            )

    def _emit(self, node: exp.Expression) -> Encoding:
        variable = only_bare(node)
        if variable is not None:
            # PREV is NEXT seen from the other event of the pair.
            return self._load(node, variable, later=variable in self.prev_of)
        if function_kind(node) is not None:
            return self._function(node)
        handler = self._handlers().get(type(node))
        if handler is not None:
            return handler(node)
        if isinstance(node, tuple(_COMPARE)):
            return self._compare(node)
        if isinstance(node, (*_ARITHMETIC, exp.Div)):
            return self._calculate(node)
        raise OpaqueCondition(node)

    def _handlers(self) -> dict[type[exp.Expression], Callable[[exp.Expression], Encoding]]:
        return {
            exp.Paren: lambda node: self._emit(node.this),
            exp.Literal: self._literal,
            exp.Boolean: lambda node: self._whole(int(node.this)),
            exp.Null: lambda _: self._null(),
            exp.Neg: self._negate,
            exp.Abs: self._absolute,
            exp.And: lambda node: self._logic(node, Op.AND),
            exp.Or: lambda node: self._logic(node, Op.OR),
            exp.Not: self._not,
            exp.Is: self._is,
            exp.In: self._in,
            exp.Between: self._between,
            exp.Interval: self._interval,
            exp.Case: self._case,
            exp.Coalesce: self._coalesce,
            exp.Cast: self._cast,
        }

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

    def _whole(self, value: int) -> Encoding:
        self._op(Op.CONST_I, self.compiler.constant(value, real=False), change=1)
        return Encoding.INTEGER

    def _null(self) -> Encoding:
        self._op(Op.NULL, change=1)
        return Encoding.INTEGER

    def _literal(self, node: exp.Expression) -> Encoding:
        if node.is_string:
            self._op(Op.CONST_I, self.compiler.constant(self.compiler.string(str(node.this)), real=False), change=1)
            return Encoding.CODE
        if str(node.this).isdigit() and int(node.this) < 1 << 63:
            return self._whole(int(node.this))
        self._op(Op.CONST_F, self.compiler.constant(float(node.this), real=True), change=1)
        return Encoding.FLOAT

    def _interval(self, node: exp.Expression) -> Encoding:
        unit = str(node.args["unit"].name if node.args.get("unit") else "").upper().removesuffix("S")
        if unit not in MICROSECONDS or node.this is None or not isinstance(node.this, exp.Literal):
            raise OpaqueCondition(node)
        try:
            return self._whole(round(float(node.this.this) * MICROSECONDS[unit]))
        except (ValueError, OverflowError):
            raise OpaqueCondition(node) from None

    def _to_float(self, encoding: Encoding, node: exp.Expression) -> None:
        if encoding is Encoding.CODE:
            raise OpaqueCondition(node)
        if encoding is Encoding.INTEGER:
            self._op(Op.TO_F)

    def _same_encoding(self, nodes: Sequence[exp.Expression], *, real: bool = False) -> Encoding:
        """Emit operands so that all have one encoding, which is returned."""
        begins, encodings = [], []
        for node in nodes:
            begins.append(len(self.code))
            encodings.append(self._emit(node))
        if len(set(encodings)) == 1 and not real:
            return encodings[0]
        if Encoding.CODE in encodings:
            raise OpaqueCondition(nodes[0].parent or nodes[0])
        # Conversions belong directly behind the operand they convert; insert from the back so that places stay valid.
        ends = [*begins[1:], len(self.code)]
        for end, encoding in reversed(list(zip(ends, encodings, strict=True))):
            if encoding is Encoding.INTEGER:
                self.code.insert(end, (int(Op.TO_F), 0, 0, 0))
        return Encoding.FLOAT

    def _compare(self, node: exp.Expression) -> Encoding:
        whole, real, swap = _COMPARE[type(node)]
        operands = (node.expression, node.this) if swap else (node.this, node.expression)
        encoding = self._same_encoding(operands)
        if encoding is Encoding.CODE and not isinstance(node, exp.EQ | exp.NEQ | exp.NullSafeEQ):
            raise OpaqueCondition(node)
        self._op(real if encoding is Encoding.FLOAT else whole, change=-1)
        return Encoding.INTEGER

    def _calculate(self, node: exp.Expression) -> Encoding:
        if isinstance(node, exp.Div):
            self._same_encoding((node.this, node.expression), real=True)
            self._op(Op.DIV_F, change=-1)
            return Encoding.FLOAT
        whole, real = _ARITHMETIC[type(node)]
        encoding = self._same_encoding((node.this, node.expression))
        if encoding is Encoding.CODE:
            raise OpaqueCondition(node)
        self._op(real if encoding is Encoding.FLOAT else whole, change=-1)
        return encoding

    def _negate(self, node: exp.Expression) -> Encoding:
        return self._calculate(exp.Sub(this=exp.Literal.number(0), expression=node.this.copy()))

    def _absolute(self, node: exp.Expression) -> Encoding:
        encoding = self._emit(node.this)
        if encoding is Encoding.CODE:
            raise OpaqueCondition(node)
        self._op(Op.ABS_F if encoding is Encoding.FLOAT else Op.ABS_I)
        return encoding

    def _logic(self, node: exp.Expression, op: Op) -> Encoding:
        self._emit(node.this)
        self._emit(node.expression)
        self._op(op, change=-1)
        return Encoding.INTEGER

    def _not(self, node: exp.Expression) -> Encoding:
        self._emit(node.this)
        self._op(Op.NOT)
        return Encoding.INTEGER

    def _is(self, node: exp.Expression) -> Encoding:
        if not isinstance(node.expression, exp.Null):
            raise OpaqueCondition(node)
        self._emit(node.this)
        self._op(Op.IS_NULL)
        return Encoding.INTEGER

    def _in(self, node: exp.Expression) -> Encoding:
        options = node.expressions
        if not options or node.args.get("query"):
            raise OpaqueCondition(node)
        for number, option in enumerate(options):
            self._compare(exp.EQ(this=node.this.copy(), expression=option.copy()))
            if number:
                self._op(Op.OR, change=-1)
        return Encoding.INTEGER

    def _between(self, node: exp.Expression) -> Encoding:
        self._compare(exp.GTE(this=node.this.copy(), expression=node.args["low"].copy()))
        self._compare(exp.LTE(this=node.this.copy(), expression=node.args["high"].copy()))
        self._op(Op.AND, change=-1)
        return Encoding.INTEGER

    def _choose(self, condition: exp.Expression, chosen: exp.Expression, other: exp.Expression) -> Encoding:
        self._emit(condition)
        encoding = self._same_encoding((chosen, other))
        self._op(Op.IF_F if encoding is Encoding.FLOAT else Op.IF_I, change=-2)
        return encoding

    def _case(self, node: exp.Expression) -> Encoding:
        if node.this is not None:
            raise OpaqueCondition(node)
        other: exp.Expression = node.args.get("default") or exp.Null()
        for branch in reversed(node.args["ifs"]):
            other = _Choice(this=branch.this.copy(), true=branch.args["true"].copy(), false=other)
        if not isinstance(other, _Choice):
            raise OpaqueCondition(node)
        return self._choice(other)

    def _choice(self, node: exp.Expression) -> Encoding:
        return self._choose(node.this, node.args["true"], node.args["false"])

    def _coalesce(self, node: exp.Expression) -> Encoding:
        options = [node.this, *node.expressions]
        other = options[-1].copy()
        for option in reversed(options[:-1]):
            missing = exp.Is(this=option.copy(), expression=exp.Null())
            other = _Choice(this=missing, true=other, false=option.copy())
        return self._choice(other) if isinstance(other, _Choice) else self._emit(other)

    def _cast(self, node: exp.Expression) -> Encoding:
        if not node.is_type("double"):
            raise OpaqueCondition(node)
        encoding = self._emit(node.this)
        self._to_float(encoding, node)
        return Encoding.FLOAT


class _Choice(exp.Case):
    """A two-way choice made while a CASE or COALESCE is taken apart."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "true": True, "false": True}
