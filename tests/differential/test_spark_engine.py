"""Spark batch against the oracle on random queries and random streams."""

from __future__ import annotations

import warnings
from random import Random

import pytest

import eventide as et
from differential.checking import Expected, Way, described, events_of, make_events
from differential.queries import make_trial

TRIALS = 12
STREAMS_OF_A_TABLE = 40
SHARED_STREAMS = 4


@pytest.mark.parametrize("seed", range(5000, 5000 + TRIALS))
def test_spark_agrees_with_the_oracle(spark, seed):
    rng = Random(seed)
    trial = make_trial(rng)
    while trial.is_shared and seed % 4:
        # Three trials of four hold forty cases each, one a result that all its streams share.
        trial = make_trial(rng)
    streams = STREAMS_OF_A_TABLE if not trial.is_shared else SHARED_STREAMS if trial.by_case else 1
    rows = make_events(rng, trial, streams)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", et.EventideWarning)
        found = et.query(trial.query).match(**events_of(trial, rows, spark.createDataFrame)).toArrow()
    wrong = Expected(trial, rows).disagreement(found)
    assert wrong is None, described(trial, rows, Way(), wrong)
