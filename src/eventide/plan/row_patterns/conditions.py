"""DEFINE: conditions that look at rows become bits of the symbol mask, the others programs that the search runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, TypeVar

from sqlglot import exp

from eventide.errors import BindError
from eventide.match.programs.operators import Op
from eventide.match.row_pattern.marking import OPERATIONS
from eventide.match.row_pattern.programs import ACCUMULATOR, LABEL, NUMBER, ROW_F, ROW_I, SET_COUNT
from eventide.pattern.expressions import conjunct_trees
from eventide.plan.expressions.columns import check_kinds, require_boolean
from eventide.plan.expressions.evaluable import kinds_at
from eventide.plan.expressions.operators import ENCODINGS, ConstantPool, Encoding, OpaqueCondition, OperatorEmitter, ValueColumn
from eventide.plan.expressions.references import span_of
from eventide.plan.expressions.schema import Kind
from eventide.plan.row_patterns.readings import Cell, Classifier, MatchNumber, Navigation, Reader, Total, mark_number
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eventide.pattern.row_patterns import Definition
    from eventide.plan.expressions.schema import KindsOf
    from eventide.plan.row_patterns.readings import Names, ReadExpression, Reading

MOST_BITS = 62
_T = TypeVar("_T")
_SUMS = {
    ("sum", False): Op.SUM_I,
    ("sum", True): Op.SUM_F,
    ("avg", False): Op.AVG_I,
    ("avg", True): Op.AVG_F,
    ("min", False): Op.MIN_I,
    ("min", True): Op.MIN_F,
    ("max", False): Op.MAX_I,
    ("max", True): Op.MAX_F,
}


@record
class Neighbour:
    """A value of a row near the current one, which a condition on rows reads; computed with LAG or LEAD."""

    sql: str
    shift: int
    tree: exp.Expression = field(compare=False, repr=False)


@record
class Program:
    """A condition on the match so far. Operands of loads are numbers of registers, sets and accumulators."""

    code: tuple[tuple[int, int, int, int], ...]


@record
class RowCondition:
    """A condition on rows: `tree` over columns of the input, in which `__et_n0`, ... stand for neighbours.

    `program` judges it in the match stage where that gives the same result as the relational engine.
    """

    tree: exp.Expression
    neighbours: tuple[Neighbour, ...]
    program: Program | None = None
    windowed: bool = field(init=False)
    """Whether the relational engine judges it with LAG and LEAD."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "windowed", bool(self.neighbours) and self.program is None)


@record
class BoundDefinition:
    """The condition of a variable in two parts: what looks at rows sets `bit`, the rest looks at the match so far."""

    variable: str
    bit: int | None
    on_rows: tuple[exp.Expression, ...]
    on_match: tuple[exp.Expression, ...]
    reads: tuple[Reading, ...]
    """What the second part reads of the match."""


@record
class Register:
    """The n-th row of some variables, from the first or back from the last."""

    variables: frozenset[str]
    first: bool
    offset: int


@record
class Accumulator:
    """A running aggregate over the values of a column at the rows of some variables."""

    variables: frozenset[str]
    op: Op
    column: int


@dataclass
class Texts(ConstantPool):
    """Constants, where each string has a place of its own: its code is known when the rows are."""

    places: dict[str, int] = field(default_factory=dict)

    def string(self, value: str) -> int:
        """Return the place of a string constant."""
        if value not in self.places:
            self.places[value] = len(self.constants)
            self.constants.append(-1 - len(self.places))
        return self.places[value]


@record(kw_only=True)
class Definitions:
    """The conditions of DEFINE: as they were bound, as bits of the symbol mask, and as programs with what these read."""

    bound: tuple[BoundDefinition, ...]
    predicates: tuple[RowCondition, ...]
    values: tuple[ValueColumn, ...]
    constants: tuple[int, ...]
    strings: Mapping[str, int]
    """Where the codes of string constants belong among the constants."""
    registers: tuple[Register, ...]
    sets: tuple[frozenset[str], ...]
    accumulators: tuple[Accumulator, ...]
    programs: tuple[Program, ...]
    bit_of: Mapping[str, int]
    program_of: Mapping[str, int]


