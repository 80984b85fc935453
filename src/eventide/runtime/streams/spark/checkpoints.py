"""Checkpoints, looked at before a stream starts: whether their state belongs to what is about to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from eventide.errors import DataError
from eventide.runtime.streams.bucket import Bucket
from eventide.runtime.streams.spark.processor import STATE
from eventide.runtime.streams.spark.state_store import use_rocksdb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from eventide.runtime.streams.job import StreamJob

NOTHING_YET = "STDS_COMMITTED_BATCH_UNAVAILABLE"
"""What Spark says of a folder in which no micro-batch has come to its end."""


def refuse_state_of_others(session: SparkSession, job: StreamJob, checkpoint: str) -> None:
    """Refuse a checkpoint that another query, or the same one with other settings, wrote. Nothing in it is changed."""
    use_rocksdb(session)
    # Every bucket says whose state it is, and the first one has the same number in all runs.
    number = next(number for number, place in job.places().items() if (place.bucket, place.slice) == (0, 0))
    try:
        states = session.read.format("statestore").option("stateVarName", STATE).load(checkpoint)
        found = states.where(f"key.bucket = {number}").select("value.state").first()
    except PySparkException as error:
        if error.getCondition() == NOTHING_YET:
            return
        raise DataError(
            "UNKNOWN_STATE",
            f"The folder {checkpoint} holds no state of patterns: {str(error).splitlines()[0]}",
            hint="Give the checkpointLocation of a stream of matches, or a new folder.",
        ) from None
    if found is not None:
        Bucket(job, number).load(bytes(found[0]))
