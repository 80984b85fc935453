"""Write a pattern in Python instead of text: three calls that get no answer in between."""

from __future__ import annotations

import pyarrow as pa

import eventide as et
from eventide.builder import absent, event, query, seq


def main() -> None:
    """Search six events and print the one match."""
    calls = pa.table(
        {
            "minute": [0, 2, 3, 5, 8, 9],
            "kind": ["Call", "Answer", "Call", "Call", "Call", "Answer"],
            "caller": ["ann", "ann", "bob", "bob", "bob", "bob"],
        }
    )
    no_answer = absent(event("Answer"))
    pattern = seq(
        event("Call").named("first"), no_answer, event("Call").named("second"), no_answer, event("Call").named("third")
    )
    unanswered = et.query(query(pattern, partition_by=["caller"], within=10))
    for match in unanswered.match(et.events(calls, time="minute", type="kind")).to_pylist():
        print(match)


if __name__ == "__main__":
    main()
