from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from eventide.datasets import DATASETS, abc, cards, generate, s1, s2, s3, stocks
from eventide.errors import DataError


def rising_share(table: pa.Table) -> float:
    company = np.array(table["company"].to_pylist())
    price = table["price"].to_numpy()
    rises = [np.diff(price[company == name]) > 0 for name in np.unique(company)]
    return float(np.concatenate(rises).mean())


@pytest.mark.parametrize("name", DATASETS)
def test_the_same_seed_gives_the_same_rows(name):
    assert generate(name, 500, seed=3).equals(generate(name, 500, seed=3))


@pytest.mark.parametrize("name", ["stocks", "abc", "cards"])
def test_another_seed_gives_other_rows(name):
    assert not generate(name, 500, seed=3).equals(generate(name, 500, seed=4))


@pytest.mark.parametrize("name", ["stocks", "abc", "cards", "s2"])
def test_a_data_set_has_as_many_events_as_asked_for(name):
    assert generate(name, 1234).num_rows == 1234


@pytest.mark.parametrize("name", DATASETS)
def test_time_never_decreases_and_seq_numbers_the_rows(name):
    table = generate(name, 2000)
    times = table["ts"].cast(pa.int64()).to_numpy()
    assert (np.diff(times) >= 0).all()
    assert table["seq"].to_pylist() == list(range(table.num_rows))


@pytest.mark.parametrize("name", ["stocks", "abc", "cards"])
def test_a_data_set_may_be_empty_and_keeps_its_columns(name):
    assert generate(name, 0).schema == generate(name, 10).schema


@pytest.mark.parametrize("name", DATASETS)
def test_times_are_microseconds_in_utc(name):
    assert generate(name, 10).schema.field("ts").type == pa.timestamp("us", tz="UTC")


def test_some_trades_tie_in_time_so_that_the_tie_break_matters():
    times = stocks(20_000, seed=1)["ts"].cast(pa.int64()).to_numpy()
    assert (np.diff(times) == 0).any()


@pytest.mark.parametrize("selectivity", [0.1, 0.5, 0.9])
def test_selectivity_is_the_share_of_trades_that_rise(selectivity):
    assert rising_share(stocks(50_000, companies=7, seed=5, selectivity=selectivity)) == pytest.approx(selectivity, abs=0.01)


@pytest.mark.parametrize("selectivity", [0.02, 0.5, 0.98])
def test_prices_stay_in_a_sane_range_over_a_long_walk(selectivity):
    price = stocks(300_000, companies=2, seed=1, selectivity=selectivity)["price"].to_numpy()
    assert price.min() > 1
    assert price.max() < 10_000


def test_prices_of_one_company_do_not_depend_on_the_rows_of_another():
    table = stocks(2000, companies=3, seed=2)
    company = np.array(table["company"].to_pylist())
    price = table["price"].to_numpy()
    for name in np.unique(company):
        steps = np.abs(np.diff(np.log(price[company == name])))
        assert steps.max() < 0.01


def test_abc_has_the_asked_number_of_types():
    assert len(set(abc(20_000, types=16, seed=1)["kind"].to_pylist())) == 16


def test_abc_names_types_beyond_the_alphabet():
    kinds = set(abc(20_000, types=30, seed=1)["kind"].to_pylist())
    assert {"A", "Z", "T26", "T29"} <= kinds


def test_noise_is_the_share_of_events_that_are_neither_a_b_nor_c():
    kinds = abc(50_000, noise=0.9, seed=1)["kind"].to_pylist()
    assert sum(kind not in {"A", "B", "C"} for kind in kinds) / len(kinds) == pytest.approx(0.9, abs=0.01)


def test_key_skew_makes_the_first_key_hot():
    keys = abc(50_000, keys=100, key_skew=1.2, seed=1)["key"].to_numpy()
    assert (keys == 0).mean() > 10 * (keys == 50).mean()


def test_type_skew_makes_a_more_frequent_than_c():
    kinds = abc(20_000, type_skew=1.0, seed=1)["kind"].to_pylist()
    assert kinds.count("A") > 2 * kinds.count("C")


def test_s1_is_all_a_then_all_b_then_one_c():
    assert "".join(s1(4)["kind"].to_pylist()) == "AAAABBBBC"


def test_s2_is_one_a_then_all_b_then_one_c():
    assert "".join(s2(4)["kind"].to_pylist()) == "ABBBBC"


def test_s3_is_pairs_and_then_one_c():
    assert "".join(s3(4)["kind"].to_pylist()) == "ABABABABC"


@pytest.mark.parametrize("stream", [s1, s2, s3])
def test_ids_of_the_shapes_are_one_two_or_three(stream):
    assert set(stream(200)["id"].to_pylist()) == {1, 2, 3}


def test_planted_fraud_is_three_falling_small_payments_and_a_large_one_abroad():
    table = cards(40_000, cards=400, seed=1, fraud=0.002)
    rows = [row for row in table.to_pylist() if row["fraud"]]
    by_card: dict[int, list[dict]] = {}
    for row in rows:
        by_card.setdefault(row["card"], []).append(row)
    bursts = [burst for burst in by_card.values() if len(burst) == 4]
    assert len(bursts) > 10
    for first, second, third, last in bursts:
        assert 5 > first["amount"] > second["amount"] > third["amount"]
        assert last["amount"] >= 500
        assert first["country"] == second["country"] == third["country"] != last["country"]
        assert (last["ts"] - first["ts"]).total_seconds() <= 240


def test_the_share_of_fraud_is_as_asked():
    assert np.mean(cards(40_000, seed=1, fraud=0.05)["fraud"].to_pylist()) == pytest.approx(0.05, abs=0.001)


def test_all_payments_may_be_fraud():
    assert all(cards(400, seed=1, fraud=1.0)["fraud"].to_pylist())


@pytest.mark.parametrize(
    ("arguments", "condition"),
    [
        ({"name": "stokcs", "events": 1}, "UNKNOWN_DATASET"),
        ({"name": "stocks", "events": -1}, "BAD_ARGUMENT"),
        ({"name": "stocks", "events": 1, "seed": -1}, "BAD_ARGUMENT"),
        ({"name": "stocks", "events": 1, "keys": 0}, "BAD_ARGUMENT"),
        ({"name": "s1", "events": 1, "keys": 3}, "BAD_ARGUMENT"),
        ({"name": "stocks", "events": 1, "settings": {"selectivity": "1"}}, "BAD_ARGUMENT"),
        ({"name": "stocks", "events": 1, "settings": {"selectivity": "nan"}}, "BAD_ARGUMENT"),
        ({"name": "stocks", "events": 1, "settings": {"selectivity": "much"}}, "BAD_ARGUMENT"),
        ({"name": "stocks", "events": 1, "settings": {"noise": "0.5"}}, "UNKNOWN_SETTING"),
        ({"name": "abc", "events": 1, "settings": {"types": "2"}}, "BAD_ARGUMENT"),
        ({"name": "abc", "events": 1, "settings": {"key_skew": "-1"}}, "BAD_ARGUMENT"),
        ({"name": "abc", "events": 1, "settings": {"noise": "2"}}, "BAD_ARGUMENT"),
        ({"name": "cards", "events": 1, "settings": {"fraud": "-0.1"}}, "BAD_ARGUMENT"),
    ],
)
def test_a_wrong_argument_gives_an_error_with_a_hint(arguments, condition):
    with pytest.raises(DataError) as caught:
        generate(**arguments)
    assert caught.value.condition == condition
    assert caught.value.hint
