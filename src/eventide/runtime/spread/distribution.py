"""How the events of a plan, or its matches, are spread over Spark's tasks, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import BindError, did_you_mean
from eventide.match.spread.assignment import LEAST_LOADED, ROUND_ROBIN, STRATEGIES, TWO_CHOICES
from eventide.pattern import Consumption
from eventide.plan.matchers.slices import why_not_maximal, why_not_sliced
from eventide.records import record

if TYPE_CHECKING:
    from eventide.plan.plan import Plan

AUTO = "auto"
PLAIN = "plain"
SLICES = "slices"
SHUFFLED_SLICES = "shuffled_slices"
MAXIMAL = "maximal"
WAYS = (AUTO, PLAIN, SLICES, SHUFFLED_SLICES, *STRATEGIES, MAXIMAL)
WINDOWS_PER_SLAB = 16
"""A slab repeats the window before it, so a slab this many windows long costs a sixteenth more."""
SMALLEST_SLAB = 1 << 10
REFINED = {
    ROUND_ROBIN: "in turns",
    TWO_CHOICES: "to the less loaded of two drawn",
    LEAST_LOADED: "to the least loaded",
    MAXIMAL: "maximal matches by the sizes of their parts",
}


@record
class Distribution:
    """How the events of a plan are spread over tasks, and why.

    `slab` and `back` are for time slabs. `slices` is the number of tasks that enumerate a slice each, or that refine; `broadcast`
    says that all of them read the same copy of the events, `adaptive` that they are only put to work when there is enough of it.
    `strategy` names who refines which match, where matches are found in one task and judged in others.
    """

    name: str
    reason: str
    slab: int | None = None
    back: int = 0
    slices: int = 1
    broadcast: bool = False
    adaptive: bool = False
    strategy: str | None = None

    def __str__(self) -> str:
        """Return what was chosen, and why."""
        return f"{self.name} ({self.reason})" if self.reason else self.name

    @property
    def keyed(self) -> bool:
        """Whether each task gets whole keys."""
        return self.name == "by key"

    @property
    def shuffled_slices(self) -> bool:
        """Whether every event is sent to all slices by a shuffle."""
        return self.slices > 1 and not self.broadcast and self.strategy is None


def check_way(way: str | None, slices: int | None) -> None:
    """Reject an unknown distribution."""
    if way is not None and way not in WAYS:
        raise BindError("UNKNOWN_DISTRIBUTION", f"There is no distribution {way}.", hint=did_you_mean(way, WAYS))
    if slices is not None and slices < 1:
        raise BindError("BAD_SLICES", f"slices is {slices}; it is the number of tasks.", hint="Give 1 or more.")
    if way == PLAIN and slices not in (None, 1):
        raise BindError("BAD_SLICES", 'distribution="plain" has no slices.', hint='Use "slices", or leave slices out.')


def refuse_unsound(plan: Plan, way: str | None, slices: int | None) -> None:
    """Refuse a distribution that would give another result than one task."""
    if way in (AUTO, PLAIN) or (way is None and (slices or 1) == 1):
        return
    reason = why_not_sliced(plan)
    if reason is not None:
        raise BindError(
            "SLICES_NOT_SOUND",
            f"Slices or shares of the matches cannot be found apart: {reason}.",
            hint="Leave distribution and slices out.",
        )
    reason = why_not_maximal(plan) if way == MAXIMAL else None
    if reason is not None:
        raise BindError(
            "MAXIMAL_NOT_SOUND",
            f"The matches of this query are not exactly the parts of its maximal matches: {reason}.",
            hint='Use distribution="round_robin" or "slices".',
        )


def distribute(plan: Plan, slices: int | None, default_slices: int, way: str | None = None) -> Distribution:
    """Choose how the events of a plan are spread over tasks; `way` is what was asked for."""
    refuse_unsound(plan, way, slices)
    number = slices or default_slices
    if way == SLICES:
        return Distribution("slices", "asked for; each task reads all events", slices=number, broadcast=True)
    if way in REFINED:
        return Distribution("refined", f"found in one task, handed out {REFINED[way]}", slices=number, strategy=way)
    return _static(plan, number if way == SHUFFLED_SLICES else slices, default_slices, way)


def _static(plan: Plan, slices: int | None, default_slices: int, way: str | None) -> Distribution:
    """Choose without a look at the events."""
    keys = [*plan.keys, *plan.derived_keys]
    if plan.query.consumption is Consumption.ANY:
        return Distribution("one task", "CONSUME BY ANY relates all keys")
    if keys:
        return Distribution("by key", f"partitioned by {', '.join(keys)}", slices=slices or 1)
    window = plan.window
    if plan.timed and not plan.consumes and (slices or 1) == 1:
        assert window is not None
        size = int(window.size)
        slab = max(SMALLEST_SLAB, WINDOWS_PER_SLAB * size)
        return Distribution(
            "time slabs", f"no key; slabs of {slab} that repeat the window before them", slab, size if plan.trailing else 0
        )
    if slices is None and way is None and plan.explosive and why_not_sliced(plan) is None:
        reason = "no key; each task reads all events and enumerates a slice, where there are enough matches"
        return Distribution("slices", reason, slices=default_slices, broadcast=True, adaptive=True)
    if way is None and (slices or 1) > 1:
        return Distribution("slices", "asked for; each task reads all events", slices=slices or 1, broadcast=True)
    return Distribution("one task", "no key, and no time window to cut by", slices=slices or 1)
