"""Random expressions of MEASURES and DEFINE: everything that reads a match, under operators and functions of SQL."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

NUMBERS = ("v", "v", "v", "u", "t", "w", "w", "d")
COMPARISONS = ("=", "<", "<=", ">", ">=", "<>", "<=>")


@dataclass(frozen=True)
class ExpressionMaker:
    """Makes expressions over the variables of a pattern and its subsets.

    `own` is the variable whose condition is made, None in MEASURES, where FINAL may stand.
    """

    rng: Random
    variables: tuple[str, ...]
    subsets: tuple[str, ...] = ()
    own: str | None = None
    zero_division: bool = True
    """Whether divisors may be 0, which is null here and in DuckDB, and an error in Spark."""

    # Conditions ------------------------------------------------------------------------------------------------------

    def condition(self, depth: int = 2) -> str:
        """Return a condition on rows and, often, on the match so far."""
        rng = self.rng
        chance = rng.random()
        if depth and chance < 0.12:
            return f"({self.condition(depth - 1)} OR {self.condition(depth - 1)})"
        if depth and chance < 0.2:
            return f"({self.condition(depth - 1)} AND {self.condition(depth - 1)})"
        if depth and chance < 0.25:
            return f"NOT ({self.condition(depth - 1)})"
        if depth and chance < 0.28:
            return f"CASE WHEN {self.condition(0)} THEN {self.condition(0)} ELSE {self.condition(depth - 1)} END"
        if depth and chance < 0.3:
            return f"IF({self.condition(0)}, {self.condition(0)}, {rng.choice(('NULL', 'TRUE', self.condition(0)))})"
        if depth and chance < 0.33:
            return f"COALESCE({self.condition(depth - 1)}, {rng.choice(('TRUE', 'FALSE'))})"
        return rng.choices(
            (self._compared, self._compared_texts, self._truth, self._missing, self._between, self._listed, self._times),
            (10, 4, 2, 2, 2, 2, 1),
        )[0]()

    def local_condition(self) -> str:
        """Return a condition on the row itself or on its neighbours."""
        rng = self.rng
        name = f"{self.own}." if self.own is not None and rng.random() < 0.6 else ""
        column = rng.choice(("v", "v", "u", "w"))
        match rng.randrange(8):
            case 0:
                return f"{name}s {rng.choice(COMPARISONS)} {self._text_literal()}"
            case 1:
                return rng.choice((f"{name}ok", f"NOT {name}ok", f"{name}{column} IS NOT NULL"))
            case 2 | 3:
                move = rng.choice(("PREV", "PREV", "NEXT"))
                offset = rng.choice(("", "", ", 2", ", 0", ", 1"))
                return f"{name}{column} {rng.choice(COMPARISONS)} {move}({name}{column}{offset})"
            case 4:
                return f"COALESCE({name}{column} {rng.choice(('<', '>', '<=', '>='))} PREV({name}v), TRUE)"
            case 5:
                return f"{name}{column} IN ({rng.randint(0, 2)}, {rng.randint(1, 4)})"
        return f"{name}{column} {rng.choice(COMPARISONS)} {rng.randint(0, 3)}"

    def _compared(self) -> str:
        rng = self.rng
        left = self.number(1)
        right = self.number(1) if rng.random() < 0.65 else rng.choice(("0", "1", "2", "3", "1.5"))
        return f"{left} {rng.choice(COMPARISONS)} {right}"

    def _compared_texts(self) -> str:
        right = self.text() if self.rng.random() < 0.5 else self._text_literal()
        return f"{self.text()} {self.rng.choice(COMPARISONS)} {right}"

    def _times(self) -> str:
        column = self.rng.choice(("ts", "ts", "day"))
        return f"{self.navigated(column)} {self.rng.choice(COMPARISONS)} {self.navigated(column)}"

    def _truth(self) -> str:
        return self.rng.choice(("", "NOT ")) + self.navigated("ok")

    def _missing(self) -> str:
        reading = self.rng.choice((self.number, self.text))()
        return f"{reading} IS {self.rng.choice(('', 'NOT '))}NULL"

    def _between(self) -> str:
        low = self.rng.randint(0, 2)
        high = self.number() if self.rng.random() < 0.4 else str(low + self.rng.randint(0, 2))
        return f"{self.number()} {self.rng.choice(('', 'NOT '))}BETWEEN {low} AND {high}"

    def _listed(self) -> str:
        if self.rng.random() < 0.4:
            options = ", ".join(self._text_literal() for _ in range(3))
            return f"{self.text()} {self.rng.choice(('', 'NOT '))}IN ({options})"
        return f"{self.number()} IN ({self.rng.randint(0, 2)}, {self.number()}, 3)"

    def _text_literal(self) -> str:
        return self.rng.choice(("'p'", "'q'", "''", "'A'", "'B'", "'C'", "'Bb'", "'nowhere'"))

    # Values ----------------------------------------------------------------------------------------------------------

    def measure(self) -> str:
        """Return the expression of a measure."""
        rng = self.rng
        chance = rng.random()
        if chance < 0.2:
            return self.text()
        if chance < 0.26:
            return self.condition(1)
        if chance < 0.3:
            return self.navigated(rng.choice(("ok", "ts", "day")))
        if chance < 0.33:
            return self._semantics(
                f"{rng.choice(('MIN', 'MAX', 'COUNT'))}({self._variable()}{rng.choice(('ok', 'ts', 'day', 's', 'd'))})"
            )
        if chance < 0.36:
            return f"CASE {self.number()} WHEN {rng.randint(0, 2)} THEN {self.text()} ELSE {self.text()} END"
        return self.number(2)

    def number(self, depth: int = 0) -> str:
        """Return an expression with a number as its value."""
        rng = self.rng
        chance = rng.random()
        if depth and chance < 0.2:
            operator = rng.choice(("+", "-", "*", "+", "-"))
            return f"({self.number(depth - 1)} {operator} {self.number(depth - 1)})"
        if depth and chance < 0.26:
            return rng.choice(
                (
                    f"({self.number(depth - 1)} / {rng.choice(('2', '4', '-2'))})",
                    f"({self.number(depth - 1)} % 3)",
                    f"ABS({self.number(depth - 1)})",
                    f"(-{self.number(depth - 1)})",
                    f"({self.number(depth - 1)} * 1.5)",
                    f"({self.number(depth - 1)} / {self.number() if self.zero_division else 8})",
                )
            )
        if depth and chance < 0.32:
            return f"COALESCE({self.number(depth - 1)}, {rng.choice(('0', '1', self.number()))})"
        if depth and chance < 0.36:
            return f"CASE WHEN {self.condition(0)} THEN {self.number(depth - 1)} ELSE {rng.choice(('NULL', '0', self.number(0)))} END"
        if chance < 0.62:
            return self.navigated(rng.choice(NUMBERS))
        if chance < 0.68:
            return self._function_of_row()
        if chance < 0.72:
            return "MATCH_NUMBER()"
        return self.aggregate()

    def text(self) -> str:
        """Return an expression with text as its value."""
        chance = self.rng.random()
        if chance < 0.45:
            return self.classifier()
        if chance < 0.5:
            variable = self._variable()
            return self.rng.choice(
                (f"({variable}s || '-')", f"CONCAT({variable}s, {variable}s)", f"COALESCE({variable}s, 'none')")
            )
        if chance < 0.58:
            return self._semantics(f"{self.rng.choice(('MIN', 'MAX'))}({self._variable()}s)")
        return self.navigated("s")

    def navigated(self, column: str) -> str:
        """Return a column, plain or under navigation."""
        rng = self.rng
        variable = self._variable()
        value = f"{variable}{column}"
        if rng.random() < 0.3:
            return self._semantics(value) if rng.random() < 0.3 else value
        if column in ("v", "u", "w") and rng.random() < 0.2:
            value = rng.choice(
                (
                    f"{value} + {variable}u",
                    f"{value} * 2",
                    f"COALESCE({value}, 1)",
                    f"ABS({value})",
                    f"CASE WHEN {variable}ok THEN {value} END",
                    f"CASE WHEN CLASSIFIER() = '{rng.choice(self.variables)}' THEN {value} ELSE {variable}t END",
                    f"{value} + MATCH_NUMBER()",
                )
            )
        return self._moved(value)

    def classifier(self) -> str:
        """Return CLASSIFIER, plain or under navigation."""
        rng = self.rng
        named = "" if rng.random() < 0.5 else rng.choice((*self.variables, *self.subsets, *self.subsets))
        call = f"CLASSIFIER({named})"
        if rng.random() < 0.45:
            return self._semantics(call) if rng.random() < 0.2 else call
        return self._moved(call)

    def _moved(self, value: str) -> str:
        rng = self.rng
        inside = value
        logical = rng.random() < 0.6
        if logical:
            offset = rng.choice(("", "", ", 1", ", 2", ", 0"))
            inside = self._semantics(f"{rng.choice(('FIRST', 'LAST'))}({value}{offset})")
            if rng.random() < 0.65:
                return inside
        return f"{rng.choice(('PREV', 'PREV', 'NEXT'))}({inside}{rng.choice(('', '', ', 1', ', 2', ', 0'))})"

    def aggregate(self) -> str:
        """Return an aggregate over the rows of a variable, of a subset or of all."""
        rng = self.rng
        variable = self._variable()
        if rng.random() < 0.35:
            counted = rng.choice((f"{variable}*", "*", f"{variable}v", f"{variable}s", f"{variable}ok"))
            return self._semantics(f"COUNT({counted})")
        column = rng.choice(("v", "v", "u", "w", "d"))
        value = rng.choice(
            (f"{variable}{column}",) * 4 + (f"{variable}{column} * 2", f"{variable}v + {variable}u", f"LENGTH({variable}s)")
        )
        return self._semantics(f"{rng.choice(('SUM', 'AVG', 'MIN', 'MAX'))}({value})")

    def _function_of_row(self) -> str:
        variable = self._variable()
        return self.rng.choice(
            (
                f"LENGTH({variable}s)",
                f"NULLIF({variable}v, 1)",
                f"GREATEST({variable}v, {variable}u)",
                f"LEAST({variable}v, {variable}u, 2)",
                f"LENGTH({variable}s || 'x')",
                f"COALESCE(LENGTH({variable}s), -1)",
            )
        )

    def _semantics(self, reading: str) -> str:
        if self.rng.random() < 0.75:
            return reading
        word = "RUNNING" if self.own is not None or self.rng.random() < 0.3 else "FINAL"
        return f"{word} {reading}"

    def _variable(self) -> str:
        rng = self.rng
        if rng.random() < 0.25:
            return ""
        if self.own is not None and rng.random() < 0.25:
            return f"{self.own}."
        return f"{rng.choice((*self.variables, *self.variables, *self.subsets, *self.subsets))}."
