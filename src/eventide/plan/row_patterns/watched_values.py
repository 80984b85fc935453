"""Which values of the past later conditions can read, so that the search can merge ways with the same future."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eventide.match.row_pattern.programs import (
    ACCUMULATOR,
    LABEL,
    NUMBER,
    ROW_F,
    ROW_I,
    SET_COUNT,
    WATCH_ACCUMULATOR,
    WATCH_COUNT,
    WATCH_LABEL,
    WATCH_ROW,
    RowPrograms,
)
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eventide.plan.row_patterns.automaton import RowAutomaton
    from eventide.plan.row_patterns.conditions import Definitions, Register

UNCAPPED = 2**62
MOST_MOVES_ANALYSED = 200_000
"""Larger automata take everything for live: that merges less and changes nothing else."""


@record
class Watch:
    """Something a later condition may read: a register's cell or label (`register` with its offset), a count, a sum."""

    kind: int
    register: Register | None
    a: int
    b: int = 0
    c: int = 0


@dataclass
class RegisterLayout:
    """Where registers stand: for each set of variables its count, its first rows, its last rows; then the sums."""

    definitions: Definitions
    base: list[int] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)
    lasts: list[int] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)
    size: int = 0

    def __post_init__(self) -> None:
        for variables in self.definitions.sets:
            of_set = [register for register in self.definitions.registers if register.variables == variables]
            firsts = max((register.offset + 1 for register in of_set if register.first), default=0)
            lasts = max((register.offset + 1 for register in of_set if not register.first), default=0)
            self.base.append(self.size)
            self.firsts.append(firsts)
            self.lasts.append(lasts)
            self.size += 1 + firsts + lasts
        for _ in self.definitions.accumulators:
            self.sums.append(self.size)
            self.size += 2

    def place(self, register: Register) -> int:
        """Return the number of a register in the kernels."""
        member = self.definitions.sets.index(register.variables)
        return self.base[member] + 1 + register.offset + (0 if register.first else self.firsts[member])


def row_programs(definitions: Definitions, automaton: RowAutomaton, variables: Sequence[str]) -> RowPrograms:
    """Lay all conditions on the match so far out in the arrays that kernels read; string codes are filled in later."""
    layout = RegisterLayout(definitions)
    watches = _Watches(definitions, layout)
    code: list[tuple[int, int, int, int]] = []
    first = [0]
    for program in definitions.programs:
        for op, a, b, c in program.code:
            if op in (ROW_I, ROW_F, LABEL) and a >= 0:
                code.append((op, layout.place(definitions.registers[a]), b, c))
            else:
                code.append((op, a, b, c))
        first.append(len(code))
    live = watches.live(automaton)
    sets = definitions.sets
    return RowPrograms(
        np.array(code, np.int64).reshape(-1, 4),
        np.array([*definitions.constants, 0], np.int64),
        np.array(first, np.int32),
        np.array([[name in members for name in variables] for members in sets], np.uint8).reshape(len(sets), len(variables)),
        np.array(layout.base, np.int32),
        np.array(layout.firsts, np.int32),
        np.array(layout.lasts, np.int32),
        np.array([sets.index(item.variables) for item in definitions.accumulators], np.int32),
        np.array([item.op for item in definitions.accumulators], np.int32),
        np.array([item.column for item in definitions.accumulators], np.int32),
        np.array(layout.sums, np.int32),
        layout.size,
        np.zeros(len(variables), np.int64),
        np.array([watches.row(watch) for watch in watches.all], np.int64).reshape(-1, 4),
        live,
        int(watches.merges),
        int(any(op == NUMBER for program in definitions.programs for op, *_ in program.code)),
    )


class _Watches:
    def __init__(self, definitions: Definitions, layout: RegisterLayout) -> None:
        self.definitions = definitions
        self.layout = layout
        self.all: list[Watch] = []
        self.merges = True
        self._read = [self._of_program(program.code) for program in definitions.programs]

    def row(self, watch: Watch) -> tuple[int, int, int, int]:
        """Return a watch as kernels read it."""
        a = watch.a if watch.register is None else self.layout.place(watch.register)
        return watch.kind, a, watch.b, watch.c

    def _number(self, watch: Watch) -> int:
        if watch not in self.all:
            self.all.append(watch)
        return self.all.index(watch)

    def _of_program(self, code: tuple[tuple[int, int, int, int], ...]) -> list[Watch]:
        """Return what a program reads, and make all watches that follow from it."""
        read = []
        for op, a, b, c in code:
            for watch in self._of_instruction(op, a, b, c):
                self._number(watch)
                read.append(watch)
                register = watch.register
                if register is not None and not register.first:
                    # What is the last row now will be the last but one when another comes.
                    for offset in range(register.offset):
                        self._number(_moved(watch, offset))
        return read

    def _of_instruction(self, op: int, a: int, b: int, c: int) -> Iterator[Watch]:
        if op in (ROW_I, ROW_F, LABEL) and a >= 0:
            register = self.definitions.registers[a]
            yield Watch(WATCH_LABEL if op == LABEL else WATCH_ROW, register, -1, b, c)
            if op == LABEL and c > 0:
                # The label of a row behind the register may not be known yet, so no value stands for it.
                self.merges = False
            if register.first:
                member = self.definitions.sets.index(register.variables)
                yield Watch(WATCH_COUNT, None, member, register.offset + 1)
        elif op == SET_COUNT:
            yield Watch(WATCH_COUNT, None, a, UNCAPPED)
        elif op == ACCUMULATOR:
            yield Watch(WATCH_ACCUMULATOR, None, a)

    def live(self, automaton: RowAutomaton) -> npt.NDArray[np.uint8]:
        """Return for each position which watches a later condition may read."""
        positions = len(automaton.positions)
        result = np.ones((max(1, positions), len(self.all)), np.uint8)
        if not self.all or sum(map(len, automaton.moves)) > MOST_MOVES_ANALYSED:
            return result
        numbers = {watch: number for number, watch in enumerate(self.all)}
        inside = [frozenset[int]()] * positions
        changed = True
        while changed:
            changed = False
            for number in range(positions - 1, -1, -1):
                needed = self._before(automaton.positions[number].variable, self._after(automaton, number, inside), numbers)
                if needed != inside[number]:
                    inside[number] = needed
                    changed = True
        result[:] = 0
        for number in range(positions):
            for watch in self._after(automaton, number, inside):
                result[number, watch] = 1
        return result

    def _after(self, automaton: RowAutomaton, number: int, inside: list[frozenset[int]]) -> frozenset[int]:
        return frozenset().union(*(inside[move] for move in automaton.moves[number] if move >= 0))

    def _before(self, variable: str, after: frozenset[int], numbers: dict[Watch, int]) -> frozenset[int]:
        """Return what must be known before a row is mapped to the variable, for its condition and for what comes after."""
        needed = {self.all[number] for number in after}
        if variable in self.definitions.program_of:
            needed.update(self._read[self.definitions.program_of[variable]])
        earlier = set()
        for watch in needed:
            register = watch.register
            if register is not None and not register.first and variable in register.variables:
                if register.offset:
                    earlier.add(numbers[_moved(watch, register.offset - 1)])
            else:
                earlier.add(numbers[watch])
        return frozenset(earlier)


def _moved(watch: Watch, offset: int) -> Watch:
    assert watch.register is not None
    register = type(watch.register)(watch.register.variables, watch.register.first, offset)
    return Watch(watch.kind, register, watch.a, watch.b, watch.c)
