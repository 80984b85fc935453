"""Run benchmarks: `python -m benchmarks [workload ...] [--scale 1.0] [--json results.json]`."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import (
    aggregates,
    choice,
    cluster,
    disorder,
    explosion,
    kernels,
    live,
    pipelines,
    row_patterns,
    start,
    streams,
    wide_results,
)
from benchmarks.recompute import event_tree, joins, windows
from benchmarks.report import show, write

WORKLOADS = {
    "start": lambda scale: start.start(max(3, round(7 * scale))),
    "update": lambda scale: kernels.update(int(10_000_000 * scale)),
    "enumeration": lambda scale: kernels.enumeration(int(10_000_000 * scale)),
    "cluster": cluster.cluster,
    "memory": lambda scale: kernels.memory(int(100_000_000 * scale)),
    "aggregates": lambda scale: aggregates.aggregates(int(200_000 * scale)),
    "pipelines": lambda scale: pipelines.pipelines(int(5_000_000 * scale)),
    "rows": lambda scale: row_patterns.row_patterns(int(2_000_000 * scale)),
    "disorder": lambda scale: disorder.disorder(int(100_000 * scale)),
    "streams": lambda scale: streams.streams(int(100_000 * scale)),
    "live": lambda scale: live.live(int(2_000_000 * scale)),
    "soak": lambda scale: streams.soak(int(50_000_000 * scale)),
    "explosion": lambda scale: explosion.explosion(int(20_000 * scale), max(5.0, explosion.SECONDS * scale)),
    "joins": lambda scale: joins.joins(int(50_000 * scale)),
    "event-tree": lambda scale: event_tree.event_tree(int(100_000 * scale)),
    "windows": windows.windows,
    "choice": lambda _: choice.choice(),
    "wide-results": lambda scale: wide_results.wide_results(int(10_004_569 * scale)),
    "rows-memory": lambda scale: row_patterns.large_partition(int(100_000_000 * scale)),
}
# These need an environment of their own, so they run when they are named only.
PEERS = {
    "flink": lambda scale: row_patterns.against_flink(int(2_000_000 * scale)),
    "flink-streams": lambda scale: streams.against_flink(int(2_000_000 * scale)),
    "flink-live": lambda scale: live.against_flink(int(2_000_000 * scale)),
}


def main() -> None:
    """Run the named workloads, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("workload", nargs="*", choices=[*WORKLOADS, *PEERS, []], help="all but flink when none is named")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full size")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    arguments = parser.parse_args()
    figures = []
    for name in arguments.workload or WORKLOADS:
        measured = (WORKLOADS | PEERS)[name](arguments.scale)
        show(measured)
        figures.extend(measured)
    if arguments.json:
        write(figures, arguments.json)


if __name__ == "__main__":
    main()
