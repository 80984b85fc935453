"""Rewrite rules: pure functions from a bound query to a bound query, in the order in which they are applied."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, TypeVar

from eventide.plan.rewrite.extremum_of_each_event import extremum_of_each_event
from eventide.plan.rewrite.nested_loops import nested_loops
from eventide.plan.rewrite.partition_by_equality import partition_by_equality
from eventide.plan.rewrite.window_between_steps import window_between_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from eventide.plan.sequences.bound_query import BoundQuery

    Rule = Callable[[BoundQuery], BoundQuery]

Bound = TypeVar("Bound")

RULES: tuple[Rule, ...] = (nested_loops, extremum_of_each_event, partition_by_equality, window_between_steps)

__all__ = ["RULES", "extremum_of_each_event", "nested_loops", "partition_by_equality", "rewrite", "window_between_steps"]


def rewrite(bound: Bound, rules: Iterable[Callable[[Bound], Bound]]) -> Bound:
    """Apply the rules of a kind of pattern one after the other.

    >>> rewrite(3, (lambda n: n + 1, lambda n: 2 * n))
    8
    """
    return reduce(lambda rewritten, rule: rule(rewritten), rules, bound)
