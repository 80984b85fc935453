"""Relations of 2 to 6 correlated or independent dimensions, in the manner of the skyline literature (Kammoun 2019, 3.8.1).

*Dominated* relations lie along the diagonal, so that one event is mostly below another in all dimensions or in none;
*independent* ones fill the cube. The thesis gives no parameters; the spread around the diagonal is ours.
"""

from __future__ import annotations

import numpy as np

from benchmarks.recompute.published_joins.sides import Predicates, Side, predicates_of
from eventide.match.recompute.bit_rows.comparisons import LESS

KINDS = ("dominated", "independent")
DOMAIN = 2**32
SPREAD = 0.02


def points(kind: str, count: int, dimensions: int, seed: int) -> np.ndarray:
    """Draw points as coordinates."""
    draw = np.random.default_rng(seed)
    if kind == "independent":
        return draw.integers(0, DOMAIN, (count, dimensions), np.uint64)
    along = draw.random((count, 1)) + draw.normal(0, SPREAD, (count, dimensions))
    return (np.clip(along, 0, 1) * (DOMAIN - 1)).astype(np.uint64)


def side(points: np.ndarray, row: int) -> Side:
    """Return a relation all of whose events have rows from `row` on."""
    count, dimensions = points.shape
    return Side(np.arange(row, row + count), np.ascontiguousarray(points.T), np.ones((dimensions, count), np.uint8))


def below_in_all(dimensions: int) -> Predicates:
    """Return the predicates: outer below inner in each dimension."""
    return predicates_of([(line, LESS, line) for line in range(dimensions)])
