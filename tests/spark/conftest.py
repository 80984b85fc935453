"""What tests of streams write to."""

from __future__ import annotations

import pytest

from spark.streaming import Sink


@pytest.fixture
def sink(spark, tmp_path):
    return Sink(spark, tmp_path / "sink")
