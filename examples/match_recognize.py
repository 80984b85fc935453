"""Run SQL with MATCH_RECOGNIZE from files over generated data, without Spark."""

from __future__ import annotations

from pathlib import Path

import eventide as et
from eventide.datasets import cards, stocks

HERE = Path(__file__).parent


def main() -> None:
    """Print the deepest V shapes of prices, then how many bursts of card testing were found of those planted."""
    deepest = et.sql((HERE / "v_shapes.sql").read_text(encoding="utf-8"), trades=stocks(20_000, companies=100, seed=7))
    for row in deepest.slice(0, 3).to_pylist():
        print(row["company"], row["steps"], row["percent"])
    payments = cards(20_000, cards=200, seed=7, fraud=0.004)
    found = et.sql((HERE / "card_testing.sql").read_text(encoding="utf-8"), payments=payments)
    print(f"{found.num_rows} bursts found, {sum(payments['fraud'].to_pylist()) // 4} planted")


if __name__ == "__main__":
    main()
