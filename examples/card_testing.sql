-- Three payments of a card below 5 with falling amounts, then one of 500 or more, all within four minutes, other payments between them.
-- eventide generate cards --events 20000 --output payments.parquet
-- eventide run examples/card_testing.sql --table payments=payments.parquet
SELECT *
FROM payments MATCH_RECOGNIZE (
    PARTITION BY card
    ORDER BY ts, seq
    MEASURES TRY1.ts AS began, TRY1.amount AS first_try, LARGE.amount AS amount, LARGE.country AS country
    PATTERN (TRY1 OTHER*? TRY2 OTHER*? TRY3 OTHER*? LARGE)
    WITHIN INTERVAL '4' MINUTE
    DEFINE TRY1  AS TRY1.amount < 5,
           TRY2  AS TRY2.amount < TRY1.amount,
           TRY3  AS TRY3.amount < TRY2.amount,
           LARGE AS LARGE.amount >= 500
) AS testing
