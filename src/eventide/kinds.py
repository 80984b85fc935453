"""The kinds of pattern: what each brings to the hall. A new kind is a line in KINDS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eventide.explain import describe_row_pattern, describe_sequence
from eventide.pattern import Query
from eventide.pattern.row_patterns import RowQuery
from eventide.plan.planning import make_plan
from eventide.plan.row_patterns.plan import make_row_plan
from eventide.runtime.drivers import row_work, sequence_work

if TYPE_CHECKING:
    from collections.abc import Callable

    from eventide.explain.model import Description


@dataclass(frozen=True)
class Kind:
    """A kind of pattern: how its models are bound, planned, run and described."""

    name: str
    model: type
    plan: Callable[..., Any]
    """Takes a model, its input and the settings; every mistake of the user is found here."""
    work: Callable[..., Any]
    """Takes an input, a plan, the settings and what is asked; returns what prepares, matches and finishes."""
    describe: Callable[[Any, str | None], Description]
    """Takes a plan and the relational engine's own; returns what every format of explain shows."""


SEQUENCES = Kind(
    "sequences",
    Query,
    lambda model, source, options: make_plan(
        model, {name: schema for name, (schema, _) in source.streams.items()}, source.kinds_of, matcher=options.matcher
    ),
    sequence_work,
    describe_sequence,
)
ROW_PATTERNS = Kind(
    "row patterns",
    RowQuery,
    lambda model, source, _: make_row_plan(model, source.columns(), source.kinds_of),
    row_work,
    describe_row_pattern,
)
KINDS = (SEQUENCES, ROW_PATTERNS)


def kind_of(model: object) -> Kind:
    """Return the kind of a model."""
    return next(kind for kind in KINDS if isinstance(model, kind.model))
