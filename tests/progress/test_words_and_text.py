from __future__ import annotations

import re

import pytest

from eventide.progress.exposition import Family, exposition
from eventide.progress.metrics import METRICS, Watched, families
from eventide.progress.tally import Batch, Tally
from eventide.progress.words import batch_words, moment


def batch(number=0, *, run="run", counters=None, gauges=None, watermark=None):
    return Batch("0123456789ab", run, None, number, 100, 0.25, counters or {}, gauges or {}, watermark)


def test_labels_and_help_are_escaped():
    family = Family("m", "gauge", "two\nlines \\ and", (({"query": 'a\\b"c"\nd'}, 1.5),))
    assert exposition([family]) == '# HELP m two\\nlines \\\\ and\n# TYPE m gauge\nm{query="a\\\\b\\"c\\"\\nd"} 1.5\n'


def test_a_family_without_samples_is_left_out_and_one_without_labels_is_plain():
    assert exposition([Family("a", "gauge", "A.", ()), Family("b", "gauge", "B.", (({}, 2),))]).endswith("b 2\n")


def test_every_metric_follows_the_naming_rules_of_prometheus():
    for name, kind, meaning, _ in METRICS:
        assert re.fullmatch(r"eventide_[a-z_]+", name)
        assert name.endswith("_total") == (kind == "counter")
        assert meaning.endswith(".")


def test_the_samples_of_one_metric_stand_together():
    text = exposition(families([Watched({"query": name}, Tally(), active=True) for name in ("a", "b")]))
    lines = text.splitlines()
    assert len([line for line in lines if line.startswith("# TYPE eventide_matches_total")]) == 1
    place = lines.index('eventide_matches_total{query="a"} 0')
    assert lines[place + 1] == 'eventide_matches_total{query="b"} 0'


def test_counters_grow_over_batches_and_restarts_and_gauges_are_replaced():
    tally = Tally()
    tally.add(batch(0, counters={"matches": 2, "late": 1}, gauges={"held": 9}, watermark=50))
    tally.add(batch(1, counters={"matches": 3}, gauges={"held": 4}, watermark=70))
    tally.add(batch(1, counters={"matches": 3}))
    tally.add(batch(2, run="second run", counters={"matches": 1}, watermark=60))
    assert tally.counters["matches"] == 6
    assert tally.counters["late"] == 1
    assert tally.gauges == {"held": 4}
    assert tally.watermark == 70
    assert tally.batches == 3


def test_a_batch_that_observed_nothing_changes_no_gauge():
    tally = Tally()
    tally.add(batch(0, gauges={"held": 9}, watermark=50))
    tally.add(batch(1))
    assert (tally.gauges, tally.watermark) == ({"held": 9}, 50)


@pytest.mark.parametrize(
    ("watermark", "shown"),
    [(None, "-"), (-5, "-5"), (1234, "1,234"), (1704188700250000, "2024-01-02 09:45:00.250"), (2**62, f"{2**62:,}")],
)
def test_a_watermark_is_shown_as_a_time_or_as_its_number(watermark, shown):
    assert moment(watermark) == shown


def test_a_line_tells_what_a_batch_did():
    words = batch_words(
        batch(7, counters={"events": 1000, "late": 2, "matches": 1, "dropped": 3}, gauges={"held": 40, "state_bytes": 2048}, watermark=1704188700250000)
    )
    line = "".join(word for word, _ in words)
    assert line.startswith("01234567  batch 7")
    for part in ("1,000 events", "1 match ", "2 late", "3 dropped", "watermark 2024-01-02 09:45:00.250", "40 held", "state 2.0 kB", "0.25 s"):
        assert part in line
    assert "expired" not in line
