"""Clauses of MATCH_RECOGNIZE, rows for them, and their matcher at work, without a stage around it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np
import pyarrow as pa

from eventide.errors import BindError
from eventide.match.row_pattern.borders import closed_borders, open_borders
from eventide.match.row_pattern.horizon import NO_ROW_TO_COME, horizon_of
from eventide.plan.matchers.registry import ROWS
from eventide.runtime.budget.limits import DEFAULT_MAX_STEPS, StageLimits
from eventide.runtime.prepare.row_patterns import RowPreparation
from eventide.runtime.prepare.sequences import ARRIVAL
from eventide.runtime.stage.keys import SortedKeys
from eventide.runtime.stage.row_patterns import RowEncoder
from eventide.runtime.streams.queries.row_patterns import check_streamable
from eventide_reference import recognize
from stream_rows.running import ENGINE, plan_of

BEGIN = datetime(2024, 1, 1)  # noqa: DTZ001 - a time without a zone
SCHEMA = pa.schema([("id", pa.int64()), ("k", pa.int64()), ("t", pa.timestamp("us")), ("v", pa.int64()), ("s", pa.string())])


@dataclass(frozen=True)
class RowCase:
    """What follows ALL ROWS PER MATCH in a clause."""

    name: str
    clause: str
    searches: bool = False
    """Whether a condition looks at the match so far, so that moves are tried, in slices of steps."""

    @property
    def plan(self):
        text = f"PARTITION BY k ORDER BY t MEASURES MATCH_NUMBER() AS m, CLASSIFIER() AS c ALL ROWS PER MATCH {self.clause}"
        return plan_of(f"SELECT * FROM input MATCH_RECOGNIZE ({text})", SCHEMA.empty_table())

    @property
    def grows(self):
        """Whether matches can be certain before all rows are known."""
        try:
            check_streamable(self.plan)
        except BindError:
            return False
        return True

    def rows(self, seed, length=7):
        """Draw rows in the order of time, numbered; several have the same time."""
        draw = random.Random(f"{self.name} {seed}")
        seconds = sorted(draw.randrange(length) for _ in range(length))
        return [
            {
                "id": number,
                "k": draw.choice([1, 2, 2, 3, None]),
                "t": BEGIN + timedelta(seconds=second),
                "v": draw.choice([0, 1, 2, 3, None]),
                "s": draw.choice(["x", "y", None]),
            }
            for number, second in enumerate(seconds)
        ]


ROW_CASES = [
    RowCase("conditions on rows", "PATTERN (A B+ C?) DEFINE A AS v < 2, B AS v >= 1, C AS s = 'x'"),
    RowCase("neighbours", "PATTERN (A B+) DEFINE B AS v >= PREV(v)"),
    RowCase("neighbours ahead", "PATTERN (A+ B) DEFINE A AS v <= NEXT(v)"),
    RowCase("alternatives and permutations", "PATTERN (PERMUTE(A, B) (A | B C)*?) DEFINE A AS v < 2, B AS v > 0, C AS v < 3"),
    RowCase("empty matches", "PATTERN (A* B?) DEFINE A AS v = 1, B AS v = 2"),
    RowCase("overlapping matches", "AFTER MATCH SKIP TO NEXT ROW PATTERN (A B*) DEFINE A AS v < 2, B AS v >= 1"),
    RowCase("a window", "PATTERN (A B*) WITHIN INTERVAL 2 SECONDS DEFINE A AS v < 3, B AS v >= 1"),
    RowCase("from end to end", "PATTERN (^ A+ B* $) DEFINE A AS v < 3"),
    RowCase("the match so far", "PATTERN (A B+ C?) DEFINE B AS B.v >= A.v, C AS C.v < SUM(B.v)", searches=True),
    RowCase(
        "running totals", "PATTERN (A+ B*?) DEFINE A AS SUM(A.v) < 4, B AS COUNT(B.*) < 2 AND B.s = LAST(A.s)", searches=True
    ),
    RowCase(
        "a search for all",
        "AFTER MATCH SKIP TO NEXT ROW PATTERN ((A | B)* C) DEFINE A AS v < 2, C AS C.v > SUM(A.v)",
        searches=True,
    ),
    RowCase("a search in a window", "PATTERN (A B*) WITHIN INTERVAL 2 SECONDS DEFINE B AS B.v >= FIRST(A.v)", searches=True),
]


def by_oracle(case, rows):
    """Return what the oracle maps: row, number of the match, variable."""
    columns, found = recognize(case.plan.query, rows, SCHEMA.names)
    id_, number, variable = (columns.index(name) for name in ("id", "m", "c"))
    return sorted((row[id_], row[number], row[variable] or "") for row in found)


class RowRun:
    """The matcher of a clause at work over rows; `found` holds what the last run maps, as the oracle says it."""

    def __init__(self, plan, rows):
        self.plan = plan
        self.found = []
        preparation = RowPreparation(plan, ENGINE.dialect)
        self.keys = preparation.keys
        self.id = preparation.payload[[tree.name for tree in plan.output.payload].index("id")]
        table = pa.Table.from_pylist(rows, SCHEMA).append_column(ARRIVAL, pa.array(range(len(rows)), pa.int64()))
        self.table = ENGINE.result(preparation.preparation().of(ENGINE, ENGINE.read(table)))
        self.clock = np.array([(row["t"] - BEGIN) // timedelta(microseconds=1) for row in rows], np.int64)

    def encoded(self, table):
        """Return rows of whole partitions as the matcher takes them."""
        return RowEncoder(self.plan).encode(table, SortedKeys(self.keys).spans(table))

    @property
    def partitions(self):
        """How many partitions there are."""
        return len(self.encoded(self.table).rows.offset) - 1

    def cut(self, *places):
        """Return the rows in several tables, cut between partitions."""
        borders = self.encoded(self.table).rows.offset
        edges = [0, *(int(borders[place]) for place in places), len(self.table)]
        return [self.table.slice(begin, end - begin) for begin, end in pairwise(edges)]

    def whole(self, cuts=()):
        """Give all partitions, in batches that are cut between them."""
        self.found = []
        for table in self.cut(*cuts):
            rows = self.encoded(table)
            self.take(table, rows)
        return sorted(self.found)

    def growing(self, cuts):
        """Give the rows that were there at each cut, and go on where the matcher could not decide."""
        self.found, decided, numbers = [], {}, {}
        for known in (*cuts, len(self.clock)):
            ids = self.table.column(self.id).to_numpy()
            table = self.table.filter(pa.array(ids < known)).combine_chunks()
            rows = self.encoded(table)
            offset = rows.rows.offset
            keys = [table.column(self.keys[0])[int(begin)].as_py() for begin in offset[:-1]]
            first = offset[:-1] + np.array([decided.get(key, 0) for key in keys], np.int64)
            number = np.array([numbers.get(key, 0) for key in keys], np.int64)
            given = (self.plan.tables, offset, first, number, np.ones(len(keys), np.uint8))
            needs, is_last = self.plan.needs, known == len(self.clock)
            borders = closed_borders(*given) if is_last else open_borders(*given, needs.ahead, needs.measured_behind)
            if self.plan.window is not None:
                clock = self.clock[table.column(self.id).to_numpy()]
                oldest = NO_ROW_TO_COME if is_last else self.clock[known - 1] - self.plan.window
                horizon = horizon_of(clock, np.ones(len(clock), np.uint8), offset, borders.end, self.plan.window, oldest)
                rows = rows._replace(rows=rows.rows._replace(horizon=horizon))
            self.take(table, rows._replace(borders=borders))
            decided |= zip(keys, (borders.first - offset[:-1]).tolist(), strict=True)
            numbers |= zip(keys, borders.number.tolist(), strict=True)
        return sorted(self.found)

    def take(self, table, rows, max_steps=DEFAULT_MAX_STEPS):
        """Give partitions and read what is mapped."""
        matcher = ROWS.make(self.plan, StageLimits(max_steps=max_steps))
        ids = table.column(self.id).to_pylist()
        names = [position.variable for position in self.plan.automaton.positions]
        for found in matcher.advance(rows):
            for match, start in enumerate(found.start.tolist()):
                path = found.path[found.first[match] : found.first[match + 1]].tolist()
                mapped = [(ids[start + place], names[position]) for place, position in enumerate(path)]
                self.found += [(row, int(found.number[match]), name) for row, name in mapped or [(ids[start], "")]]
