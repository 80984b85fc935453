"""A window between steps becomes a condition between each event of the match and the next one.

All occurrences bind a variable of the planner's own, whatever operators they stand under; NEXT over it reads the neighbour in the
match. So the window is judged where conditions are: before selectors, projection and consumption.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.pattern.sequence_printing import window_to_ceql
from eventide.plan.expressions.references import references
from eventide.plan.schema import CLOCK_COLUMN
from eventide.plan.sequences.binding import Correlated
from eventide.plan.sequences.windows import STEPS, bind_step_window, most_events

if TYPE_CHECKING:
    from eventide.pattern import Query
    from eventide.plan.schema import StreamSchema
    from eventide.plan.sequences.binding import BoundPattern


def window_between_steps(query: Query, bound: BoundPattern, schema: StreamSchema | None) -> list[str]:
    """Add the condition of the window between steps to a bound query; no partition key follows from it."""
    window = bind_step_window(query, schema)
    if window is None or query.step_window is None or most_events(bound.root) == 1:
        return []
    for occurrence in bound.occurrences:
        occurrence.variables.append(STEPS)
    here = exp.column(exp.to_identifier(CLOCK_COLUMN, quoted=True), exp.to_identifier(STEPS, quoted=True))
    distance = exp.Sub(this=exp.Anonymous(this="NEXT", expressions=[here.copy()]), expression=here)
    # Times never decrease along a match: a distance below 0 is one that was too large for 64 bits.
    near = exp.Between(this=distance, low=exp.Literal.number(0), high=exp.Literal.number(int(window.size)))
    source = f"at most {window_to_ceql(query.step_window)} between steps"
    bound.conditions.append(Correlated(near, references(near), None, source))
    return []
