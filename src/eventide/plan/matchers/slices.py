"""Where the matches of a query may be found in parts: slices of the enumeration, and parts of maximal matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.pattern import Selector, Strategy
from eventide.plan.sequences.structure import Chain, Loop, Node, One

if TYPE_CHECKING:
    from eventide.plan.plan import Plan


def why_not_sliced(plan: Plan) -> str | None:
    """Return why the matches of a plan cannot be found apart from each other, or None."""
    if plan.results is not None:
        return "the result is taken from all matches together"
    if plan.compares_matches:
        return f"{plan.query.selector.name} compares matches with each other"
    if plan.consumes:
        return "CONSUME BY lets a match decide about others"
    if plan.query.limit is not None:
        return "LIMIT counts over all matches"
    if plan.choice.forward:
        return "partial matches are held one by one, in runs"
    if plan.deduplicate:
        return "forgotten variables make matches equal, which must be compared"
    return None


def why_not_maximal(plan: Plan) -> str | None:
    """Return why the matches of a plan are not all the parts of its maximal matches (Abella 2022, A.2), or None."""
    reason = why_not_sliced(plan)
    if reason is not None:
        return reason
    if plan.query.selector is not Selector.ALL:
        return "a part of a contiguous match is not contiguous"
    if plan.bound.absences:
        return "a part of a match has wider gaps, in which NOT forbids more"
    steps = chain_steps(plan.root)
    if steps is None:
        return "only a sequence of single events and of + has all parts of its matches as matches"
    types = [plan.bound.occurrences[occurrence].type for occurrence, _ in steps]
    if None in types or len(set(types)) < len(types):
        return "an event type occurs twice, so a part with one of its events is not a match"
    labels = plan.occurrence_labels
    if len({labels[occurrence] for occurrence, _ in steps} - {()}) < len(steps):
        return "the result does not tell all steps apart"
    return None


def chain_steps(root: Node) -> list[tuple[int, bool]] | None:
    """Return the occurrences of a sequence of events under skip-till-any, and which are repeated with +, or None."""
    parts = root.parts if isinstance(root, Chain) else (root,)
    if isinstance(root, Chain) and any(gap.strategy is not Strategy.ANY or gap.forbidden or gap.checked for gap in root.gaps):
        return None
    steps = []
    for part in parts:
        match part:
            case One(occurrence=occurrence):
                steps.append((occurrence, False))
            case Loop(part=One(occurrence=occurrence), minimum=1, maximum=None, strategy=Strategy.ANY):
                steps.append((occurrence, True))
            case _:
                return None
    return steps
