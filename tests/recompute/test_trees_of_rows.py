"""Rows that the event tree answers are those that scanning computes, and queries find the same matches by them."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from eventide.compilation import kernel
from eventide.index.encoding import encode_doubles, encode_integers
from eventide.match.recompute import search
from eventide.match.recompute.bit_rows import row_trees
from eventide.match.recompute.bit_rows.bits import words_for
from eventide.match.recompute.bit_rows.row_trees import LONG, MADE, PAUSE, WANTED, new_trees, with_wanted_tree
from eventide.match.recompute.bit_rows.table import ask_tree, new_bit_rows, row_of
from eventide.match.recompute.shape import (
    ChainRelation,
    Compare,
    Part,
    RecomputeShape,
    Relation,
    Side,
    Step,
    Value,
    lay_out,
)
from eventide.match.recompute.window_events import Window
from harness.seeds import seeds
from match.building import matches_of, plan_of, prepare
from match.test_jit_modes import elsewhere
from recompute.drawing import draw
from recompute.test_large_windows import LENGTH, QUERIES, events_of
from recompute.test_random_queries import disagreement

SLOW = os.environ.get("NUMBA_DISABLE_JIT") == "1"
EXTREMES = [-np.inf, -1.5, -0.0, 0.0, 1.0, 2.5, np.inf, np.nan]
SCRIPT = "import json; from recompute.test_trees_of_rows import answers; print(json.dumps(answers()))"


def use_trees(monkeypatch, entries=1 << 20, price=0):
    """Let trees answer rows of any length, from the second trigger on; fewer entries make their queries give up."""
    monkeypatch.setattr(row_trees, "LONG_ROW", 1)
    monkeypatch.setattr(row_trees, "TREE_WORDS", price)
    monkeypatch.setattr(row_trees, "MOST_ENTRIES", entries)


@kernel
def row_words(shape, rows, window, family, event, begin, end, words):
    """Copy the words of a row, which a tree fills before where there is one."""
    ask_tree(shape, rows, window, family, event, begin, end)
    at = row_of(shape, rows, window, family, event, begin, end)
    for word in range(begin >> 6, ((end - 1) >> 6) + 1):
        words[word] = rows.words[at + word]


def drawn_shape(rng, steps):
    """Draw relations between steps, several of them between the same two, and chains inside a loop."""

    def value():
        return Value(int(rng.integers(0, 3)), is_double=False)

    def side(step):
        return Side(step, Part.ALL, value())

    relations = []
    for _ in range(rng.integers(1, 6)):
        earlier, later = sorted(rng.choice(steps, 2, replace=False).tolist())
        relations.append(Relation(side(earlier), Compare(int(rng.integers(0, 5))), side(later)))
    chains = [
        ChainRelation(0, value(), Compare(int(rng.integers(0, 5))), value(), from_first=bool(rng.random() < 0.3))
        for _ in range(rng.integers(0, 3))
    ]
    drawn = (Step(0, 1, None, 0, 0), *(Step(bit, 1, 1, 0, 0) for bit in range(1, steps)))
    return lay_out(RecomputeShape(drawn, tuple(relations), tuple(chains)))


def drawn_window(rng, wanted, counts):
    """Draw the candidates of all steps: many equal values or few, some of them null, a column now and then without any."""
    words = words_for(max(counts))
    values = np.zeros((len(wanted), words * 64), np.uint64)
    valid = np.zeros((len(wanted), words * 64), np.uint8)
    kind, most = rng.integers(0, 3), int(rng.choice([2, 10, 1000, 2**62]))
    for number, (step, _) in enumerate(wanted):
        count = counts[step]
        if kind == 0:
            values[number, :count] = encode_doubles(rng.choice(EXTREMES, count))
        elif kind == 1:
            values[number, :count] = encode_integers(rng.integers(-most, most, count))
        else:
            values[number, :count] = encode_doubles(rng.normal(0, 1, count))
        valid[number, :count] = rng.random(count) < rng.choice([1.0, 0.9, 0.3, 0.0], p=[0.5, 0.3, 0.15, 0.05])
    nothing = np.empty(0, np.int32)
    return Window(
        nothing,
        np.empty(0, np.int64),
        nothing,
        np.empty((len(counts), 0), np.int32),
        np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]),
        nothing,
        values.reshape(len(wanted), words, 64),
        np.packbits(valid, axis=1, bitorder="little").view(np.uint64),
        np.empty((len(counts), 0), np.int32),
    )


def both_ways(rng, largest):
    """Return rows by scanning and rows by trees, and how often trees were asked and gave up."""
    steps = int(rng.integers(2, 4))
    shape, wanted = drawn_shape(rng, steps)
    counts = rng.integers(1, largest, steps)
    window = drawn_window(rng, wanted, counts)
    families = len(shape.family_to)
    none = new_trees(shape, window, counts)
    trees = new_trees(shape, window, rng.integers(0, counts + 1))
    trees.asked[:, LONG] = 1
    for family in rng.permutation(families):
        trees.asked[-1, WANTED] = family + 1
        trees = with_wanted_tree(trees, shape, window)
    assert trees.asked[:-1, MADE].all()
    most = int(counts.max())
    tables = [new_bit_rows([words_for(most) + 2] * families, [1] * families, each) for each in (none, trees)]
    found = ([], [])
    for _ in range(30):
        family = int(rng.integers(0, families))
        target = shape.family_to[family] % steps
        origin = target if shape.family_from[family] < 0 else shape.family_from[family] % steps
        event, (begin, end) = int(rng.integers(0, counts[origin])), np.sort(rng.integers(0, counts[target] + 1, 2))
        if begin == end:
            continue
        for rows, kept in zip(tables, found, strict=True):
            words = np.zeros(words_for(most), np.uint64)
            row_words(shape, rows, window, family, event, int(begin), int(end), words)
            kept.append(words.tolist())
    return (*found, int(trees.asked[:-1, PAUSE].sum()))


@pytest.mark.parametrize("entries", [0, 1, 4, 1 << 20])
@pytest.mark.parametrize("seed", seeds(2 if SLOW else 30, quick=10))
def test_trees_answer_the_bits_that_scanning_computes(seed, entries, monkeypatch):
    monkeypatch.setattr(row_trees, "MOST_ENTRIES", entries)
    rng = np.random.default_rng([seed, 7])
    scanned, answered, pauses = both_ways(rng, 100 if SLOW else int(rng.choice([5, 70, 3000])))
    assert answered == scanned
    assert entries < 5 or not pauses


def test_a_query_that_looks_at_too_many_entries_gives_up(monkeypatch):
    monkeypatch.setattr(row_trees, "MOST_ENTRIES", 0)
    assert sum(both_ways(np.random.default_rng([seed, 7]), 100)[2] for seed in range(3)) > 0


def check(numbers, monkeypatch, trees):
    made = count_trees(monkeypatch)
    for seed in numbers:
        use_trees(monkeypatch, *trees)
        wrong = disagreement(seed, monkeypatch)
        assert wrong in (None, "refused"), f"seed {seed}\n{draw(seed)}\n{wrong}"
    assert made[0] > len(numbers) // 4


def count_trees(monkeypatch):
    """Count the trees that searches make."""
    made = [0]

    def counted(*given):
        made[0] += 1
        return with_wanted_tree(*given)

    monkeypatch.setattr(search, "with_wanted_tree", counted)
    return made


@pytest.mark.parametrize("trees", [(1 << 20, 0), (1, 0), (0, 0)])
@pytest.mark.parametrize("group", seeds(1 if SLOW else 4, quick=1))
def test_random_queries_find_what_the_oracle_finds_by_trees(group, trees, monkeypatch):
    size = 12 if SLOW else 50
    check(range(50_000 + group * size, 50_000 + (group + 1) * size), monkeypatch, trees)


@pytest.mark.long
@pytest.mark.parametrize("group", range(50))
def test_many_random_queries_find_what_the_oracle_finds_by_trees(group, monkeypatch):
    check(range(200_000 + group * 120, 200_000 + (group + 1) * 120), monkeypatch, (1 << 20, 0))


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("keyed", [False, True])
def test_trees_find_what_scanning_finds_in_rows_of_several_words(text, keyed, monkeypatch):
    text = text.replace(" WITHIN", " PARTITION BY key WITHIN") if keyed else text
    events = events_of("aabbc" if "B" in text else "a", 40, len(text))
    plan = plan_of(text, "recompute")
    given = prepare(plan, events).interleaved()
    scanned = matches_of(plan, [given])
    use_trees(monkeypatch)
    made = count_trees(monkeypatch)
    assert matches_of(plan, [given]) == scanned
    assert matches_of(plan, given.cut(LENGTH // 5, LENGTH // 2)) == scanned
    assert made[0] > 0


def test_no_tree_is_made_for_small_windows(monkeypatch):
    made = count_trees(monkeypatch)
    text = QUERIES[0]
    plan = plan_of(text, "recompute")
    matches_of(plan, [prepare(plan, events_of("aabbc", 40, len(text)))])
    assert made == [0]


def answers():
    """Run a few searches by trees, and rows by both ways."""
    with pytest.MonkeyPatch.context() as patch:
        use_trees(patch)
        wrong = [disagreement(seed, patch) for seed in range(60_000, 60_012)]
        scanned, answered, _ = both_ways(np.random.default_rng(5), 150)
    return [wrong, answered == scanned]


def expected():
    return json.loads(json.dumps(answers()))


def test_plain_python_finds_the_same_by_trees():
    assert elsewhere(SCRIPT, NUMBA_DISABLE_JIT="1") == expected()


@pytest.mark.long
def test_trees_of_rows_stay_inside_their_arrays(tmp_path):
    assert elsewhere(SCRIPT, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path)) == expected()
