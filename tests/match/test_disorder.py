"""The worked examples of Li 2010, 4.2 to 4.5: what an in-order engine gets wrong, and what the disorder-native one does.

`b8` is a B at time 8. S is the base stream of the dissertation, the base query is SEQ(A, B, !C, D) WITHIN 10.
"""

from __future__ import annotations

from itertools import accumulate

import pytest

from match.building import plan_of, stream
from match.disordered import Disordered, arrivals
from match.naive_disorder import Habits, NaiveStory

S = "b1 a3 c5 b6 a7 d10 b11 c13 d15 f16 f17"
BASE = "SELECT * WHERE A ; B ; NOT C ; D WITHIN 10"
PLAIN = "SELECT * WHERE A ; B ; D WITHIN 10"
A, B, D, NOT_C = range(4)
LONG = 1000
"""A slack that forbids nothing."""


class Story:
    """A stream that arrives event by event: what each arrival gives out, and what is in the stacks after it."""

    def __init__(self, query, text, slack=None):
        plan = plan_of(query)
        self.names = text.split()
        self.given, self.stacks, self.built = {}, {}, {}
        events = stream(text)
        prepared = arrivals(plan, events)
        self.run = Disordered(plan)
        clocks = accumulate((event["time"] for event in events), max)
        for at, (name, clock) in enumerate(zip(self.names, clocks, strict=True)):
            if slack is not None:
                self.run.tell(clock - slack)
            self.run.feed(prepared.part(at, at + 1))
            self.given[name] = self._new()
            self.stacks[name] = self.lists()
            self.built[name] = self.run.matcher.counters()["built"]
        self.run.finish()
        self.given["end"] = self._new()

    def _new(self):
        told = sum(len(matches) for matches in self.given.values())
        return sorted(
            " ".join(self.names[event] for _, bound in bindings for event in bound)
            for _, _, bindings in self.run.matches[told:]
        )

    def lists(self):
        """Return what is in the lists now, by name."""
        numbers = range(self.run.matcher._lists)
        return [[self.names[event] for event in self.run.listed(number)] for number in numbers]

    def links(self, step):
        """Return the events of a step with their RIP and RIN, by name."""
        return [tuple("-" if event is None else self.names[event] for event in link) for link in self.run.linked(step)]

    @property
    def result(self):
        """All matches, in order."""
        return sorted(match for matches in self.given.values() for match in matches)

    def leaving(self, name):
        """Return the event at whose arrival another one left the lists."""
        held = [at for at, lists in self.stacks.items() if any(name in events for events in lists)]
        return self.names[self.names.index(held[-1]) + 1] if held[-1] != self.names[-1] else None


# 4.2: the baseline over a stream in order ------------------------------------------------------------------------------

def naive_base(text, habits):
    """Run the base query on an engine that has these habits."""
    return NaiveStory("ABD", 10, text, habits, forbidden="C")


def naive_plain(text, habits, window=10):
    """Run it without its NOT."""
    return NaiveStory("ABD", window, text, habits)


def test_in_order_the_stacks_of_an_in_order_engine():
    story = naive_base(S, Habits.UNPURGED)
    assert story.links(A) == [("a3", "-"), ("a7", "-")]
    assert story.links(B) == [("b6", "a3"), ("b11", "a7")]
    assert story.links(D) == [("d10", "b6"), ("d15", "b11")]
    assert story.discarded == 1
    assert story.stacks["d15"][NOT_C] == ["c5", "c13"]


def test_in_order_sequences_alone():
    story = naive_plain(S, Habits.UNPURGED, window=1000)
    assert story.given["d10"] == ["a3 b6 d10"]
    assert story.given["d15"] == ["a3 b11 d15", "a3 b6 d15", "a7 b11 d15"]


def test_in_order_sequences_inside_the_window():
    assert naive_plain(S, Habits.IN_ORDER).result == ["a3 b6 d10", "a7 b11 d15"]
    assert naive_plain(S, Habits.UNPURGED).result == ["a3 b6 d10", "a7 b11 d15"]


def test_in_order_sequences_without_negated_events():
    assert naive_base(S, Habits.IN_ORDER).result == ["a3 b6 d10"]


