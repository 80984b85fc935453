"""The state store of Spark that stateful processors need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import BindError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


def use_rocksdb(session: SparkSession) -> None:
    """Choose the state store that stateful processors need, unless the user chose one."""
    chosen = session.conf.get(PROVIDER, "")
    if not chosen or chosen.endswith("HDFSBackedStateStoreProvider"):
        session.conf.set(PROVIDER, ROCKSDB)
    elif chosen != ROCKSDB:
        raise BindError(
            "STATE_STORE",
            f"The state store {chosen} was chosen, but Spark keeps the state of patterns in RocksDB only.",
            hint=f'spark.conf.set("{PROVIDER}", "{ROCKSDB}")',
        )
    if not session.conf.get(CHANGELOG, ""):
        session.conf.set(CHANGELOG, "true")
