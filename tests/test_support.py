"""The support table says what is true: every example runs or is refused as it says, and no error condition is missing."""

from __future__ import annotations

import ast
import warnings
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as et
from tools.support import FEATURES, PEERS, REFUSALS, SAMPLE, Feature, Ours, Refusal, support_page

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "eventide"
START = datetime(2024, 1, 2)  # noqa: DTZ001 - a time without a zone
TICKS = pa.table(SAMPLE | {"ts": pa.array([START + timedelta(minutes=number) for number in SAMPLE["id"]], pa.timestamp("us"))})

# Who raises an error, and which argument is its condition.
RAISERS = dict.fromkeys(("ParseError", "BindError", "DataError", "LimitError", "error", "_error", "_fail"), 0) | {
    "_refusal": 1,
    "explain_sql": 3,
    "parse_whole_number": 1,
}


def run(text: str, **options: object) -> pa.Table:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", et.EventideWarning)
        return et.sql(text, ticks=TICKS, **options)


def named(feature: Feature) -> str:
    return f"{feature.clause}: {feature.name}"


def strings_of(node: ast.expr, known: dict[str, set[str]]) -> set[str]:
    """Return the strings that an expression can be, looking through names, dictionaries and conditional expressions."""
    match node:
        case ast.Constant(value=str(text)):
            return {text}
        case ast.IfExp(body=one, orelse=other):
            return strings_of(one, known) | strings_of(other, known)
        case ast.Dict(values=values):
            return set().union(*(strings_of(value, known) for value in values))
        case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)):
            return known.get(name, set())
    return set()


def conditions_of(path: Path) -> set[str]:
    """Return the condition names of the errors that a module makes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    known: dict[str, set[str]] = {}
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            known.setdefault(node.targets[0].id, set()).update(strings_of(node.value, {}))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            place = RAISERS.get(name)
            if place is not None and len(node.args) > place:
                found |= strings_of(node.args[place], known)
        # The errors of patterns are chosen as tuples (condition, message, hint).
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and path.name == "row_pattern_errors.py":
            found |= strings_of(node.value.elts[0], known)
    return found


MODULES = sorted(
    {
        *SOURCE.glob("plan/row_patterns/*.py"),
        *SOURCE.glob("language/sql/*.py"),
        *SOURCE.glob("runtime/**/row_*.py"),
        *SOURCE.glob("runtime/tables/*rows.py"),
        *SOURCE.glob("runtime/sql/*.py"),
    }
)


@pytest.mark.parametrize("feature", [feature for feature in FEATURES if feature.example], ids=named)
def test_what_is_supported_runs(feature):
    assert run(feature.example).num_rows > 0


@pytest.mark.parametrize("feature", [feature for feature in FEATURES if feature.refused], ids=named)
def test_what_is_not_supported_raises_the_error_that_is_named(feature):
    with pytest.raises(et.EventideError) as caught:
        run(feature.refused)
    assert caught.value.condition == feature.condition


@pytest.mark.parametrize("refusal", [item for item in REFUSALS if not (item.on_spark or item.on_stream or item.opened)], ids=lambda refusal: refusal.condition)
def test_an_error_is_raised_by_its_example(refusal: Refusal):
    with pytest.raises(et.EventideError) as caught:
        run(refusal.example, **dict(refusal.caps))
    assert caught.value.condition == refusal.condition
    assert caught.value.hint


def test_errors_of_spark_are_raised_by_their_examples(spark):
    frame = spark.createDataFrame(TICKS)
    for refusal in (item for item in REFUSALS if item.on_spark):
        with pytest.raises(et.EventideError) as caught:
            et.sql(refusal.example, ticks=frame)
        assert caught.value.condition == refusal.condition


def test_errors_of_streams_are_raised_by_their_examples(spark, tmp_path):
    pq.write_table(TICKS, tmp_path / "ticks.parquet")
    stream = spark.readStream.schema(spark.read.parquet(str(tmp_path)).schema).parquet(str(tmp_path))
    for refusal in (item for item in REFUSALS if item.on_stream):
        with pytest.raises(et.EventideError) as caught:
            et.sql(refusal.example, ticks=stream, **dict(refusal.settings), **dict(refusal.caps))
        assert caught.value.condition == refusal.condition
        assert caught.value.hint


def test_errors_of_streams_without_spark_are_raised_by_their_examples():
    opened = [item for item in REFUSALS if item.opened]
    assert opened
    for refusal in opened:
        with pytest.raises(et.EventideError) as caught:
            et.statement(refusal.example).open(TICKS.schema)
        assert caught.value.condition == refusal.condition
        assert caught.value.hint


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_error_that_the_code_raises_is_in_the_table(path):
    # State is no part of a statement.
    assert conditions_of(path) - {"STATE_VERSION"} <= {refusal.condition for refusal in REFUSALS}


def test_the_walk_over_the_source_finds_the_errors():
    assert set().union(*map(conditions_of, MODULES)) >= {"BAD_QUANTIFIER", "ORDER_BY_MUST_BE_COLUMN", "BAD_QUERY", "OPAQUE_CONDITION"}


def test_no_feature_and_no_error_is_listed_twice():
    assert len({named(feature) for feature in FEATURES}) == len(FEATURES)
    assert len({refusal.condition for refusal in REFUSALS}) == len(REFUSALS)


def test_a_feature_that_is_not_wholly_there_names_its_error():
    assert all(feature.condition for feature in FEATURES if feature.ours is not Ours.YES)
    assert all(bool(feature.example) is (feature.ours is not Ours.NO) for feature in FEATURES)
    assert all(len(feature.peers) == len(PEERS) for feature in FEATURES)


def test_the_documentation_shows_this_table():
    shown = (ROOT / "docs" / "match-recognize.md").read_text(encoding="utf-8")
    assert shown == support_page(), "run: python -m tools.support > docs/match-recognize.md"
