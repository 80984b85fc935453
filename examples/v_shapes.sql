-- Prices that fall at least three times in a row and then recover, the deepest falls first.
-- eventide generate stocks --events 20000 --output trades.parquet
-- eventide run examples/v_shapes.sql --table trades=trades.parquet
SELECT company, began, steps, ROUND(100 * (high - low) / high, 2) AS percent
FROM trades MATCH_RECOGNIZE (
    PARTITION BY company
    ORDER BY ts, seq
    MEASURES FIRST(ts) AS began, STRT.price AS high, LAST(DOWN.price) AS low, COUNT(*) AS steps
    AFTER MATCH SKIP TO LAST UP
    PATTERN (STRT DOWN{3,} UP{3,})
    WITHIN INTERVAL '30' MINUTE
    DEFINE DOWN AS DOWN.price < PREV(DOWN.price),
           UP   AS UP.price > PREV(UP.price)
) AS v
ORDER BY percent DESC, company, began
LIMIT 10
