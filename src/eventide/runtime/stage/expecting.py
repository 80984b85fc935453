"""How many matches to expect, from the first events of a table: those of the largest window are counted, not listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.match.protocol import Keep
from eventide.plan.matchers.sample import largest_window
from eventide.runtime.stage.encoding import EventEncoder
from eventide.runtime.stage.failures import shown_number, why_many
from eventide.runtime.stage.keys import SortedKeys

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from eventide.match.protocol import EventBatch
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout

FIRST_EVENTS = 1 << 13
SMALLEST_WINDOW = 16
"""Events that can double the matches sixteen times are no reason to worry."""
MANY = 1_000_000


def may_explode(plan: Plan) -> bool:
    """Return whether it is worth a look at the first events how many matches a list would have."""
    listed = plan.results is None and plan.query.limit is None and plan.keep is Keep.ALL
    return listed and plan.explosive and not plan.consumes and not plan.interleaved


def expectation(plan: Plan, layout: Layout, prepared: pa.Table) -> str | None:
    """Return what to tell a user of the matches of the first prepared events; None where they are not many."""
    first = prepared.slice(0, FIRST_EVENTS)
    if not first.num_rows:
        return None
    begin, end = largest_window(_encoded(plan, layout, first))
    if end - begin < SMALLEST_WINDOW:
        return None
    from eventide.runtime.stage.propagation import PathCounter  # noqa: PLC0415 - its kernels are for totals, and for this

    (counts,) = PathCounter(plan).advance(_encoded(plan, layout, first.slice(begin, end - begin)))
    matches = sum(counts.matches)
    if matches < MANY:
        return None
    bound = "up to " if plan.conditions or plan.checked_absences or plan.deduplicate else ""
    return (
        f"The largest window among the first events has {end - begin} events and {bound}{shown_number(matches)} matches."
        f"{why_many(plan)} Add LIMIT or a selector, narrow WITHIN, set max_matches, or use count()."
    )


def first_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the first batches: enough rows for an expectation."""
    rows = 0
    for batch in batches:
        yield batch
        rows += batch.num_rows
        if rows >= FIRST_EVENTS:
            return


def _encoded(plan: Plan, layout: Layout, table: pa.Table) -> EventBatch:
    keys = SortedKeys(layout.keys)
    return EventEncoder(plan, layout, keys).encode(table, keys.spans(table))
