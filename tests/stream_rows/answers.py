"""Small streams with every kernel of row patterns, for comparing ways to run the kernels."""

from __future__ import annotations

import json

from stream_rows.letters import Story

CLAUSES = [
    ("MEASURES FIRST(v) AS f, COUNT(*) AS n PATTERN (A B+ C?)", None),
    ("MEASURES FIRST(v) AS f, COUNT(*) AS n PATTERN (A B+) WITHIN 3 SECONDS", None),
    ("MEASURES PREV(A.v) AS p, MATCH_NUMBER() AS m PATTERN (A B*?) WITHIN 3 SECONDS", "B AS B.v >= A.v"),
    (
        "MEASURES SUM(B.v) AS s ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO NEXT ROW PATTERN (A (B | C)+)",
        "B AS B.v > PREV(B.v), C AS COUNT(C.*) < 2 AND C.v < NEXT(C.v)",
    ),
    ("MEASURES NEXT(LAST(B.v)) AS x PATTERN (^ A+ B)", "A AS SUM(A.v) < 9, B AS B.v > FIRST(A.v)"),
]
ROWS = "1A1 2B2 2B3y 3A4 4C1y 5B2 6B6 6A1y 7C3 8B5y 9A2 10B3 11C1 12A1y 13C9"


def answers():
    """Return what comes out of each clause, step by step, with the identities."""
    results = []
    for clauses, define in CLAUSES:
        story = Story(clauses, ROWS, define)
        for second in (2.5, 3, 6.5, 11, 40):
            results.append(story.step(second))
            story.stream.restart()
        results.append(story.likely())
        results.append([table.to_pydict() for table in story.stream.certain])
    return json.loads(json.dumps(results, default=str))