@dataclass
class DefinitionBinder:
    """Binds the conditions of DEFINE, one after the other."""

    names: Names
    kinds_of: KindsOf
    bound: list[BoundDefinition] = field(default_factory=list)
    bits: list[RowCondition] = field(default_factory=list)
    columns: list[ValueColumn] = field(default_factory=list)
    pool: Texts = field(default_factory=Texts)
    registers: list[Register] = field(default_factory=list)
    sets: list[frozenset[str]] = field(default_factory=list)
    accumulators: list[Accumulator] = field(default_factory=list)
    programs: list[Program] = field(default_factory=list)
    bit_of: dict[str, int] = field(default_factory=dict)
    program_of: dict[str, int] = field(default_factory=dict)
    rounded: set[int] = field(default_factory=set)
    """Columns whose exact values are wider decimals than a double holds."""
    _known_bits: dict[tuple[str, tuple[Neighbour, ...]], int] = field(default_factory=dict)

    def bind(self, definition: Definition) -> None:
        """Bind the condition of one variable."""
        reader = Reader(self.names, defines=definition.variable)
        local: list[ReadExpression] = []
        dependent: list[ReadExpression] = []
        for part in conjunct_trees(definition.condition.tree):
            taken = reader.take(part)
            self._check(taken)
            (local if all(_looks_at_rows(reading) for reading in taken.readings) else dependent).append(taken)
        if local:
            self._add_bit(definition, local)
        if dependent:
            self._add_program(definition, dependent)
        self.bound.append(
            BoundDefinition(
                definition.variable,
                self.bit_of.get(definition.variable),
                on_rows=tuple(part.source for part in local),
                on_match=tuple(part.source for part in dependent),
                reads=tuple(reading for part in dependent for reading in part.readings if not _looks_at_rows(reading)),
            )
        )

    def definitions(self) -> Definitions:
        """Return what has been bound."""
        return Definitions(
            bound=tuple(self.bound),
            predicates=tuple(self.bits),
            values=tuple(self.columns),
            constants=tuple(self.pool.constants),
            strings=dict(self.pool.places),
            registers=tuple(self.registers),
            sets=tuple(self.sets),
            accumulators=tuple(self.accumulators),
            programs=tuple(self.programs),
            bit_of=dict(self.bit_of),
            program_of=dict(self.program_of),
        )

    def _check(self, taken: ReadExpression) -> None:
        text = self.names.text
        refuse_totals(taken, self.names, self.kinds_of)
        probe = probe_of(taken)
        try:
            require_boolean(taken.source, check_kinds(probe, self.names.schema, text), text)
            kind = kinds_at(self.kinds_of, [probe], text, taken.source)[0]
            require_boolean(taken.source, None if kind is Kind.OTHER else kind, text)
        except BindError as error:
            raise self.names.error(error.condition, error.message, taken.source, error.hint or "") from None

    def _add_bit(self, definition: Definition, parts: list[ReadExpression]) -> None:
        neighbours: dict[Neighbour, int] = {}
        trees = [_on_rows(part, definition.variable, neighbours) for part in parts]
        tree = reduce(lambda one, other: exp.And(this=one, expression=other), trees)
        key = (tree.sql(dialect="spark"), tuple(neighbours))
        if key not in self._known_bits:
            if len(self.bits) == MOST_BITS:
                raise self.names.error(
                    "TOO_MANY_CONDITIONS",
                    f"DEFINE has more than {MOST_BITS} different conditions.",
                    definition.condition.tree,
                    "Use fewer variables.",
                )
            self._known_bits[key] = len(self.bits)
            program = self._judged_by_columns(definition, parts) if neighbours else None
            self.bits.append(RowCondition(tree, tuple(neighbours), program))
        self.bit_of[definition.variable] = self._known_bits[key]

    def _judged_by_columns(self, definition: Definition, parts: list[ReadExpression]) -> Program | None:
        """Return the program of a condition on neighbours, None where only the relational engine has its exact meaning."""
        before = len(self.columns)
        try:
            program = self._program(definition, parts)
        except OpaqueCondition:
            program = None
        if program is not None and self._is_exact(program):
            return program
        del self.columns[before:]
        return None

    def _is_exact(self, program: Program) -> bool:
        """Return whether columns of doubles and integers give what the relational engine would."""
        operations = {op for op, *_ in program.code}
        read = {b for op, _, b, _ in program.code if op in (ROW_I, ROW_F)}
        decimal = any(column in self.rounded or self.columns[column].kind is Kind.DECIMAL for column in read)
        # 1.1 is a decimal: beside whole numbers the engines calculate exactly, which doubles do not.
        return operations <= OPERATIONS and not decimal and not {Op.CONST_F, Op.TO_F} <= operations

    def _program(self, definition: Definition, parts: list[ReadExpression]) -> Program:
        code: list[tuple[int, int, int, int]] = []
        for number, part in enumerate(parts):
            code.extend(_RowEmitter(self, part, definition.variable).run())
            if number:
                code.append((int(Op.AND), 0, 0, 0))
        return Program(tuple(code))

    def _add_program(self, definition: Definition, parts: list[ReadExpression]) -> None:
        for part in parts:
            try:
                self._program(definition, [part])
            except OpaqueCondition as opaque:
                raise self._opaque(part, opaque) from None
        self.program_of[definition.variable] = len(self.programs)
        self.programs.append(self._program(definition, parts))

    def _opaque(self, part: ReadExpression, opaque: OpaqueCondition) -> BindError:
        return self.names.error(
            "OPAQUE_CONDITION",
            f"{self._written(part.source)} computes with several rows of the match in a way that the search cannot follow"
            f" ({type(opaque.node).__name__.upper()}).",
            part.source,
            "Compare, add and count values of rows here; apply other functions to the columns of one row, or in the input.",
        )

    def _written(self, node: exp.Expression) -> str:
        """Return what the user wrote."""
        span = span_of(node, with_calls=True)
        text = self.names.text
        return node.sql(dialect="spark") if span is None or text is None else " ".join(text[span.start : span.end].split())

    def column(self, tree: exp.Expression, source: exp.Expression) -> tuple[int, Encoding]:
        """Return the number and encoding of an expression over one row."""
        sql = tree.sql(dialect="spark")
        for number, known in enumerate(self.columns):
            if known.sql == sql:
                return number, known.encoding
        kind = kinds_at(self.kinds_of, [tree], self.names.text, source)[0]
        if kind is Kind.OTHER and check_kinds(tree, self.names.schema, None) in (Kind.FLOAT, Kind.DECIMAL):
            kind = Kind.FLOAT
            self.rounded.add(len(self.columns))
        if kind not in ENCODINGS:
            raise BindError(
                "UNSUPPORTED_VALUE",
                f"Conditions on the match so far cannot read {sql}, its type is not a number, text, time or truth value.",
                text=self.names.text,
                span=span_of(source, with_calls=True),
                hint="Convert it, for example CAST(x AS DOUBLE); decimals may have up to 15 digits.",
            )
        self.columns.append(ValueColumn(tree, sql, kind))
        return len(self.columns) - 1, self.columns[-1].encoding

    def set_number(self, variables: frozenset[str] | None) -> int:
        """Return the number of a set of variables; None is all of them."""
        return _number(self.sets, frozenset(self.names.variables) if variables is None else variables)

    def register(self, place: Navigation) -> int:
        """Return the register that follows a place, or -1 for the current row."""
        if place.current:
            return -1
        self.set_number(place.variables)
        variables = frozenset(self.names.variables) if place.variables is None else place.variables
        return _number(self.registers, Register(variables, place.first, place.offset))


