from __future__ import annotations

import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import BindError

TABLE = pa.table({"ts": [1], "kind": ["A"], "x": [1], "od d": [1]})


def events(**roles) -> et.Events:
    return et.events(TABLE, time="ts", type="kind", **roles)


def section(text: str, title: str) -> list[str]:
    lines = text.splitlines()
    start = lines.index(title) + 1
    end = next((number for number in range(start, len(lines)) if not lines[number].startswith("  ")), len(lines))
    return [line.strip() for line in lines[start:end]]


def test_a_query_is_explained_without_events():
    text = et.query("SELECT * WHERE A AS a ; B FILTER a.x < B.x").explain()
    assert section(text, "streams") == ["not given: attributes and their types were not checked"]


def test_the_relational_plan_is_shown_with_events():
    assert section(et.query("SELECT * WHERE A").explain(events=events()), "relational plan")


def test_diagrams_do_not_ask_for_the_relational_plan():
    assert "relational plan" not in et.query("SELECT * WHERE A").explain("mermaid", events=events())


def test_an_unknown_format_is_explained():
    with pytest.raises(BindError) as caught:
        et.query("SELECT * WHERE A").explain("mermaids")
    assert str(caught.value) == "[UNKNOWN_FORMAT] A plan has no format mermaids.\nHint: Did you mean mermaid?"


def test_several_streams_are_listed_with_their_roles():
    text = et.query("SELECT * FROM S1, S2 WHERE S1>A ; S2>B").explain(S1=events(), S2=events(tie_break="x", time_unit="ms"))
    assert section(text, "streams") == [
        "S1: time ts (integer), type kind; 4 columns",
        "S2: time ts (integer), time unit ms, type kind, tie-break x; 4 columns",
    ]


def test_a_duration_is_shown_in_the_units_of_the_time_column():
    text = et.query("SELECT * WHERE A ; B WITHIN 2 seconds").explain(events=events(time_unit="ms"))
    assert section(text, "window") == ["2 seconds (2000 units of the time column): from first to last event, inclusive"]


def test_a_large_automaton_is_cut_off():
    text = et.query("SELECT * WHERE A{2,80}").explain()
    assert section(text, "automaton")[-1] == "... and 1 or more further states, made when they are needed"


@pytest.mark.parametrize(("form", "node"), [("mermaid", 'more["..."]'), ("dot", "more [shape=plaintext")])
def test_a_diagram_of_a_large_automaton_shows_that_it_goes_on(form, node):
    assert node in et.query("SELECT * WHERE A{2,80}").explain(form)


def test_an_event_that_the_result_forgets_is_shown_as_taken_silently():
    text = et.query("SELECT a.x WHERE A AS a ; B").explain()
    assert "B          take, not shown  -> match" in section(text, "automaton")


def test_what_ends_a_partial_match_is_named():
    text = et.query("SELECT * WHERE A : B").explain()
    assert "any event  if not taken, the partial match ends" in section(text, "automaton")


def test_a_negated_event_with_a_condition_is_checked_on_matches():
    text = et.query("SELECT * WHERE A ; NOT B AS b ; C FILTER b.x > A.x").explain()
    assert section(text, "absences") == ["NOT B AS b FILTER b.x > A.x  between two steps  bit 2  checked on matches"]
    assert "C          take C if no b  -> match" in section(text, "automaton")


def test_a_query_that_can_explode_shows_its_warning():
    (warning,) = section(et.query("SELECT * WHERE A ; B+").explain(), "warnings")
    assert warning.startswith("The pattern repeats with skip-till-any")


def test_names_with_quotes_and_spaces_survive_in_diagrams():
    query = et.query("SELECT * WHERE `A \"x\"` AS a FILTER a.`od d` > 1 AND a.kind <> '\"'")
    assert "#quot;x#quot;" in query.explain("mermaid")
    assert '\\"x\\"' in query.explain("dot")


def test_every_mermaid_edge_has_an_arrow_and_quoted_label():
    lines = et.query("SELECT * WHERE (A OR B) ; C+ : D").explain("mermaid").splitlines()
    edges = [line for line in lines[2:] if "|" in line]
    assert edges
    assert all(line.count('|"') == 1 and line.count('"|') == 1 for line in edges)
