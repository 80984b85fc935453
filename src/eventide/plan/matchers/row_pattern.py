"""The matcher of MATCH_RECOGNIZE clauses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.match.budget import Account, Budget
from eventide.pattern.row_patterns import RowsPerMatch
from eventide.plan.matchers.protocol import ROW_PATTERN, Cost, Description, Takes

if TYPE_CHECKING:
    from eventide.match.protocol import Running
    from eventide.match.row_pattern.kernel import RowMatchBatch
    from eventide.match.row_pattern.matcher import RowPartitions
    from eventide.plan.matchers.protocol import RowSettings
    from eventide.plan.row_patterns.plan import RowPlan


class RowPattern:
    """Takes whole partitions of rows, and prefers matches as the pattern is written."""

    name = ROW_PATTERN
    takes = Takes.PARTITIONS

    def why_not(self, plan: RowPlan) -> str | None:  # noqa: ARG002 - it runs every clause
        """Return None: it runs every clause."""
        return None

    def cost(self, plan: RowPlan, sample: None = None) -> Cost:  # noqa: ARG002 - there is nothing to choose from
        """Return whether rows are walked or searched."""
        if plan.programs.first.size <= 1:
            return Cost(1.0, "every condition looks at rows only")
        return Cost(2.0, "a condition looks at the match so far, so moves are tried in the order of preferment")

    def make(self, plan: RowPlan, settings: RowSettings) -> Running[RowPartitions, RowMatchBatch]:
        """Return a running matcher."""
        from eventide.match.row_pattern.matcher import RowPatternMatcher  # noqa: PLC0415 - its kernels are for its own queries

        programs = ((bit, condition.program) for bit, condition in enumerate(plan.predicates))
        return RowPatternMatcher(
            tables=plan.tables,
            marks=tuple((bit, program.code) for bit, program in programs if program is not None),
            skip=plan.skip,
            skip_to=plan.skip_to,
            at_once=plan.query.rows_per_match is RowsPerMatch.ALL_WITH_UNMATCHED,
            account=Account(Budget(steps=settings.steps, matches=settings.max_matches)),
        )

    def explain(self, plan: RowPlan) -> Description:
        """Return what there is to say of it."""
        return Description(self.name, self.cost(plan).reason)