def test_in_order_what_is_exactly_a_window_away_is_kept():
    story = naive_base(S, Habits.IN_ORDER)
    assert [story.leaving(name) for name in ("a3", "c5", "b6")] == ["d15", "f16", "f17"]


def test_without_disorder_the_operator_finds_what_the_baseline_finds():
    assert Story(BASE, S, slack=0).result == ["a3 b6 d10"]
    assert Story(PLAIN, S, slack=0).result == ["a3 b6 d10", "a7 b11 d15"]


# Examples 4.2 to 4.6: five failures of an in-order engine, one at a time ---------------------------------------------------


def test_example_4_2_an_event_whose_step_is_not_active_yet_is_discarded():
    wrong = naive_plain(f"{S} a0 d2", Habits.DISCARD)
    right = Story(PLAIN, f"{S} a0 d2", slack=17)
    assert "a0 b1 d2" not in wrong.result and wrong.discarded == 1
    assert right.given["a0"] == ["a0 b1 d10", "a0 b6 d10"]
    assert right.given["d2"] == ["a0 b1 d2"]
    assert Story(BASE, f"{S} a0 d2", slack=17).result == ["a0 b1 d2", "a0 b6 d10", "a3 b6 d10"]


def test_example_4_3_an_event_on_top_of_its_stack_is_misplaced():
    wrong = naive_base(f"{S} b8 d2", Habits.APPEND | Habits.UNHELD)
    right = naive_base(f"{S} b8 d2", Habits.UNHELD)
    assert wrong.links(B)[-1] == ("b8", "a7")
    assert wrong.given["b8"] == [] and "a7 b8 d10" not in wrong.result
    assert {"a3 b6 d2", "a3 b11 d2"} <= set(wrong.given["d2"])
    assert "a7 b8 d10" in right.given["b8"]
    assert right.given["d2"] == []


def test_example_4_4_a_late_negated_event_makes_a_match_spurious():
    assert naive_base(f"{S} c9", Habits.UNHELD).result == ["a3 b6 d10"]
    assert Story(BASE, f"{S} c9", slack=8).result == []


def test_example_4_5_an_event_is_purged_that_a_late_one_needs():
    assert "a3 b8 d10" not in naive_base(f"{S} b8", Habits.PURGE_STACKS).result
    assert "a3 b8 d10" in Story(BASE, f"{S} b8", slack=9).result


def test_example_4_6_a_negated_event_is_purged_that_a_late_match_needs():
    assert "a3 b4 d10" in naive_base(f"{S} b4", Habits.PURGE_FORBIDDEN).result
    assert "a3 b4 d10" not in Story(BASE, f"{S} b4", slack=13).result
    assert "a3 b4 d10" in Story(PLAIN, f"{S} b4", slack=13).given["b4"]


# Examples 4.7 to 4.9: stacks under disorder ---------------------------------------------------------------------------------


def test_example_4_7_a_late_event_takes_its_place_and_repairs_the_links():
    story = Story("SELECT * WHERE A ; B ; D WITHIN 1000", f"{S} b8", slack=LONG)
    assert [event for event, _, _ in story.links(B)] == ["b1", "b6", "b8", "b11"]
    assert [rip for _, rip, _ in story.links(D)] == ["b8", "b11"]
    assert story.given["b8"] == ["a3 b8 d10", "a3 b8 d15", "a7 b8 d10", "a7 b8 d15"]
    assert Story(PLAIN, f"{S} b8", slack=9).given["b8"] == ["a3 b8 d10", "a7 b8 d10", "a7 b8 d15"]
    assert Story(BASE, f"{S} b8", slack=9).result == ["a3 b6 d10", "a3 b8 d10", "a7 b8 d10"]


@pytest.mark.parametrize("arrivals_of_example", ["b3 d4 b7 d8 a1", "d8 d4 b7 b3 a1", "a1 d8 b3 b7 d4"])
def test_example_4_8_each_event_knows_the_first_that_can_follow_it(arrivals_of_example):
    story = Story("SELECT * WHERE A ; B ; D WITHIN 100", arrivals_of_example, slack=LONG)
    assert story.links(A) == [("a1", "-", "b3")]
    assert story.links(B) == [("b3", "a1", "d4"), ("b7", "a1", "d8")]
    assert story.links(D) == [("d4", "b3", "-"), ("d8", "b7", "-")]


