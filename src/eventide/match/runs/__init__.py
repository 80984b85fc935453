"""Runs: partial matches one by one, conditions between events judged as the events arrive."""
