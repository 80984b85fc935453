"""What the oracle says of a sequence query: its matches, and what every clause over them must give."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from eventide.pattern import GroupUnit, Query, Selector, WindowUnit
from eventide_reference import Timeout, group_rows, score, timeouts
from eventide_reference.sequences.oracle import Columns, Match, admissible, matches_by_end
from eventide_reference.sequences.output import output_rows, starred_variables
from harness.comparison import bag, comparable, difference
from harness.kinds.sequences.queries import SECOND, Trial
from harness.kinds.sequences.streams import EPOCH, as_timestamp

if TYPE_CHECKING:
    import pyarrow as pa

    from harness.kind import Row


class Expected:
    """What the oracle says of a query over events."""

    def __init__(self, trial: Trial, rows: list[Row]) -> None:
        self.trial = trial
        self.query: Query = trial.query
        self.errors: set[str] = set()
        self.rows = [{**row, "time": as_timestamp(row["time"])} for row in rows] if trial.timestamps else rows
        self.columns = Columns(
            stream="stream" if trial.several_streams else None,
            tie_break="tie" if trial.tie_break else None,
            time_scale=SECOND if trial.seconds else 1,
        )

    @cached_property
    def groups(self) -> list[list[Match]]:
        """The matches by their ends, in the order of these."""
        return matches_by_end(self.query, self.rows, self.columns)

    @cached_property
    def matches(self) -> list[Match]:
        """All matches."""
        return [match for group in self.groups for match in group]

    @cached_property
    def kept(self) -> list[list[Match]]:
        """As many matches of each end as there must be; which one ANY keeps is not defined."""
        return [group[:1] if self.query.selector is Selector.ANY else group for group in self.groups]

    @property
    def number(self) -> int:
        """How many matches there must be without LIMIT."""
        return sum(map(len, self.kept))

    @property
    def found(self) -> int:
        """How many matches, or events that time out, there are."""
        return len(self.timed_out if self.trial.timeouts else self.matches)

    def disagreement(self, produced: pa.Table) -> str | None:
        """Say how a result differs from what the oracle allows, or return None."""
        query = self.query
        if self.trial.timeouts:
            return self._timeouts_differ(produced)
        if query.group_by is not None:
            return self._groups_differ(produced)
        if query.output is not None:
            return self._rows_differ(produced)
        matches = self.matches_of(produced)
        if isinstance(matches, str):
            return matches
        if query.order_by is not None:
            return self._ranks_differ(matches)
        if query.sample is not None:
            return self._sample_differs(matches, query.sample.size)
        if query.selector is Selector.ANY or query.limit is not None:
            columns = {"stream": self.columns.stream, "tie_break": self.columns.tie_break, "time_scale": self.columns.time_scale}
            return admissible(query, self.rows, matches, **columns)
        return difference("matches", Counter(map(_shown, self.matches)), Counter(map(_shown, matches)))

    def miscount(self, counted: pa.Table) -> str | None:
        """Say how the number of matches of each key differs, or return None."""
        keys = [name.text for name in self.query.partition_by]
        got = Counter({tuple(row[key] for key in keys): int(row["matches"]) for row in counted.to_pylist()})
        expected = Counter(match.key for group in self.kept for match in group)
        return None if +expected == +got else f"the counts differ: {dict(expected)} should be, {dict(got)} is"

    def matches_of(self, produced: pa.Table) -> list[Match] | str:
        """Return the matches that a result shows, or what is wrong with one."""
        place = {row["id"]: index for index, row in enumerate(self.rows)}
        rank = {row["id"]: self._order(index) for index, row in enumerate(self.rows) if row["time"] is not None}
        keys = [name.text for name in self.query.partition_by]
        matches = []
        for row in produced.to_pylist():
            bound = {
                name: tuple(place[event["id"]] for event in events)
                for name, events in row.items()
                if name not in (*keys, "match_start", "match_end")
            }
            support = sorted({index for indices in bound.values() for index in indices}, key=lambda i: rank[self.rows[i]["id"]])
            if not support:
                return f"a match without events: {row}"
            if (row["match_start"], row["match_end"]) != (self.rows[support[0]]["time"], self.rows[support[-1]]["time"]):
                return f"match_start or match_end is wrong: {row}"
            matches.append(Match(tuple(row[key] for key in keys), support[0], support[-1], bound))
        return matches

    def _order(self, index: int) -> tuple[Any, ...]:
        row = self.rows[index]
        tie = (row["tie"] is not None, row["tie"] or 0) if self.trial.tie_break else ()
        return (row["time"], tie, row["stream"] if self.trial.several_streams else "", index)

    def _rows_differ(self, produced: pa.Table) -> str | None:
        query = self.query
        allowed, got = bag(output_rows(query, self.rows, self.matches)), bag(produced.to_pylist())
        if query.selector is not Selector.ANY and query.limit is None:
            return difference("rows", allowed, got)
        # Which match is kept is not defined; how many are, is.
        number = self.number if query.limit is None else min(self.number, query.limit)
        if got.total() != number or got - allowed:
            return f"the rows differ: {number} of {sorted(allowed, key=repr)} should be there, but there are {sorted(got.elements(), key=repr)}"
        return None

    # Clauses over all matches ----------------------------------------------------------------------------------------

    def _sample_differs(self, matches: list[Match], size: int) -> str | None:
        drawn = Counter(map(_shown, matches))
        if len(drawn) != len(matches) or len(matches) != min(size, self.number):
            return f"a sample of {len(matches)}, {len(drawn)} of them different, of {self.number} matches"
        return difference("drawn matches", Counter(map(_shown, self.matches)) & drawn, drawn)

    def _ranks_differ(self, matches: list[Match]) -> str | None:
        query = self.query
        assert query.order_by is not None
        sign = -1 if query.order_by.descending else 1
        # Groups stand in the order of their ends.
        ranked = sorted(
            (sign * score(query, self.rows, match), place) for place, group in enumerate(self.kept) for match in group
        )
        end_place = {group[0].end: place for place, group in enumerate(self.groups)}
        # The score may read types that the result does not show.
        shown = starred_variables(query.pattern)
        known = {_shown_identity(match, shown): match for match in self.matches}
        identities = [_shown_identity(match, shown) for match in matches]
        if len(set(identities)) != len(matches) or not set(identities) <= set(known):
            return f"the best are no matches, or the same twice: {identities}"
        if query.selector is Selector.ANY:
            return None
        got = [(sign * score(query, self.rows, known[one]), end_place[known[one].end]) for one in identities]
        return None if got == ranked[: query.limit] else f"the ranks differ: {got} should be {ranked[: query.limit]}"

    @cached_property
    def group_rows(self) -> Counter[tuple[object, ...]]:
        """The rows that GROUP BY must give."""
        trial, query = self.trial, self.query
        duration = trial.timestamps or trial.seconds
        if query.group_by is not None and query.group_by.size is not None:
            duration = query.group_by.size.unit is WindowUnit.DURATION
        elif query.window is not None and query.window.slide is not None:
            duration = query.window.unit is WindowUnit.DURATION

        def clock(time: Any) -> int:
            if trial.timestamps:
                return round((time - EPOCH) / timedelta(microseconds=1))
            return time * SECOND if duration else time

        def edge(moment: int) -> object:
            if trial.timestamps:
                return EPOCH + timedelta(microseconds=moment)
            return moment // SECOND if duration else moment

        matches = [match for group in self.kept for match in group]
        found = group_rows(query, self.rows, matches, time="time", clock=clock)
        for row in found:
            for item in query.output or ():
                if item.expression.sql in ("window_start", "window_end") and item.alias is not None:
                    row[item.alias] = edge(row[item.alias])
        return bag(found, digits=None)

    def _groups_differ(self, produced: pa.Table) -> str | None:
        return difference("groups", self.group_rows, produced_groups(self.query, produced))

    @cached_property
    def timed_out(self) -> list[Timeout]:
        """The events that time out."""
        columns = {"stream": self.columns.stream, "tie_break": self.columns.tie_break}
        return timeouts(self.query, self.rows, time_scale=self.columns.time_scale, **columns)

    def _timeouts_differ(self, produced: pa.Table) -> str | None:
        expected = bag(
            (*out.key, out.match_start, out.expired_at, out.reached, out.steps, out.reached_steps, out.missing, out.last_step_at)
            for out in self.timed_out
        )
        return difference("time-outs", expected, bag(produced.to_pylist()))


def _shown(match: Match) -> tuple[object, ...]:
    return (match.key, *match.identity())


def _shown_identity(match: Match, shown: frozenset[str]) -> tuple[object, ...]:
    bound = tuple(sorted((name, indices) for name, indices in match.bindings.items() if name in shown))
    return (match.key, match.start, match.end, bound)


def produced_groups(query: Query, table: pa.Table) -> Counter[tuple[object, ...]]:
    """Return the rows of a result that have matches; exact numbers are read back from their digits."""
    items = query.output or ()
    rows = []
    for row in table.to_pylist():
        values = []
        for item in items:
            value = row[item.alias]
            if f"{item.alias}_approx" in row:
                value = None if value is None else int(value)
                rough = row[f"{item.alias}_approx"]
                assert rough == (None if value is None else float(value))
            values.append(comparable(value, None))
        counted = next(number for number, item in enumerate(items) if item.expression.sql == "COUNT(*)")
        if values[counted]:
            rows.append(tuple(values))
        else:
            assert query.group_by is not None and query.group_by.unit is GroupUnit.PARTITION
            aggregated = [
                value
                for item, value in zip(items, values, strict=True)
                if "(" in item.expression.sql and not item.expression.sql.startswith("COUNT")
            ]
            assert aggregated == [None] * len(aggregated)
    return Counter(rows)
