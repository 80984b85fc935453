"""Every case of the files in this folder: on the oracle, embedded by every matcher that can, and as streams under several cuts."""

from __future__ import annotations

from collections import Counter

import pytest

import eventide as et
from harness import written_row_patterns, written_sequences
from harness.case_files import Written, all_cases
from harness.stream_ways import STREAMED, streamed_rows
from harness.ways import REFUSED, ROW_PATTERNS, SEQUENCES, Way

FOUND = all_cases()
CUTS = ((1,), (), (2, 1))
FEWEST = {"ceql": 150, "sase": 30, "match_recognize": 90}


def is_refused(written: Written) -> bool:
    """Return whether a query of events is refused; errors of rows come with the data, and ways know them."""
    return written.language != "match_recognize" and written.error is not None


ANSWERED = [written for written in FOUND if not is_refused(written)]
REFUSALS = [written for written in FOUND if is_refused(written)]


def case_of(written: Written, cuts: tuple[int, ...] = ()):
    kind = written_row_patterns if written.language == "match_recognize" else written_sequences
    return kind.case_of(written, cuts)


def check(written: Written, *ways: Way, cuts: tuple[int, ...] = ()) -> list[str]:
    """Compare what comes out in each way with what is written; returns the ways that could run it."""
    case = case_of(written, cuts)
    outcomes = {way.name: way.outcome(case) for way in ways if way.why_not(case) is None}
    wrong = {name: outcome for name, outcome in outcomes.items() if outcome not in (None, REFUSED)}
    assert wrong == {}, "\n".join(f"{name}: {outcome}" for name, outcome in wrong.items())
    return [name for name, outcome in outcomes.items() if outcome is None]


@pytest.mark.parametrize("written", ANSWERED, ids=lambda written: written.name)
def test_a_case_comes_out_of_the_oracle(written):
    oracle = (written_row_patterns if written.language == "match_recognize" else written_sequences).ORACLE
    if not check(written, oracle):
        pytest.skip("the oracle does not evaluate one of the functions")


@pytest.mark.parametrize("written", ANSWERED, ids=lambda written: written.name)
def test_a_case_comes_out_embedded(written):
    assert "embedded" in check(written, *(ROW_PATTERNS if written.language == "match_recognize" else SEQUENCES), cuts=(1,))


@pytest.mark.parametrize("turn", [0, pytest.param(1, marks=pytest.mark.ci), pytest.param(2, marks=pytest.mark.ci)])
@pytest.mark.parametrize("written", ANSWERED, ids=lambda written: written.name)
def test_a_case_comes_out_of_streams_however_they_are_cut(written, turn):
    # Each output with other cuts; in all turns, each with all.
    ways = [streamed_rows(Counter())] if written.language == "match_recognize" else STREAMED
    for number, way in enumerate(ways):
        check(written, way, cuts=CUTS[(number + turn) % len(CUTS)])


@pytest.mark.parametrize("written", REFUSALS, ids=lambda written: written.name)
def test_a_case_is_refused(written):
    with pytest.raises(et.EventideError) as caught:
        case_of(written).ask()
    assert caught.value.condition == written.error


def test_there_are_cases_enough_and_no_name_twice():
    assert {language: number for language, number in Counter(written.language for written in FOUND).items() if number < FEWEST[language]} == {}
    assert [name for name, times in Counter((written.language, written.name) for written in FOUND).items() if times > 1] == []
