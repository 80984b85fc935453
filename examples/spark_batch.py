"""Find patterns in a Spark DataFrame: prices that rise step by step and then break."""

from __future__ import annotations

from pyspark.sql import SparkSession

import eventide as et
from eventide.datasets import stocks

QUERY = """
    SELECT a.price AS low, COUNT(b) AS steps, LAST(b.price) AS peak, c.price AS exit
    FROM   trades
    WHERE  Stock AS a ; Stock+ AS b ; Stock AS c
    FILTER a.price < b.price AND b.price < NEXT(b.price) AND c.price < FIRST(b.price)
    PARTITION BY company
    WITHIN 30 seconds
"""


def main() -> None:
    """Search generated trades on a local Spark and show the runs with the most steps."""
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", "4")
    trades = spark.createDataFrame(stocks(20_000, companies=100, seed=7))
    matches = et.query(QUERY).match(et.events(trades, time="ts", type="kind", tie_break="seq"))
    matches.orderBy("steps", ascending=False).show(5)
    spark.stop()


if __name__ == "__main__":
    main()
