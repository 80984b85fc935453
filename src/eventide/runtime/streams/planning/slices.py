"""Whether the matches of a stream are found in slices: each takes all events of a bucket, and holds all of its state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import BindError
from eventide.pattern import Selector
from eventide.plan.matchers.protocol import DISORDER
from eventide.plan.matchers.slices import why_not_sliced
from eventide.runtime.spread.distribution import AUTO, PLAIN, REFINED, Distribution
from eventide.runtime.streams.job import DROP_OLDEST
from eventide.runtime.streams.output import EARLY

if TYPE_CHECKING:
    from eventide.plan.plan import Plan
    from eventide.runtime.options import RunOptions

BUCKETS_OF_KEYS = "buckets of keys"
IN_ORDER = "slices share out the paths of the automaton, which takes events in order"


def distribute_stream(plan: Plan, options: RunOptions, default_slices: int) -> Distribution:
    """Choose how the matches of a stream are spread over tasks; nothing can be counted before the events have come."""
    way, slices = options.distribution, options.slices
    if way in REFINED:
        raise BindError(
            "ONLY_ON_TABLES",
            f'distribution="{way}" is for tables: it ships the candidates of all events from one task to the others.',
            hint='Use distribution="slices": each task finds its own part of the matches.',
        )
    number = slices or default_slices
    refusal = why_not_sliced_stream(plan, options)
    if way == AUTO:
        reason = refusal or _why_not_worth_slicing(plan)
        return _sliced("no key, and matches can outgrow events", number) if reason is None else _plain(f"not sliced: {reason}")
    if way == PLAIN or (way is None and slices is None) or number == 1:
        return _plain()
    if refusal is not None:
        raise BindError(
            "SLICES_NOT_SOUND",
            f"Slices of the matches cannot be found apart: {refusal}.",
            hint='Leave distribution and slices out, or give distribution="plain".',
        )
    return _sliced("asked for", number)


def why_not_sliced_stream(plan: Plan, options: RunOptions) -> str | None:
    """Return why the matches of a stream cannot be found apart from each other, or None."""
    if options.output == EARLY:
        return "what early output has shown is taken back where it was shown, and each event moves matches to other slices"
    if options.overflow == DROP_OLDEST:
        return "each slice would drop other partial matches, and then share out other paths"
    if plan.choice.forced == DISORDER:
        return "the disorder-native operator holds no paths that could be shared out"
    return why_not_sliced(plan)


def _why_not_worth_slicing(plan: Plan) -> str | None:
    """Return why more state would probably buy nothing: keys are spread already, or there are few matches of each event."""
    keys = [*plan.keys, *plan.derived_keys]
    if keys:
        return f"partitioned by {', '.join(keys)}"
    if not plan.explosive or plan.query.selector is Selector.STRICT:
        return "nothing repeats under skip-till-any"
    return None


def _plain(reason: str = "") -> Distribution:
    return Distribution(BUCKETS_OF_KEYS, reason)


def _sliced(reason: str, number: int) -> Distribution:
    if number == 1:
        return _plain("not sliced: there is one task")
    told = f"each of {number} tasks takes all events and finds a slice of the matches; there is {number} times as much state"
    return Distribution("slices", f"{reason}; {told}", slices=number)
