"""Row patterns become automata of the size of the pattern, whatever stands inside whatever."""

from __future__ import annotations

import pytest

from eventide.errors import BindError
from eventide.language.sql.pattern import parse_row_pattern
from eventide.plan.row_patterns.automaton import ACCEPT, ACCEPT_AT_END, build


def automaton(text: str):
    return build(parse_row_pattern(text))


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        ("A+", 1),
        ("A{2,}", 2),
        ("A{2,5}", 5),
        ("PERMUTE(A, B, C)", 18),
        ("((A+)+ B?)+ C", 3),
        # Loops that can be left without a row: telling apart all sets of them would take for ever.
        ("(((A* B*)* (C* D?)*)* (E* F*)*){8}", 48),
        ("((A? B? C? D? E? F? G? H?)*){20}", 160),
    ],
)
def test_positions(text, positions):
    assert len(automaton(text).positions) == positions


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("A?", (0, ACCEPT)),
        ("A??", (ACCEPT,)),
        ("(A??)*", (ACCEPT,)),
        ("(A?)*", (0, ACCEPT)),
        ("A* $", (0, ACCEPT_AT_END)),
        ("^ A", ()),
        ("B | A", (0, 1)),
        ("()", (ACCEPT,)),
    ],
)
def test_the_moves_of_the_start_are_in_the_order_of_preferment(text, start):
    assert automaton(text).start == start


@pytest.mark.parametrize("text", ["A{30000}", "((A{100}){100}){100}", "(A?){3000}", "(A? B? C?){1000,2000}"])
def test_a_pattern_that_nobody_means_is_refused(text):
    with pytest.raises(BindError) as refused:
        automaton(text)
    assert refused.value.condition == "PATTERN_TOO_LARGE"