SHORT = "SELECT * WHERE A ; B ; D WITHIN 7"
UNTIL_21 = "b1 a3 c5 b6 a7 d10 b11 c13 d15 f16 f21"


def test_example_4_9_an_event_is_purged_once_no_late_event_can_reach_it():
    story = Story(SHORT, UNTIL_21, slack=2)
    assert [story.leaving(name) for name in ("a3", "b6", "d10")] == ["c13", "f16", "f21"]


def test_example_4_9_an_event_in_order_looks_at_its_window_only():
    story = Story("SELECT * WHERE A ; B ; D WITHIN 8", S, slack=10)
    assert story.given["d15"] == ["a7 b11 d15"]
    assert story.built["d15"] - story.built["c13"] == 1
    outdated = [[name for name in events if int(name[1:]) + 8 < 15] for events in story.stacks["d15"]]
    assert outdated == [["a3"], ["b1", "b6"], []]


def test_an_event_in_order_among_its_stacks_but_late_against_the_clock_keeps_its_window():
    story = Story("SELECT * WHERE A ; B ; D WITHIN 8", "b1 a3 c5 b6 a7 d10 b11 c13 f17 d15", slack=10)
    assert story.run.matcher.counters()["displaced"] == 0
    assert story.given["d15"] == ["a7 b11 d15"]


# Example 4.10 and 4.5.4: negation ----------------------------------------------------------------------------------------------


def test_example_4_10_a_match_is_held_until_no_negated_event_can_come_between():
    story = Story(BASE, S, slack=6)
    assert story.given["d10"] == story.given["d15"] == []
    assert story.given["f16"] == ["a3 b6 d10"]
    assert story.result == ["a3 b6 d10"]


def test_example_4_10_a_late_negated_event_takes_a_match_out_of_the_holding_set():
    story = Story(BASE, "b1 a3 c5 b6 a7 d10 b11 c13 d15 c9 f16 f17", slack=6)
    assert story.result == []
    assert story.run.matcher.counters()["retracted"] == 1


def test_optimization_4_5_a_match_is_held_for_the_event_behind_the_last_negation():
    query = "SELECT * WHERE A ; B ; NOT C ; D ; E WITHIN 10"
    story = Story(query, "a1 b2 d5 e9 f10 f11 f14 f15", slack=6)
    assert story.given["f11"] == ["a1 b2 d5 e9"]


def test_a_match_whose_deadline_has_passed_is_not_held():
    story = Story("SELECT * WHERE A ; B ; NOT C ; D ; E WITHIN 10", "a1 b2 d5 f11 e9", slack=6)
    assert story.given["e9"] == ["a1 b2 d5 e9"]
    assert story.run.matcher.counters()["held"] == 0


def test_an_event_beyond_the_slack_is_refused_and_counted():
    story = Story(BASE, "b1 a3 c5 b6 a7 d10 b11 c13 d15 f16 c9 f17", slack=5)
    assert story.run.matcher.counters()["late"] == 1
    assert story.result == ["a3 b6 d10"]


def test_a_trailing_negation_is_certain_when_the_window_of_the_first_event_is_over():
    story = Story("SELECT * WHERE A ; B ; NOT C WITHIN 5", "a1 b2 a3 b4 f8 c7 f9 f11 f12", slack=2)
    assert story.given["b2"] == story.given["f8"] == []
    # c7 lies in the window of a3, but not in that of a1.
    assert story.given["f9"] == ["a1 b2", "a1 b4"]
    assert story.result == ["a1 b2", "a1 b4"]


def test_a_leading_negation_looks_back_as_far_as_the_window_of_the_last_event():
    story = Story("SELECT * WHERE NOT C ; A ; B WITHIN 5", "a4 b5 b8 c2 f9", slack=6)
    assert story.result == ["a4 b8"]
    assert story.run.matcher.counters()["retracted"] == 1
