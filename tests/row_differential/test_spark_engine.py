"""Spark batch against the oracle on random MATCH_RECOGNIZE clauses and random tables."""

from __future__ import annotations

import warnings
from random import Random

import pytest

import eventide as et
from row_differential.checking import Expected, Way, described, disagreement
from row_differential.queries import make_trial
from row_differential.tables import as_table, interleaved, make_rows

TRIALS = 20
TABLES_OF_A_CLAUSE = 14


@pytest.mark.parametrize("seed", range(5000, 5000 + TRIALS))
def test_spark_agrees_with_the_oracle(spark, seed):
    rng = Random(seed)
    trial = make_trial(rng, zero_division=False)
    while not trial.by_case:
        trial = make_trial(rng, zero_division=False)
    cases = [make_rows(rng, case, trial.longest_table()) for case in range(TABLES_OF_A_CLAUSE)]
    expected = Expected(trial)
    for case, rows in enumerate(cases):
        expected.add(case, rows)
    rows = interleaved(rng, [cases[case] for case in expected.parts])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", et.EventideWarning)
        found = et.sql(trial.text, input=spark.createDataFrame(as_table(rows))).toArrow()
    wrong = disagreement(trial, expected, found)
    assert wrong is None, described(trial, cases[wrong[0]], Way(), wrong[1])
