"""The oracle against other, independent ways to say the same: sets of valuations, and greedy runs."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as draw

from eventide.pattern import Absence, Both, Either, Event, Gap, Named, Query, Repeat, Sequence
from eventide_reference import find_matches
from reference.building import ANY, NEXT, STRICT, seq, stream

TYPES = "ABC"
LOOSE = draw.sampled_from([ANY, STRICT])


def patterns(depth):
    events = draw.sampled_from(TYPES).map(Event)
    if depth == 0:
        return events
    inner = patterns(depth - 1)
    gaps = draw.builds(Gap, LOOSE, draw.sampled_from([(), (), (Absence(Event("C")),)]))
    return draw.one_of(
        events,
        draw.builds(Named, inner, draw.sampled_from("xy")),
        draw.builds(lambda first, second: Either((first, second)), inner, inner),
        draw.builds(lambda first, second: Both((first, second)), inner, inner),
        draw.builds(lambda first, second, gap: Sequence((first, second), (gap,)), inner, inner, gaps),
        draw.builds(Repeat, inner, draw.integers(1, 2), draw.sampled_from([2, 3, None]), LOOSE),
    )


def valuations(pattern, types):
    """The traces of a pattern as sets of (position, variables), put together from the sets of its parts."""
    match pattern:
        case Event(type=kind):
            return {frozenset({(position, frozenset({kind}))}) for position, other in enumerate(types) if other == kind}
        case Named(pattern=inner, variable=name):
            return {frozenset((position, labels | {name}) for position, labels in trace) for trace in valuations(inner, types)}
        case Either(parts=parts):
            return {trace for part in parts for trace in valuations(part, types)}
        case Both(parts=(left, right)):
            return {
                first | second
                for first in valuations(left, types)
                for second in valuations(right, types)
                if not {position for position, _ in first} & {position for position, _ in second}
            }
        case Sequence(parts=(left, right), gaps=(gap,)):
            return joined(valuations(left, types), valuations(right, types), gap, types)
        case Repeat(pattern=inner, minimum=low, maximum=high, strategy=strategy):
            once = valuations(inner, types)
            rounds, found = once, set()
            for number in range(1, (high or len(types)) + 1):
                if number >= low:
                    found |= rounds
                rounds = joined(rounds, once, Gap(strategy), types)
            return found


def joined(left, right, gap, types):
    forbidden = {absence.event.type for absence in gap.absences}
    result = set()
    for first in left:
        for second in right:
            between = range(max(position for position, _ in first) + 1, min(position for position, _ in second))
            after = max(position for position, _ in first) < min(position for position, _ in second)
            if (
                after
                and not (gap.strategy is STRICT and between)
                and not any(types[position] in forbidden for position in between)
            ):
                result.add(first | second)
    return result


def letters(types):
    return stream(" ".join(f"{kind.lower()}{index}" for index, kind in enumerate(types)))


@settings(max_examples=150, deadline=None)
@given(patterns(2), draw.text(TYPES, min_size=1, max_size=6))
def test_matches_are_the_valuations_of_the_algebra(pattern, types):
    everything = Named(pattern, "all")
    kept = sorted({"all", "x", "y", *TYPES})
    expected = {
        tuple(tuple(sorted(position for position, labels in trace if name in labels)) for name in kept)
        for trace in valuations(everything, types)
    }
    # Every type is bound somewhere without a name of its own, so that all bindings are shown.
    shown = Query(Either((everything, *(Sequence((Event(kind), Event("never")), (Gap(),)) for kind in TYPES))))
    produced = [tuple(match.bindings.get(name, ()) for name in kept) for match in find_matches(shown, letters(types))]
    assert set(produced) == expected
    assert len(produced) == len(set(produced))


def greedy_runs(quantifiers, types):
    """The runs of a chain of distinct types that takes every event it can: one from each first event."""
    chain = list(zip(TYPES, quantifiers, strict=True))
    optional, repeated = set("*?"), set("*+")
    found = set()
    for start in range(len(types)):
        taken, part = [], -1
        for position in range(start, len(types)):
            choices = {chain[part][0]: part} if part >= 0 and chain[part][1] in repeated else {}
            for later in range(part + 1, len(chain)):
                choices[chain[later][0]] = later
                if chain[later][1] not in optional:
                    break
            if types[position] in choices:
                part = choices[types[position]]
                taken.append(position)
                if all(quantifier in optional for _, quantifier in chain[part + 1 :]):
                    found.add(tuple(taken))
            elif not taken:
                break
    return found


@settings(max_examples=100, deadline=None)
@given(draw.tuples(*[draw.sampled_from(["", "+", "*", "?"])] * 3), draw.text(TYPES + "X", min_size=1, max_size=8))
def test_next_is_the_greedy_run_when_every_event_fits_one_step(quantifiers, types):
    pattern = seq(*(kind + quantifier for kind, quantifier in zip(TYPES, quantifiers, strict=True)), strategy=NEXT)
    matches = find_matches(Query(pattern), letters(types))
    assert {
        tuple(sorted(position for bound in match.bindings.values() for position in bound)) for match in matches
    } == greedy_runs(quantifiers, types)
