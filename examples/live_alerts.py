"""A service without Spark: it reads events as JSON lines from standard input and writes alerts as JSON lines.

Try it:

    echo '{"ts": "2026-01-01T10:00:00Z", "kind": "login_failed", "user": "bob"}' | python examples/live_alerts.py
"""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime
from typing import TYPE_CHECKING

import eventide as et

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS = {"ts": datetime, "kind": str, "user": str}
QUERY = """
    SELECT user, COUNT(f) AS failures, s.ts AS at
    WHERE  login_failed:{3} AS f : login AS s
    PARTITION BY user
    WITHIN 5 minutes
"""


def batches(source: int, size: int = 1 << 16) -> Iterator[list[dict]]:
    """Yield the events of all lines that have come, as soon as some have: batches grow with what waits."""
    rest = b""
    while chunk := os.read(source, size):
        *lines, rest = (rest + chunk).split(b"\n")
        yield [json.loads(line) for line in lines if line.strip()]
    if rest.strip():
        yield [json.loads(rest)]


def main() -> None:
    """Watch logins: three failures of a user in a row, then a success."""
    with et.query(QUERY).open(COLUMNS, time="ts", type="kind", lateness="10 seconds") as live:
        for alert in live.over(batches(sys.stdin.fileno())):
            print(json.dumps(alert, default=str), flush=True)
        print(live.progress, file=sys.stderr)


if __name__ == "__main__":
    main()
