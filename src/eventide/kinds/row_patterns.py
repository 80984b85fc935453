"""The kind of MATCH_RECOGNIZE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eventide import explain
from eventide.kinds.kind import Kind
from eventide.plan.row_patterns.binding import bind_row_pattern
from eventide.plan.row_patterns.plan import choose_row_plan
from eventide.runtime.runs.row_patterns import RUNS

if TYPE_CHECKING:
    from eventide.explain.rendering.model import Description


def _describe(plan: Any, physical: str | None) -> Description:
    return explain.describe_row_pattern(plan, physical)


KIND = Kind("row patterns", bind_row_pattern, (), choose_row_plan, RUNS, _describe)
