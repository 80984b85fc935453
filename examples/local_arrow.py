"""Find patterns in an Arrow table, without Spark: card testing among payments."""

from __future__ import annotations

import eventide as et
from eventide.datasets import cards

QUERY = """
    SELECT FIRST(b.amount) AS first_try, COUNT(b) AS tries, c.amount AS amount, c.country AS country
    FROM   payments
    WHERE  (Card AS b){3} ; Card AS c
    FILTER b.amount < 5 AND PREV(b.amount) > b.amount AND c.amount >= 500
    PARTITION BY card
    WITHIN 4 minutes
"""


def main() -> None:
    """Search generated payments and print what was found beside what was planted."""
    payments = cards(20_000, cards=200, seed=7, fraud=0.004)
    query = et.query(QUERY)
    matches = query.match(et.events(payments, time="ts", type="kind", tie_break="seq"))
    planted = sum(payments["fraud"].to_pylist()) // 4
    print(f"{matches.num_rows} matches, {planted} bursts planted")
    for row in matches.slice(0, 5).to_pylist():
        print(row)


if __name__ == "__main__":
    main()
