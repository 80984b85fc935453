"""An engine for events in order, under disorder: what it gets wrong, one habit at a time (Li 2010, 3.2).

Sequences of events named `b8`, a B at time 8; matches are their names in the order of the steps.
"""

from __future__ import annotations

from enum import IntFlag
from itertools import product


class Habits(IntFlag):
    """What the engine does because it believes that events come in order."""

    DISCARD = 1
    """An event is discarded while no event of the step before it is there."""
    APPEND = 2
    """An event is put on top of its stack, and matches are built when the last step arrives only."""
    UNHELD = 4
    """A match is given out although a late negated event may still forbid it."""
    PURGE_STACKS = 8
    """Events leave the stacks when the latest event is a window away."""
    PURGE_FORBIDDEN = 16
    """Negated events are forgotten when the latest event is a window away."""
    UNPURGED = 7
    IN_ORDER = 31


def time_of(name):
    return int(name[1:])


class NaiveStory:
    """A stream that arrives event by event: what each arrival gives out, and what is in the stacks after it.

    `steps` are the types of the sequence; `forbidden` is the type of a NOT before the last step, if there is one.
    """

    def __init__(self, steps, window, text, habits, forbidden=None):
        self.steps, self.window, self.habits, self.forbidden = steps, window, habits, forbidden
        self.lists = [[] for _ in steps] + [[]]
        self.previous = {}
        self.clock = self.discarded = 0
        self.held = []
        self.names, self.given, self.stacks = text.split(), {}, {}
        for name in self.names:
            self.given[name] = sorted(self.take(name))
            self.stacks[name] = [list(events) for events in self.lists]
        self.given["end"] = sorted(" ".join(match) for match in self.held)

    @property
    def result(self):
        """All matches, in order."""
        return sorted(match for matches in self.given.values() for match in matches)

    def links(self, step):
        """Return the events of a step with the event of the step before that they remember."""
        return [(name, self.previous[name] or "-") for name in self.lists[step]]

    def leaving(self, name):
        """Return the event at whose arrival another one left the lists."""
        held = [at for at, lists in self.stacks.items() if any(name in events for events in lists)]
        return self.names[self.names.index(held[-1]) + 1] if held[-1] != self.names[-1] else None

    def take(self, name):
        self.clock = max(self.clock, time_of(name))
        self.purge()
        kind = name[0].upper()
        if kind == self.forbidden:
            self.lists[-1] = sorted([*self.lists[-1], name], key=time_of)
            self.held = [match for match in self.held if self.clean(match)]
        if kind not in self.steps:
            return []
        step = self.steps.index(kind)
        if self.habits & Habits.DISCARD and step > 0 and not self.lists[step - 1]:
            self.discarded += 1
            return []
        self.put(name, step)
        if self.habits & Habits.APPEND and step < len(self.steps) - 1:
            return []
        built = [match for match in self.sequences(name, step) if self.clean(match)]
        if self.forbidden is None or self.habits & Habits.UNHELD:
            return [" ".join(match) for match in built]
        self.held += built
        return []

    def purge(self):
        for number, habit in enumerate([*[Habits.PURGE_STACKS] * len(self.steps), Habits.PURGE_FORBIDDEN]):
            if self.habits & habit:
                self.lists[number] = [name for name in self.lists[number] if time_of(name) >= self.clock - self.window]

    def put(self, name, step):
        earlier = self.lists[step - 1] if step else []
        if not self.habits & Habits.APPEND:
            earlier = [other for other in earlier if time_of(other) < time_of(name)]
        self.previous[name] = earlier[-1] if earlier else None
        self.lists[step].append(name)
        if not self.habits & Habits.APPEND:
            self.lists[step].sort(key=time_of)

    def sequences(self, name, step):
        """Return the sequences inside the window in which an event takes a step: by time, or by the places in the stacks."""
        if self.habits & Habits.APPEND:
            found = self.below((name,))
        else:
            choices = [[name] if number == step else events for number, events in enumerate(self.lists[:-1])]
            found = [match for match in product(*choices) if list(match) == sorted(match, key=time_of)]
        return [match for match in found if time_of(match[-1]) - time_of(match[0]) <= self.window]

    def below(self, end):
        step = len(self.steps) - len(end)
        if step == 0:
            return [end]
        top = self.previous[end[0]]
        stack = self.lists[step - 1]
        reachable = stack[: stack.index(top) + 1] if top in stack else []
        return [match for earlier in reachable for match in self.below((earlier, *end))]

    def clean(self, match):
        before, last = map(time_of, match[-2:])
        return not any(before < time_of(name) < last for name in self.lists[-1])
