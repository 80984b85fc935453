"""The runs of a row pattern, on the driver of tables or on that of streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import warn
from eventide.runtime.runs.asked import Asked
from eventide.runtime.runs.hosts import host_of
from eventide.runtime.tables import row_patterns as tables

if TYPE_CHECKING:
    from eventide.plan.row_patterns.plan import RowPlan
    from eventide.runtime.inputs import RowInput
    from eventide.runtime.options import RunOptions
    from eventide.runtime.work import Work


def matching(source: RowInput, plan: RowPlan, options: RunOptions) -> Work:
    """Return the run that finds the matches; refuses settings that cannot act."""
    source.refuse_nested(plan.keys)
    for warning in plan.warnings:
        warn(warning)
    if not source.streaming:
        return tables.matching(source, plan, options)
    options.check(streaming=True)
    return host_of(source.engine).matching_rows(source, plan, options)  # type: ignore[no-any-return]


RUNS = {Asked.MATCHES: matching}
"""SQL counts the rows of a result itself."""
