"""What renderers do with a description, whatever kind of pattern it is of."""

from __future__ import annotations

import pytest

from eventide.errors import BindError
from eventide.explain import explain
from eventide.explain.rendering.model import MATCH, Description, Edge, EdgeKind, Move, Section, State, StateGraph

OVERLAP = StateGraph(
    "relations",
    "a node is a set of situations that are going on",
    (
        State("none", "none", "nothing going on", (Move(("rise starts", "-> rise"), (Edge("rise", "rise starts"),)),)),
        State(
            "rise",
            "rise",
            "rise",
            (
                Move(("drop starts", "match"), (Edge(MATCH, "drop starts", EdgeKind.MATCH),)),
                Move(("wind starts", "-> rise, wind"), (Edge("rise_wind", "wind starts", EdgeKind.SKIP),)),
                Move(("rise ends", "forgotten")),
                Move(("and so on",)),
            ),
        ),
    ),
    ("... and 1 further node",),
)
SITUATIONS = Description(
    "situations",
    "rise OVERLAPS drop",
    (
        Section("definitions", (("rise", "temperature > 20"), ("drop", "pressure < 1"))),
        Section("nothing", ()),
        OVERLAP,
        Section.of("matcher", "intervals: a few situations are open at a time", None),
    ),
    warnings=("There is no window.",),
    physical="SCAN\n\n  FILTER",
)


def test_text_has_a_section_for_each_part_that_has_lines():
    assert explain([SITUATIONS], "text").splitlines() == [
        "situations",
        "  rise OVERLAPS drop",
        "definitions",
        "  rise  temperature > 20",
        "  drop  pressure < 1",
        "relations",
        "  a node is a set of situations that are going on",
        "  nothing going on",
        "    rise starts  -> rise",
        "  rise",
        "    drop starts  match",
        "    wind starts  -> rise, wind",
        "    rise ends    forgotten",
        "    and so on",
        "  ... and 1 further node",
        "matcher",
        "  intervals: a few situations are open at a time",
        "warnings",
        "  There is no window.",
        "relational plan",
        "  SCAN",
        "",
        "    FILTER",
    ]


def test_several_descriptions_are_apart_in_text():
    assert explain([Description("first"), Description("second", "A")], "text") == "first\n\nsecond\n  A"


def test_an_edge_to_a_state_that_is_not_shown_leads_to_dots():
    assert explain([SITUATIONS], "mermaid").splitlines() == [
        "flowchart LR",
        '  none(("none"))',
        '  rise(("rise"))',
        '  match((("match")))',
        '  more["..."]',
        '  none -->|"rise starts"| rise',
        '  rise ==>|"drop starts"| match',
        '  rise -.->|"wind starts"| more',
    ]


def test_graphs_of_several_descriptions_are_boxed_and_keep_their_nodes_apart():
    lines = explain([SITUATIONS, SITUATIONS], "dot").splitlines()
    assert lines[3:6] == ["  subgraph cluster_1 {", '    label="rise OVERLAPS drop";', '    c1_none [label="none"];']
    assert '    c2_rise -> c2_more [label="wind starts", style=dotted];' in lines
    assert lines[-2:] == ["  }", "}"]


@pytest.mark.parametrize(("form", "lines"), [("mermaid", 1), ("dot", 4)])
def test_a_description_without_a_graph_draws_nothing(form, lines):
    assert len(explain([Description("all relational")], form).splitlines()) == lines


def test_an_unknown_format_is_refused_with_a_guess():
    with pytest.raises(BindError, match=r"A plan has no format txt[^\n]*\nHint: Did you mean text\?"):
        explain([], "txt")