class _RowEmitter(OperatorEmitter):
    """Writes the program of one condition on the match so far."""

    ordered_texts = True

    def __init__(self, definitions: DefinitionBinder, taken: ReadExpression, variable: str) -> None:
        super().__init__(definitions.pool, taken.rest, definitions.names.text)
        self.definitions = definitions
        self.taken = taken
        self.variable = variable

    def run(self) -> list[tuple[int, int, int, int]]:
        """Return the instructions."""
        self._emit(self.tree)
        return self.code

    def leaf(self, node: exp.Expression) -> Encoding | None:
        """Emit a reading, or a function of the columns of one row."""
        number = mark_number(node)
        if number is not None:
            return self._reading(self.taken.readings[number])
        if self.knows(node):
            return None
        read = [self.taken.readings[m] for m in map(mark_number, node.walk()) if m is not None]
        cells = [reading for reading in read if isinstance(reading, Cell)]
        places = {cell.place for cell in cells}
        if len(cells) < len(read) or len(places) > 1:
            raise OpaqueCondition(node)
        return self._function_of_row(node, next(iter(places), Navigation()))

    def _function_of_row(self, node: exp.Expression, place: Navigation) -> Encoding:
        """Emit a function that the relational engine computes for every row; where there is no row, for nulls."""
        tree = _with_cells(node, self.taken)
        if place.current and place.shift == 0:
            return self._load(place, tree)
        self._load(place, exp.true())
        self._op(Op.IS_NULL)
        encoding = self._load(Navigation(), _of_nulls(node, self.taken))
        if self._load(place, tree) is not encoding:
            raise OpaqueCondition(node)
        self._op(Op.IF_F if encoding is Encoding.FLOAT else Op.IF_I, change=-2)
        return encoding

    def _load(self, place: Navigation, tree: exp.Expression) -> Encoding:
        column, encoding = self.definitions.column(tree, self.taken.source)
        op = ROW_F if encoding is Encoding.FLOAT else ROW_I
        self._op(op, self.definitions.register(place), column, place.shift, change=1)
        return encoding

    def _reading(self, reading: Reading) -> Encoding:
        match reading:
            case Cell(place, _, tree):
                return self._load(place, tree)
            case Classifier(place, of):
                if place.current and place.shift == 0:
                    return self._text(self.variable)
                member = -1 if of is None else self.definitions.set_number(of)
                self._op(LABEL, self.definitions.register(place), member, place.shift, change=1)
                return Encoding.CODE
            case MatchNumber():
                self._op(NUMBER, change=1)
                return Encoding.INTEGER
            case Total(_, variables, _, None):
                self._op(SET_COUNT, self.definitions.set_number(variables), change=1)
                return Encoding.INTEGER
        return self._total(reading)

    def _total(self, total: Total) -> Encoding:
        assert total.tree is not None
        variables = frozenset(self.definitions.names.variables) if total.variables is None else total.variables
        self.definitions.set_number(variables)
        column, encoding = self.definitions.column(total.tree, self.taken.source)
        if total.function == "count":
            op = Op.COUNT_VALUE
        elif total.function in ("sum", "avg") and encoding is Encoding.CODE:
            raise OpaqueCondition(total.tree)
        else:
            op = _SUMS[total.function, encoding is Encoding.FLOAT]
        accumulator = _number(self.definitions.accumulators, Accumulator(variables, op, column))
        self._op(ACCUMULATOR, accumulator, int(op), change=1)
        if op is Op.COUNT_VALUE:
            return Encoding.INTEGER
        return Encoding.FLOAT if total.function == "avg" else encoding


