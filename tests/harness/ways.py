"""The ways to run a case without Spark, each a function from the case to an Arrow table, with a reason where it cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from eventide.errors import EventideError
from eventide.runtime.options import RunOptions
from eventide.runtime.stage.gathering import Cuts
from harness.tight_places import SmallPieces, little_room

Run = Callable[[Any, Random], Any]
REFUSED = "refused"
"""The outcome of a way that cannot run a query and says so as it says it to users."""


def _can_always(case: Any) -> str | None:
    return None


def _differs(case: Any, produced: Any) -> str | None:
    return case.expected.disagreement(produced)


class Unable(Exception):  # noqa: N818 - no error, an answer
    """What a way raises that finds out on the way that it cannot run a case."""


@dataclass(frozen=True)
class Way:
    """A way to run a case."""

    name: str
    run: Run
    """From a case, and what to draw from, to a result."""
    share: float = 1.0
    """How many of the random cases it runs."""
    refusals: frozenset[str] = frozenset()
    """Conditions of errors by which it may refuse a query that others run."""
    why_not: Callable[[Any], str | None] = _can_always
    judge: Callable[[Any, Any], str | None] = _differs

    def outcome(self, case: Any) -> str | None:
        """Return what is wrong with one run, None where it is right, or REFUSED."""
        allowed = case.expected.errors
        try:
            produced = self.run(case, Random(case.seed))
            if allowed:
                return f"no error: the oracle raises {allowed}"
            return self.judge(case, produced)
        except EventideError as error:
            if error.condition in self.refusals:
                return REFUSED
            return None if error.condition in allowed else f"{type(error).__name__}: {error}"
        except Unable:
            return REFUSED
        except AssertionError as error:
            return f"a claim of the way itself: {error}"
        except Exception as error:  # noqa: BLE001 - any crash is a finding that wants its query and events
            return f"crash, {type(error).__name__}: {error}"


def forced(matcher: str, *, cut: bool = False, share: float = 1.0) -> Way:
    """Return the way by one matcher; queries that it cannot run are left to the others."""

    def run(case: Any, rng: Random) -> Any:
        if cut:
            return case.carried_out(RunOptions(matcher=matcher, cuts=SmallPieces(sizes=case.cuts)))
        return case.ask(matcher=matcher)

    return Way(f"{matcher}{' in pieces' if cut else ''}", run, share, frozenset({"MATCHER_NOT_SOUND"}), _no_timeouts)


def _no_timeouts(case: Any) -> str | None:
    return "time-outs take no matcher" if case.trial.timeouts else None


def _run_cut(case: Any, rng: Random) -> Any:
    return case.carried_out(RunOptions(cuts=SmallPieces(sizes=case.cuts)))


def _why_not_counted(case: Any) -> str | None:
    query = case.trial.query
    if query.limit is not None or query.group_by is not None or query.sample is not None or case.trial.timeouts:
        return "the query asks for other totals"
    return None


def _run_tight(case: Any, rng: Random) -> Any:
    block = rng.randint(1, 7)
    with little_room(1 << rng.randrange(4), block):
        return case.carried_out(RunOptions(cuts=Cuts(block)))


def _run_again(case: Any, rng: Random) -> Any:
    """Draw a sample again: over pieces, and with the keys in another order, which must not change it."""
    first = case.ask()
    drawn = sorted(map(repr, first.to_pylist()))
    assert drawn == sorted(map(repr, case.ask().to_pylist())), "another sample by the same seed"
    assert drawn == sorted(map(repr, _run_cut(case, rng).to_pylist())), "another sample from pieces"
    if case.trial.by_case:
        # Inside a key the order of arrival stays.
        moved = type(case)(case.trial, sorted(case.rows, key=lambda row: -row["case_id"]))
        assert drawn == sorted(map(repr, moved.ask().to_pylist())), "another sample with the keys in another order"
    return first


EMBEDDED = Way("embedded", lambda case, rng: case.ask())
CUT = Way("in pieces", _run_cut)
COUNT = Way(
    "count",
    lambda case, rng: case.count(),
    0.3,
    frozenset({"COUNT_NOT_POSSIBLE"}),
    _why_not_counted,
    judge=lambda case, counted: case.expected.miscount(counted),
)
TIGHT = Way("in little room", _run_tight, 0.4)
SAMPLED_AGAIN = Way("sampled again", _run_again)

SEQUENCES = (
    EMBEDDED,
    CUT,
    forced("runs", share=0.5),
    forced("runs", cut=True, share=0.5),
    forced("recompute", share=0.25),
    forced("recompute", cut=True, share=0.25),
    forced("automaton", share=0.2),
    COUNT,
)
ROW_PATTERNS = (EMBEDDED, TIGHT)
