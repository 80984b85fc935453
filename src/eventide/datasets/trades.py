"""Stock trades of several companies with prices that rise and fall in runs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from eventide.datasets.drawing import (
    dictionary_column,
    draw,
    require_at_least,
    require_share,
    running_sum_by_group,
    time_column,
    times,
)

OPENING_PRICE = 100.0
LARGEST_STEP = 0.002


def stocks(events: int, companies: int = 10, seed: int = 0, *, selectivity: float = 0.5, mean_gap_ms: int = 100) -> pa.Table:
    """Generate trades whose price rises against the company's previous trade with probability `selectivity`.

    So `selectivity` is the share of events with which a rising run continues: a query that follows rising prices finds few
    matches when it is small and many when it is large. Falling steps are made larger or smaller to match, so that prices
    stay near where they began.

    >>> stocks(1000, companies=3, seed=1).column_names
    ['ts', 'seq', 'kind', 'company', 'price', 'volume']
    """
    require_at_least("events", events, 0)
    require_at_least("companies", companies, 1)
    require_at_least("mean_gap_ms", mean_gap_ms, 0)
    require_share("selectivity", selectivity, open_interval=True)
    generator = np.random.default_rng(seed)
    event_times = times(generator, events, mean_gap_ms)
    company = draw(generator, companies, 0.0, events)
    rises = generator.random(events) < selectivity
    # Rises of 1 and falls of p / (1 - p) cancel out; the scale keeps even a long walk between cents and thousands.
    ratio = np.sqrt(selectivity / (1 - selectivity))
    scale = min(LARGEST_STEP, 1 / np.sqrt(max(1.0, events / companies)))
    sizes = scale * (0.5 + generator.random(events))
    walk = running_sum_by_group(company, np.where(rises, sizes / ratio, -sizes * ratio))
    spread = np.exp(generator.normal(0.0, 0.3, companies))
    return pa.table(
        {
            "ts": time_column(event_times),
            "seq": pa.array(np.arange(events, dtype=np.int64)),
            "kind": dictionary_column(np.zeros(events, dtype=np.int32), ["Stock"]),
            "company": dictionary_column(company, [f"C{number:04d}" for number in range(companies)]),
            "price": pa.array(np.round(OPENING_PRICE * spread[company] * np.exp(walk), 4)),
            "volume": pa.array(generator.integers(1, 1001, size=events, dtype=np.int64)),
        }
    )
