"""What row conditions and measures read, in the words of SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.language.reading.short_forms import make_identifier
from eventide.match.programs.operators import Op
from eventide.match.row_pattern.programs import WATCH_COUNT, WATCH_LABEL, WATCH_ROW
from eventide.pattern.row_pattern_printing import quote_variable
from eventide.plan.row_patterns.readings import Cell, Classifier, MatchNumber, Total
from eventide.plan.row_patterns.watched_values import UNCAPPED
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eventide.plan.row_patterns.conditions import RowCondition
    from eventide.plan.row_patterns.plan import RowPlan
    from eventide.plan.row_patterns.readings import Navigation, Reading

_FUNCTIONS = {
    Op.SUM_I: "SUM",
    Op.SUM_F: "SUM",
    Op.AVG_I: "AVG",
    Op.AVG_F: "AVG",
    Op.MIN_I: "MIN",
    Op.MIN_F: "MIN",
    Op.MAX_I: "MAX",
    Op.MAX_F: "MAX",
    Op.COUNT_VALUE: "COUNT",
}


def plain_sql(tree: exp.Expression, variable: str | None = None) -> str:
    """Return an expression with quotes only where they are needed, RUNNING and FINAL as they are written, its columns qualified.

    >>> from sqlglot import parse_one
    >>> plain_sql(parse_one("`price` + `a b`", dialect="spark"), "A")
    'A.price + A.`a b`'
    """
    holder = exp.Paren(this=tree.copy())
    for identifier in holder.find_all(exp.Identifier):
        identifier.set("quoted", make_identifier(identifier.name).quoted)
    for column in list(holder.find_all(exp.Column)) if variable is not None else ():
        column.set("table", exp.to_identifier(variable, quoted=quote_variable(variable or "") != variable))
    for call in list(holder.find_all(exp.Anonymous))[::-1]:
        if call.this in ("RUNNING", "FINAL"):
            call.replace(exp.Var(this=f"{call.this} {call.expressions[0].sql(dialect='spark')}"))
    return str(holder.this.sql(dialect="spark"))


@record
class ReadingNames:
    """Names the readings of one plan; `running` adds RUNNING or FINAL, where they differ."""

    plan: RowPlan
    running: bool = False

    def name(self, reading: Reading) -> str:
        """Return a reading as SQL."""
        match reading:
            case Cell(place, _, tree):
                return self._placed(place, plain_sql(tree, self._variable(place.variables)))
            case Classifier(place, of):
                variable = self._variable(of if of is not None else place.variables)
                classifier = f"CLASSIFIER({quote_variable(variable) if variable else ''})"
                if place.first or place.offset:
                    return self._placed(place, classifier)
                return _moved(f"{self._semantics(final=place.final)}{classifier}", place.shift)
            case Total(function, variables, final, _, tree):
                counted = self._star(variables) if tree is None else plain_sql(tree, self._variable(variables))
                return f"{self._semantics(final=final)}{function.upper()}({counted})"
            case MatchNumber():
                return "MATCH_NUMBER()"

    def observed(self) -> list[str]:
        """Return what later conditions may read of the past: steps of the search that agree on it are merged."""
        programs = self.plan.programs
        needed = [number for number in range(len(programs.watch)) if programs.live[:, number].any()]
        return list(dict.fromkeys(self._watched(*map(int, programs.watch[number])) for number in needed))

    def _watched(self, kind: int, a: int, b: int, c: int) -> str:
        programs = self.plan.programs
        if kind == WATCH_COUNT:
            counted = f"COUNT({self._star(self._set(a))})"
            return counted if b >= UNCAPPED else f"{counted} up to {b}"
        if kind in (WATCH_ROW, WATCH_LABEL):
            return self._register(kind, a, b, c)
        variables = self._set(int(programs.sum_set[a]))
        value = plain_sql(self.plan.values[int(programs.sum_column[a])].tree, self._variable(variables))
        return f"{_FUNCTIONS[Op(int(programs.sum_op[a]))]}({value})"

    def _register(self, kind: int, register: int, content: int, shift: int) -> str:
        programs = self.plan.programs
        member = max(number for number, base in enumerate(programs.set_base) if base < register)
        variables = self._set(member)
        offset = register - int(programs.set_base[member]) - 1
        first = offset < programs.set_firsts[member]
        offset -= 0 if first else int(programs.set_firsts[member])
        if kind == WATCH_LABEL:
            variable = self._variable(variables)
            value = f"CLASSIFIER({quote_variable(variable) if variable else ''})"
        else:
            tree = self.plan.values[content].tree
            # What asks only whether there is such a row reads TRUE there.
            value = self._star(variables) if isinstance(tree, exp.Boolean) else plain_sql(tree, self._variable(variables))
        return _moved(f"{'FIRST' if first else 'LAST'}({value}{f', {offset}' if offset else ''})", shift)

    def _placed(self, place: Navigation, value: str) -> str:
        if place.current and not self.running:
            return _moved(value, place.shift)
        offset = f", {place.offset}" if place.offset else ""
        return _moved(f"{self._semantics(final=place.final)}{'FIRST' if place.first else 'LAST'}({value}{offset})", place.shift)

    def _semantics(self, *, final: bool) -> str:
        return ("FINAL " if final else "RUNNING ") if self.running else ""

    def _star(self, variables: frozenset[str] | None) -> str:
        name = self._variable(variables)
        return "*" if name is None else f"{quote_variable(name)}.*"

    def _set(self, number: int) -> frozenset[str]:
        members = self.plan.programs.set_has[number]
        return frozenset(name for name, inside in zip(self.plan.query.variables, members, strict=True) if inside)

    def _variable(self, variables: frozenset[str] | None) -> str | None:
        """Return the variable or subset of a set of variables; None is all rows of the match."""
        if variables is None:
            return None
        if len(variables) == 1:
            return next(iter(variables))
        subsets = {frozenset(name.text for name in subset.members): subset.name for subset in self.plan.query.subsets}
        return subsets.get(variables)


def _moved(text: str, shift: int) -> str:
    if shift == 0:
        return text
    return f"{'PREV' if shift < 0 else 'NEXT'}({text}{f', {abs(shift)}' if abs(shift) > 1 else ''})"


def joined(words: Iterable[str]) -> str:
    """Return words with commas and an "and".

    >>> joined(["a", "b", "c"])
    'a, b and c'
    """
    *front, last = words
    return f"{', '.join(front)} and {last}" if front else last


def neighbours_of(condition: RowCondition) -> Iterator[str]:
    """Yield the values of neighbouring rows that a condition reads; by LAG or LEAD when the relational engine does."""
    for neighbour in condition.neighbours:
        value = plain_sql(neighbour.tree)
        if condition.windowed:
            yield f"{'LAG' if neighbour.shift < 0 else 'LEAD'}({value}, {abs(neighbour.shift)})"
        else:
            yield _moved(value, neighbour.shift)
