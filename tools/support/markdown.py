"""The support table as the page docs/match-recognize.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.support.features import FEATURES
from tools.support.model import PEERS
from tools.support.refusals import REFUSALS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_HEAD = """\
# MATCH_RECOGNIZE: what is supported

This page is printed by `python -m tools.support` from the code. A test runs an example of every line: what is supported runs,
what is refused raises the error that is named here. [What it means](semantics.md#10-row-patterns-match_recognize) is defined
elsewhere, and [the guide](guide/sql.md) shows how to use it.

## Features

The standard is ISO/IEC 9075-2, feature R010. What the others have is taken from their public documentation and tests as of late
2026. *n/s*: these do not say. *as R010*: Oracle is the reference for R010, and its documentation names no restriction.
"""
_REFUSALS_HEAD = """\
## Errors

Each has a hint, and a place in the text where there is one. Names that begin with MATCH_RECOGNIZE are those of Databricks where
it has one for the same mistake.
"""


def support_page() -> str:
    """Return the whole page.

    >>> support_page().splitlines()[0]
    '# MATCH_RECOGNIZE: what is supported'
    """
    features = [
        (feature.clause, feature.name, _ours(feature.ours.value, feature.condition, feature.note), *feature.peers)
        for feature in FEATURES
    ]
    refusals = [(f"`{refusal.condition}`", refusal.what, refusal.instead) for refusal in REFUSALS]
    return "\n".join(
        (
            _HEAD,
            *_table(("clause", "feature", "Eventide", *PEERS), features),
            "",
            _REFUSALS_HEAD,
            *_table(("condition", "what", "instead"), refusals),
            "",
        )
    )


def _ours(value: str, condition: str, note: str) -> str:
    shown = f"**{value}**"
    if condition and value != "yes":
        shown += f" (`{condition}`)"
    return f"{shown}: {note}" if note else shown


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines]
