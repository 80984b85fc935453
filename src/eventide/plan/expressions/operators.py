"""Operators of conditions, compiled to stack programs; what a condition reads is left to the kind of pattern."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum
from struct import pack, unpack
from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp

from eventide.errors import BindError
from eventide.match.programs.operators import STACK, Op
from eventide.plan.expressions.references import span_of
from eventide.plan.expressions.schema import Kind
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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


ENCODINGS = {
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


@record
class ValueColumn:
    """An expression over one event that a condition reads, computed in Prepare."""

    tree: exp.Expression = field(compare=False)
    sql: str
    kind: Kind
    encoding: Encoding = field(init=False)
    """How kernels see the column."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "encoding", ENCODINGS[self.kind])


@dataclass
class ConstantPool:
    """The constants that the programs of a query share."""

    constants: list[int] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)

    def constant(self, value: float, *, real: bool) -> int:
        """Return the place of a constant."""
        bits = unpack("<q", pack("<d", float(value)))[0] if real else int(value)
        if bits not in self.constants:
            self.constants.append(bits)
        return self.constants.index(bits)

    def string(self, value: str) -> int:
        """Return the place of a string constant, which holds the code it gets before any event is seen."""
        if value not in self.strings:
            self.strings.append(value)
        return self.constant(self.strings.index(value), real=False)


class OperatorEmitter(ABC):
    """Writes the program of one condition; `leaf` emits what reads rows or events."""

    ordered_texts = False
    """Whether the codes of strings are in the order of the strings."""

    def __init__(self, pool: ConstantPool, tree: exp.Expression, text: str | None) -> None:
        self.pool = pool
        self.tree = tree
        self.text = text
        self.code: list[tuple[int, int, int, int]] = []
        self.depth = 0

    @abstractmethod
    def leaf(self, node: exp.Expression) -> Encoding | None:
        """Emit a node that reads rows and return its encoding, or return None for an operator."""

    def _op(self, op: int, a: int = 0, b: int = 0, c: int = 0, *, change: int = 0) -> None:
        self.code.append((int(op), a, b, c))
        self.depth += change
        if self.depth >= STACK:
            raise BindError(
                "CONDITION_TOO_COMPLEX",
                "The condition nests too deeply.",
                text=self.text,
                span=span_of(self.tree),
                hint="Split it into several conditions joined by AND.",
            )

    def knows(self, node: exp.Expr) -> bool:
        """Return whether a node is an operator that kernels run."""
        return type(node) in self._handlers() or isinstance(node, (*_COMPARE, *_ARITHMETIC, exp.Div))

    def _emit(self, node: exp.Expression) -> Encoding:
        read = self.leaf(node)
        if read is not None:
            return read
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
            exp.If: self._if,
            _Choice: self._choice,
            exp.Nullif: self._null_if,
            exp.Greatest: self._extreme,
            exp.Least: self._extreme,
            exp.DateDiff: self._days_between,
        }

    def _whole(self, value: int) -> Encoding:
        self._op(Op.CONST_I, self.pool.constant(value, real=False), change=1)
        return Encoding.INTEGER

    def _null(self) -> Encoding:
        self._op(Op.NULL, change=1)
        return Encoding.INTEGER

    def _literal(self, node: exp.Expression) -> Encoding:
        if node.is_string:
            return self._text(str(node.this))
        if str(node.this).isdigit() and int(node.this) < 1 << 63:
            return self._whole(int(node.this))
        self._op(Op.CONST_F, self.pool.constant(float(node.this), real=True), change=1)
        return Encoding.FLOAT

    def _text(self, value: str) -> Encoding:
        self._op(Op.CONST_I, self.pool.string(value), change=1)
        return Encoding.CODE

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
        if encoding is Encoding.CODE and not self.ordered_texts and not isinstance(node, exp.EQ | exp.NEQ | exp.NullSafeEQ):
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

    def _if(self, node: exp.Expression) -> Encoding:
        return self._choose(node.this, node.args["true"], node.args.get("false") or exp.Null())

    def _null_if(self, node: exp.Expression) -> Encoding:
        same = exp.EQ(this=node.this.copy(), expression=node.expression.copy())
        return self._choose(same, exp.Null(), node.this)

    def _extreme(self, node: exp.Expression) -> Encoding:
        """GREATEST and LEAST leave nulls out."""
        compare = exp.GTE if isinstance(node, exp.Greatest) else exp.LTE
        options = [node.this, *node.expressions]
        best = options[0].copy()
        for option in options[1:]:
            missing = exp.Is(this=option.copy(), expression=exp.Null())
            keeps = exp.Or(this=missing, expression=compare(this=best.copy(), expression=option.copy()))
            best = _Choice(this=keeps, true=best.copy(), false=option.copy())
        return self._choice(best) if isinstance(best, _Choice) else self._emit(best)

    def _days_between(self, node: exp.Expression) -> Encoding:
        if node.args.get("unit"):
            raise OpaqueCondition(node)
        encoding = self._same_encoding((node.this, node.expression))
        if encoding is not Encoding.INTEGER:
            raise OpaqueCondition(node)
        self._op(Op.SUB_I, change=-1)
        self._op(Op.TO_F)
        self._op(Op.CONST_F, self.pool.constant(MICROSECONDS["DAY"], real=True), change=1)
        self._op(Op.DIV_F, change=-1)
        return Encoding.FLOAT

    def _cast(self, node: exp.Expression) -> Encoding:
        if not node.is_type("double"):
            raise OpaqueCondition(node)
        encoding = self._emit(node.this)
        self._to_float(encoding, node)
        return Encoding.FLOAT


class _Choice(exp.Case):
    """A two-way choice made while a CASE or COALESCE is taken apart."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "true": True, "false": True}
