"""Timed-out partial matches of Spark tables: the starts of all prefixes are put together by one shuffle of their identities."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql import types as st
from sqlglot import exp

from eventide.plan.sequences.output import MATCH_END, MATCH_START, TIME_COLUMN
from eventide.plan.timeouts.queries import EXPIRED_AT, LAST_STEP_AT, MISSING, REACHED, REACHED_STEPS, STEPS
from eventide.runtime.prepare.sequences import CLOCK, SparkDialect
from eventide.runtime.tables.timeouts import IDENTITY, identified, timeout_plans

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

    from eventide.plan.plan import Plan
    from eventide.plan.schema import KindsOf
    from eventide.plan.timeouts.queries import TimeoutQueries

DIALECT = SparkDialect()
DAY = 86_400_000_000
_REACHED, _FURTHEST, _START, _KEY = "__et_reached", "__et_furthest", "__et_start", "__et_key"
_LARGEST = 2**63 - 1


def timeout_table(plan: Plan, describe: KindsOf, time: st.DataType, matches: Callable[[Plan], DataFrame]) -> DataFrame:
    """Return the starts of a table that time out; `matches` runs a plan, `time` is the type of the events' times."""
    asked, plans = timeout_plans(plan, describe)
    whole = plans[-1]
    keys = [(f"{_KEY}{number}", key) for number, key in enumerate(whole.keys)]
    # Only the first of the queries carries what is shown of a start: every start is found by it.
    plans[0] = identified(plans[0], [*keys, (_START, TIME_COLUMN), (CLOCK, CLOCK)])
    carried = [*(name for name, _ in keys), _START, CLOCK]
    started = [matches(part).withColumn(_REACHED, sf.lit(number)) for number, part in enumerate(plans)]
    together = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), started)
    furthest = together.groupBy(*IDENTITY).agg(
        sf.max(_REACHED).alias(_REACHED),
        sf.min(sf.struct((-sf.col(_REACHED)).alias("behind"), MATCH_END)).alias(_FURTHEST),
        *(sf.first(name, ignorenulls=True).alias(name) for name in carried),
    )
    timed_out = furthest.where((sf.col(_REACHED) < len(asked.prefixes)) & sf.col(CLOCK).isNotNull())
    return timed_out.selectExpr(*(f"{sql} AS {DIALECT.quote(name)}" for name, sql in _shown(asked, whole, keys, time)))


def _shown(
    asked: TimeoutQueries, whole: Plan, keys: Sequence[tuple[str, str]], time: st.DataType
) -> list[tuple[str, str]]:
    assert whole.window is not None
    size = int(whole.window.size)
    expiry = f"IF({CLOCK} > {_LARGEST}L - {size}L, {_LARGEST}L, {CLOCK} + {size}L)"
    return [
        *((name.text, own) for (own, _), name in zip(keys, whole.query.partition_by, strict=True)),
        (MATCH_START, _START),
        (EXPIRED_AT, moment_of(expiry, time)),
        *shown_steps(asked, _REACHED),
        (LAST_STEP_AT, f"{_FURTHEST}.{MATCH_END}"),
    ]


def shown_steps(asked: TimeoutQueries, reached: str) -> list[tuple[str, str]]:
    """Return the columns that tell how far a start came, given the column with the number of parts."""
    return [
        (REACHED, f"CAST({reached} AS INT)"),
        (STEPS, str(len(asked.steps))),
        (REACHED_STEPS, f"slice({_texts(asked.steps)}, 1, CAST({reached} AS INT))"),
        (MISSING, f"element_at({_texts(asked.missing)}, CAST({reached} + 1 AS INT))"),
    ]


def time_of(clock: str, kind: st.DataType) -> str:
    """Return a clock as a time of the events' own kind."""
    if isinstance(kind, st.DateType):
        return f"date_from_unix_date(CAST({clock} DIV {DAY} AS INT))"
    return f"CAST({clock} AS {kind.simpleString()})" if isinstance(kind, st.IntegralType) else moment_of(clock, kind)


def moment_of(clock: str, kind: st.DataType) -> str:
    """Return a clock as a moment; a window may end in the middle of a day."""
    if isinstance(kind, st.IntegralType):
        return clock
    if isinstance(kind, st.TimestampType):
        return f"timestamp_micros({clock})"
    # Dates and times without a zone count from midnight of their own calendar, whatever the session's zone is.
    rest = f"make_dt_interval(0, 0, 0, CAST(pmod({clock}, {DAY}) AS DECIMAL(18, 6)) / 1000000)"
    return f"CAST(date_from_unix_date(CAST(floor({clock} / {DAY}) AS INT)) AS TIMESTAMP_NTZ) + {rest}"


def _texts(texts: Sequence[str]) -> str:
    return f"array({', '.join(exp.Literal.string(text).sql(dialect=DIALECT.name) for text in texts)})"
