"""Results over all matches: GROUP BY, ORDER BY with LIMIT, SAMPLE, count."""
