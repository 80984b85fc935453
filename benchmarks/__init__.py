"""Benchmarks: named workloads, ratios taken inside one run. `python -m benchmarks --help`."""
