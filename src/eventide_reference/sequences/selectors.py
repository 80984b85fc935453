"""Selectors: which of the matches that end at the same event are kept (section 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.pattern import Selector

if TYPE_CHECKING:
    from eventide_reference.sequences.runs import FoundMatch


def keep(selector: Selector, matches: list[FoundMatch]) -> list[FoundMatch]:
    """Return the matches that a selector keeps of those that end at one event; ANY keeps all, one of them is chosen later.

    >>> from eventide_reference.sequences.runs import FoundMatch
    >>> short, long = FoundMatch(0, 2, (("a", (0, 2)),)), FoundMatch(0, 2, (("a", (0, 1, 2)),))
    >>> keep(Selector.MAX, [short, long]) == [long]
    True
    """
    supports = [match.support for match in matches]
    return [match for match in matches if _is_kept(selector, match.support, supports)]


def _is_kept(selector: Selector, support: frozenset[int], supports: list[frozenset[int]]) -> bool:
    match selector:
        case Selector.ALL | Selector.ANY:
            return True
        case Selector.STRICT:
            return len(support) == max(support, default=-1) - min(support, default=0) + 1
        case Selector.NEXT:
            return all(other == support or min(other ^ support) in support for other in supports)
        case Selector.LAST:
            return all(other == support or max(other ^ support) in support for other in supports)
        case Selector.MAX:
            return not any(support < other for other in supports)