def refuse_totals(
    taken: ReadExpression, names: Names, kinds_of: KindsOf
) -> None:
    """Refuse sums of what is not a number."""
    for total in taken.readings:
        if not isinstance(total, Total) or total.tree is None or total.function not in ("sum", "avg"):
            continue
        kind = kinds_at(kinds_of, [total.tree], names.text, taken.source)[0]
        if kind is not Kind.OTHER and not kind.numeric:
            shown = total.tree.sql(dialect="spark").replace("`", "")
            convert = "INT" if kind is Kind.BOOLEAN else "DOUBLE"
            raise names.error(
                "TYPE_MISMATCH",
                f"{total.function.upper()} adds numbers, {shown} is {kind.named}.",
                taken.source,
                f"Use MIN, MAX or COUNT, or convert it: {total.function.upper()}(CAST({shown} AS {convert})).",
            )


def probe_of(taken: ReadExpression) -> exp.Expression:
    """Return an expression over one row with the types of the given one: what reads the match reads a row instead."""
    holder = exp.Paren(this=taken.rest.copy())
    for node in list(holder.walk(bfs=False)):
        number = mark_number(node)
        if number is not None:
            node.replace(_probe(taken.readings[number]))
    result = holder.this
    assert isinstance(result, exp.Expression)
    return result


def _probe(reading: Reading) -> exp.Expression:
    match reading:
        case Cell(_, _, tree):
            return tree.copy()
        case Classifier():
            return exp.Literal.string("")
        case Total("sum" | "min" | "max", _, _, _, tree) if tree is not None:
            return exp.Paren(this=tree.copy())
        case Total("avg", _, _, _, tree) if tree is not None:
            return exp.cast(tree.copy(), "double")
    return exp.cast(exp.Literal.number(1), "bigint")


def _looks_at_rows(reading: Reading) -> bool:
    if isinstance(reading, Cell):
        return reading.place.current
    return isinstance(reading, Classifier) and reading.place.current and reading.place.shift == 0


def _on_rows(taken: ReadExpression, variable: str, neighbours: dict[Neighbour, int]) -> exp.Expression:
    """Return a condition over the columns of one row and its neighbours."""
    holder = exp.Paren(this=taken.rest.copy())
    for node in list(holder.walk(bfs=False)):
        number = mark_number(node)
        if number is None:
            continue
        reading = taken.readings[number]
        if isinstance(reading, Classifier):
            node.replace(exp.Literal.string(variable))
            continue
        assert isinstance(reading, Cell)
        if reading.place.shift == 0:
            node.replace(reading.tree.copy())
        else:
            neighbour = Neighbour(reading.sql, reading.place.shift, reading.tree)
            node.replace(exp.column(f"__et_n{neighbours.setdefault(neighbour, len(neighbours))}"))
    return holder


def _with_cells(node: exp.Expression, taken: ReadExpression) -> exp.Expression:
    return _replaced(node, lambda number: taken.readings[number].tree.copy())  # type: ignore[union-attr]


def _of_nulls(node: exp.Expression, taken: ReadExpression) -> exp.Expression:
    # NULL with the type of the value: engines choose functions by the types of their arguments.
    def null_of(number: int) -> exp.Expression:
        reading = taken.readings[number]
        assert isinstance(reading, Cell)
        return exp.Case(ifs=[exp.If(this=exp.false(), true=reading.tree.copy())])

    return _replaced(node, null_of)


def _replaced(node: exp.Expression, make: Callable[[int], exp.Expression]) -> exp.Expression:
    holder = exp.Paren(this=node.copy())
    for part in list(holder.walk(bfs=False)):
        number = mark_number(part)
        if number is not None:
            part.replace(make(number))
    result = holder.this
    assert isinstance(result, exp.Expression)
    return result


def _number(known: list[_T], item: _T) -> int:
    if item not in known:
        known.append(item)
    return known.index(item)
