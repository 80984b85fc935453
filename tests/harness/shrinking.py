"""Making a failing case small: fewer events, a simpler query, fewer cuts, as long as it fails alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from eventide.errors import EventideError

if TYPE_CHECKING:
    from harness.kind import Case, Kind
    from harness.ways import Way

MOST_TRIES = 500


def shrunk(kind: Kind, case: Any, way: Way, wrong: str) -> str:
    """Make a case small as long as it fails, and describe what is left."""
    tries = 0

    def fails(candidate: Case) -> str | None:
        nonlocal tries
        tries += 1
        if tries > MOST_TRIES or not candidate.rows:
            return None
        try:
            found = way.outcome(candidate)
        except (EventideError, NotImplementedError, LookupError, TypeError):
            # The candidate is no query, or the oracle cannot judge it.
            return None
        return found if found is not None and _sort(found) == _sort(wrong) else None

    progress = True
    while progress:
        progress = False
        for candidates in (_one_stream, _fewer_rows, kind.simpler, _fewer_cuts):
            for candidate in candidates(case):
                # Candidates are made from the case as it was; one that was made small on the way is no longer among them.
                found = fails(candidate)
                if found:
                    case, wrong, progress = candidate, found, True
                    break
    return described(case, way, wrong)


def _sort(wrong: str) -> str:
    """Return what must stay the same while a case is made small: the condition of an error, or what differs."""
    condition = re.search(r"Error: \[\w+\]", wrong)
    return condition[0] if condition else wrong[:9]


def _one_stream(case: Any) -> Iterator[Any]:
    names = dict.fromkeys(row["case_id"] for row in case.rows)
    for name in names if len(names) > 1 else ():
        yield replace(case, rows=[row for row in case.rows if row["case_id"] == name])


def _fewer_rows(case: Any) -> Iterator[Any]:
    size = max(1, len(case.rows) // 2)
    while size:
        for begin in range(0, len(case.rows), size):
            yield replace(case, rows=case.rows[:begin] + case.rows[begin + size :])
        size //= 2


def _fewer_cuts(case: Any) -> Iterator[Any]:
    for cuts in ((), (1,), case.cuts[:1], case.cuts[1:]):
        if len(cuts) < len(case.cuts) and (any(cuts) or not cuts):
            yield replace(case, cuts=cuts)


def described(case: Any, way: Way, wrong: str) -> str:
    """Return a failing case as text: query, events, expected and what is wrong."""
    lines = ["", case.text, f"-- {way.name}, cuts {case.cuts}, seed {case.seed}", _line(case.columns)]
    lines += [_line([row[name] for name in case.columns]) for row in case.rows]
    return "\n".join((*lines, f"wrong: {wrong}"))


def _line(values: list[Any]) -> str:
    return "  ".join(f"{value.strftime('%H:%M:%S') if isinstance(value, datetime) else value!s:>5}" for value in values)
