"""A window between steps becomes a condition between each event of the match and the next one.

All occurrences bind a variable of the planner's own, whatever operators they stand under; NEXT over it reads the neighbour in the
match. So the window is judged where conditions are: before selectors, projection and consumption.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.pattern.sequence_printing import window_to_ceql
from eventide.plan.expressions.references import references
from eventide.plan.expressions.schema import CLOCK_COLUMN
from eventide.plan.sequences.binding import Correlated
from eventide.plan.sequences.windows import STEPS, bind_step_window, most_events

if TYPE_CHECKING:
    from eventide.plan.sequences.bound_query import BoundQuery


def window_between_steps(bound: BoundQuery) -> BoundQuery:
    """Return the query with the condition of its window between steps."""
    pattern, written = bound.pattern, bound.query.step_window
    window = bind_step_window(bound.query, bound.schema)
    if window is None or written is None or most_events(pattern.root) == 1:
        return bound
    occurrences = tuple(replace(one, variables=(*one.variables, STEPS)) for one in pattern.occurrences)
    here = exp.column(exp.to_identifier(CLOCK_COLUMN, quoted=True), exp.to_identifier(STEPS, quoted=True))
    distance = exp.Sub(this=exp.Anonymous(this="NEXT", expressions=[here.copy()]), expression=here)
    # Times never decrease along a match: a distance below 0 is one that was too large for 64 bits.
    near = exp.Between(this=distance, low=exp.Literal.number(0), high=exp.Literal.number(int(window.size)))
    near_steps = Correlated(near, tuple(references(near)), None, f"at most {window_to_ceql(written)} between steps")
    return replace(bound, pattern=replace(pattern, occurrences=occurrences, conditions=(*pattern.conditions, near_steps)))
