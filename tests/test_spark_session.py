from __future__ import annotations

import os
import subprocess
import sys

import pytest

from conftest import SPARK_SETTINGS


def test_workers_can_import_eventide(spark):
    def import_on_worker(batches):
        from eventide.errors import Span

        assert Span(1, 2).end == 2
        yield from batches

    assert spark.range(3).mapInArrow(import_on_worker, "id long").count() == 3


def test_workers_run_this_interpreter(spark):
    import pyarrow as pa

    def interpreter(batches):
        import sys as worker_sys

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"path": [worker_sys.prefix]})

    rows = spark.range(1, numPartitions=1).mapInArrow(interpreter, "path string").collect()
    assert {row.path for row in rows} == {sys.prefix}


@pytest.mark.parametrize("partitions", ["3", "5"])
def test_a_test_does_not_see_what_another_one_set(spark, partitions):
    assert spark.conf.get("spark.sql.shuffle.partitions") == SPARK_SETTINGS["spark.sql.shuffle.partitions"]
    spark.conf.set("spark.sql.shuffle.partitions", partitions)


def test_the_package_does_not_start_a_jvm_when_it_is_imported():
    code = "import eventide, sys; from pyspark import SparkContext; print(SparkContext._active_spark_context)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.strip() == "None"
