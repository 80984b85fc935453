"""The same budgets on streams in this process and in Spark's tasks."""

from __future__ import annotations

import pyarrow as pa
import pytest

import eventide as et

EVERY = "SELECT * WHERE Pay+ AS s ; Pay AS b FILTER s.amount < 5 AND b.amount > 100 WITHIN 1000"
NEVER = "SELECT * WHERE Pay+ AS s ; Pay AS b FILTER SUM(s.amount) % 7 = 0.123 AND b.amount > 100 WITHIN 1000"
AMOUNTS = [1.0 + number * 0.6180339887498949 % 1.0 for number in range(100)] + [500.0]
"""No two sets of them have the same sum, so nothing that was found of one set helps with another."""
PAYMENTS = pa.table({"ts": range(101), "kind": ["Pay"] * 101, "amount": AMOUNTS})


@pytest.mark.parametrize(
    ("text", "said"),
    [(EVERY, r"TOO_MANY_MATCHES.*1\.27e\+30 matches or more"), (NEVER, r"(?s)TOO_MANY_STEPS.*fits s.*instead of aggregates\.$")],
)
def test_a_push_has_a_budget(text, said) -> None:
    live = et.query(text).open(PAYMENTS.schema, time="ts", type="kind")
    assert live.push(PAYMENTS).num_rows == 0
    with pytest.raises(et.LimitError, match=said):
        live.advance(5000)


def test_every_push_has_a_budget_of_its_own() -> None:
    live = et.query("SELECT * WHERE Pay AS a ; Pay AS b ; Pay AS c WITHIN 2").open(PAYMENTS.schema, time="ts", type="kind")
    found = sum(live.push(PAYMENTS.slice(begin, 10)).num_rows for begin in range(0, 100, 10)) + live.finish().num_rows
    assert found == 98


def test_a_task_of_spark_has_a_budget(spark) -> None:
    events = et.events(spark.createDataFrame(PAYMENTS), time="ts", type="kind")
    with et.errors(), pytest.raises(Exception, match=r"TOO_MANY_MATCHES") as raised:
        et.query(EVERY).match(events).collect()
    assert "1.27e+30 matches or more" in str(raised.value)
    with pytest.raises(et.BindError, match="ONLY_EMBEDDED"):
        et.query(EVERY).match(events, batches=True)
