"""Timed-out partial matches of tables: the starts of all prefixes, put together by one grouping of their identities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from eventide.plan.plan import plan_with_output
from eventide.plan.sequences.output import (
    MATCH_END,
    MATCH_START,
    TIME_COLUMN,
    FieldKind,
    OutputColumn,
    OutputField,
    OutputPlan,
    field_column,
)
from eventide.plan.timeouts.queries import EXPIRED_AT, LAST_STEP_AT
from eventide.runtime.options import RunOptions
from eventide.runtime.prepare.sequences import ARRIVAL, CLOCK, STREAM, TIE
from eventide.runtime.prepare.timeouts import shown_steps
from eventide.runtime.relational.adapter import SortKey
from eventide.runtime.tables.sequences import matching, report_left_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.plan.plan import Plan
    from eventide.plan.timeouts.plans import TimeoutPlans
    from eventide.runtime.inputs import EventInput
    from eventide.runtime.relational.adapter import Relation
    from eventide.runtime.relational.dialect import Dialect

IDENTITY = (STREAM, ARRIVAL)
"""What distinguishes events; two of them can be equal in all columns of the input."""
_REACHED, _FURTHEST, _START, _KEY = "__et_reached", "__et_furthest", "__et_start", "__et_key"
_LARGEST = 2**63 - 1
_ORDER = (CLOCK, TIE, STREAM, ARRIVAL)


class TimeoutWork:
    """The runs that find the starts of all prefixes, and what puts them together."""

    def __init__(self, source: EventInput, planned: TimeoutPlans) -> None:
        self._source = source
        self._engine = source.engine
        self._asked, plans = planned.asked, planned.plans
        self._whole = plans[-1]
        self._keys = [(f"{_KEY}{number}", key) for number, key in enumerate(self._whole.keys)]
        # Only the first of the queries carries what is shown of a start: every start is found by it.
        self._carried = [*self._keys, (_START, TIME_COLUMN), (CLOCK, CLOCK), (TIE, TIE)]
        identities = [identified(part, () if number else self._carried) for number, part in enumerate(plans)]
        self._parts = [matching(source, part, RunOptions()) for part in identities]
        report_left_out(source, self._whole)

    def prepare(self) -> list[Any]:
        """Return the prepared events of all parts."""
        return [part.prepare() for part in self._parts]

    def match(self, prepared: list[Any]) -> list[Relation]:
        """Return the starts that all parts find."""
        found = zip(self._parts, prepared, strict=True)
        return [part.finish(part.match(events)) for part, events in found]

    def finish(self, found: list[Relation]) -> Relation:
        """Return the starts whose windows end without a match, and how far each came."""
        starts = {f"__et_started_{number}": started for number, started in enumerate(found)}
        sql = _furthest_sql(self._engine.dialect, [name for name, _ in self._carried], list(starts))
        furthest = self._engine.run_sql(sql, starts)
        timed_out = f"{_REACHED} < {len(self._asked.prefixes)} AND {CLOCK} IS NOT NULL"
        if not self._engine.in_process:
            return self._engine.select(furthest, self._shown(), timed_out)
        # Rows have an order here, that of the events.
        wide = self._engine.select(furthest, [*self._shown(), *((name, name) for name in _ORDER)], timed_out)
        shown = [(name, self._engine.dialect.quote(name)) for name, _ in self._shown()]
        return self._engine.arrange(wide, shown, (), [SortKey(name) for name in _ORDER])

    def explained(self) -> str:
        """Return how the engine finds the matches of the whole query."""
        return self._parts[-1].explained()

    def _shown(self) -> list[tuple[str, str]]:
        time = self._engine.schema(self._source.events).field(TIME_COLUMN).type
        assert self._whole.window is not None
        size = int(self._whole.window.size)
        expiry = f"(CASE WHEN {CLOCK} > {_LARGEST - size} THEN {_LARGEST} ELSE {CLOCK} + {size} END)"
        return [
            *((name.text, own) for (own, _), name in zip(self._keys, self._whole.query.partition_by, strict=True)),
            (MATCH_START, _START),
            (EXPIRED_AT, self._engine.dialect.moment(expiry, time)),
            *shown_steps(self._engine.dialect, self._asked, _REACHED),
            (LAST_STEP_AT, f"{_FURTHEST}.{MATCH_END}"),
        ]


def identified(plan: Plan, carried: Sequence[tuple[str, str]] = ()) -> Plan:
    """Return a plan whose result tells the first event of each match by its identity, and when the match ends.

    `carried` are further columns of the result with the columns of the first event that they show.
    """
    of_start = [*((name, name) for name in IDENTITY), *carried]
    payload = [exp.column(exp.to_identifier(name, quoted=True)) for name in (*(column for _, column in of_start), TIME_COLUMN)]
    fields = [OutputField(FieldKind.START, None, number) for number in range(len(of_start))]
    fields.append(OutputField(FieldKind.END, None, len(of_start)))
    names = [*(name for name, _ in of_start), MATCH_END]
    columns = [OutputColumn(name, field_column(number)) for number, name in enumerate(names)]
    return plan_with_output(plan, OutputPlan(tuple(fields), tuple(columns), tuple(payload), needs=plan.output.needs))


def _furthest_sql(dialect: Dialect, carried: Sequence[str], started: Sequence[str]) -> str:
    """Return the SQL that tells of each start how many parts were reached, and the earliest end of the last of them."""
    same = ", ".join(IDENTITY)
    parts = []
    for number, name in enumerate(started):
        shown = ", ".join(column if number == 0 else f"NULL AS {column}" for column in carried)
        parts.append(f"SELECT {same}, {MATCH_END}, {number} AS {_REACHED}, {shown} FROM {name}")
    furthest = dialect.struct([("behind", f"-{_REACHED}"), (MATCH_END, MATCH_END)])
    kept = ", ".join(f"any_value({name}) FILTER (WHERE {_REACHED} = 0) AS {name}" for name in carried)
    return (
        f"SELECT {same}, max({_REACHED}) AS {_REACHED}, min({furthest}) AS {_FURTHEST}, {kept} "
        f"FROM ({' UNION ALL '.join(parts)}) GROUP BY {same}"
    )
