"""Timed-out partial matches of tables: the events from which each prefix has a match, put together by the relational engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.plan.plan import plan_with_output
from eventide.plan.planning import make_plan
from eventide.plan.schema import Kind
from eventide.plan.sequences.output import (
    MATCH_END,
    MATCH_START,
    TIME_COLUMN,
    OutputColumn,
    OutputPlan,
    Slot,
    SlotKind,
    slot_column,
)
from eventide.plan.timeouts.queries import (
    EXPIRED_AT,
    LAST_STEP_AT,
    MISSING,
    REACHED,
    REACHED_STEPS,
    STEPS,
    opaque_explained,
    timeout_queries,
)
from eventide.runtime.prepare.sequences import ARRIVAL, ORDER, STREAM
from eventide.runtime.relational.duckdb import DIALECT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.plan.plan import Plan
    from eventide.plan.schema import KindsOf
    from eventide.plan.timeouts.queries import TimeoutQueries

IDENTITY = (STREAM, ARRIVAL)
"""What tells events apart; two of them can be equal in all columns of the input."""
_REACHED, _ENDED, _KEY = "__et_reached", "__et_ended", "__et_key"
_LARGEST = 2**63 - 1


def timeout_plans(plan: Plan, describe: KindsOf) -> tuple[TimeoutQueries, list[Plan]]:
    """Return what must be asked to find the time-outs of a planned query, and the plans of the prefixes and of the whole."""
    asked = timeout_queries(plan.query)
    with opaque_explained():
        plans = [make_plan(query, dict(plan.streams), describe) for query in (*asked.prefixes, asked.whole)]
    return asked, [identified(one) for one in plans]


def identified(plan: Plan, carried: Sequence[tuple[str, str]] = ()) -> Plan:
    """Return a plan whose result tells the first event of each match by its identity, and when the match ends.

    `carried` are further columns of the result with the columns of the first event that they show.
    """
    of_start = [*((name, name) for name in IDENTITY), *carried]
    payload = [exp.column(exp.to_identifier(name, quoted=True)) for name in (*(column for _, column in of_start), TIME_COLUMN)]
    slots = [Slot(SlotKind.START, None, number) for number in range(len(of_start))]
    slots.append(Slot(SlotKind.END, None, len(of_start)))
    names = [*(name for name, _ in of_start), MATCH_END]
    columns = [OutputColumn(name, slot_column(number)) for number, name in enumerate(names)]
    return plan_with_output(plan, OutputPlan(tuple(slots), tuple(columns), tuple(payload), needs=plan.output.needs))


def started_view(number: int) -> str:
    """Return the name under which the combination reads the starts of a prefix.

    >>> started_view(2)
    'started2'
    """
    return f"started{number}"


def combined_sql(asked: TimeoutQueries, whole: Plan, merged: str) -> str:
    """Return the SQL that puts the starts of all prefixes together; the last view holds those with a match."""
    same = ", ".join(IDENTITY)
    reached = " UNION ALL ".join(
        f"SELECT {same}, {count} AS {_REACHED}, {MATCH_END} FROM {started_view(count)}" for count in range(len(asked.prefixes))
    )
    keys = [(f"{_KEY}{number}", key) for number, key in enumerate(whole.keys)]
    # Nothing but our own names, so that the columns of the events can have any.
    inner = ", ".join([*ORDER, TIME_COLUMN, *(f"{DIALECT.quote(key)} AS {own}" for own, key in keys)])
    shown = [f"{own} AS {DIALECT.quote(name.text)}" for (own, _), name in zip(keys, whole.query.partition_by, strict=True)]
    shown += [
        f"{TIME_COLUMN} AS {MATCH_START}",
        f"{_expiry(whole)} AS {EXPIRED_AT}",
        f"CAST({_REACHED} AS INTEGER) AS {REACHED}",
        f"CAST({len(asked.steps)} AS INTEGER) AS {STEPS}",
        f"{_texts(asked.steps)}[1:{_REACHED}] AS {REACHED_STEPS}",
        f"{_texts(asked.missing)}[{_REACHED} + 1] AS {MISSING}",
        f"{_ENDED} AS {LAST_STEP_AT}",
    ]
    return f"""
        WITH earliest AS (SELECT {same}, {_REACHED}, min({MATCH_END}) AS {_ENDED} FROM ({reached}) GROUP BY ALL),
        furthest AS (
            SELECT {same}, max({_REACHED}) AS {_REACHED}, arg_max({_ENDED}, {_REACHED}) AS {_ENDED} FROM earliest GROUP BY {same}
        )
        SELECT {", ".join(shown)}
        FROM furthest JOIN (SELECT {inner} FROM ({merged})) USING ({same})
        SEMI JOIN {started_view(0)} USING ({same})
        ANTI JOIN {started_view(len(asked.prefixes))} USING ({same})
        ORDER BY {", ".join(f"{column} NULLS FIRST" for column in ORDER)}
    """


def _expiry(plan: Plan) -> str:
    assert plan.window is not None
    size = int(plan.window.size)
    schema = plan.streams[0][1]
    kind = schema.columns[schema.time]
    if kind is Kind.INTEGER:
        return f"CAST(least(CAST({TIME_COLUMN} AS HUGEINT) + {size}, {_LARGEST}) AS BIGINT)"
    moment = f"CAST({TIME_COLUMN} AS TIMESTAMP)" if kind is Kind.DATE else TIME_COLUMN
    return f"{moment} + to_microseconds({size})"


def _texts(texts: tuple[str, ...]) -> str:
    return f"[{', '.join(exp.Literal.string(text).sql(dialect=DIALECT.name) for text in texts)}]"
