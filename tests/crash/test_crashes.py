"""Streams that are really killed: nothing is lost and nothing comes twice. EVENTIDE_KILLS says how often, EVENTIDE_SEED when."""

from __future__ import annotations

import os

import pytest

from crash.harness import crash

# The harness itself notices when nothing happens any more; how long so many lives take in all depends on the machine.
pytestmark = [pytest.mark.crash, pytest.mark.ci, pytest.mark.spark, pytest.mark.timeout(5400)]


def test_streams_that_are_killed_again_and_again_give_the_result_of_a_table(tmp_path, capsys):
    figures = crash(tmp_path, int(os.environ.get("EVENTIDE_KILLS", "5")), int(os.environ.get("EVENTIDE_SEED", "1")))
    with capsys.disabled():
        print(f"\n{figures}")  # noqa: T201
    assert figures.inside and all(figures.rows.values())
