"""Enumeration and refine spread over Spark's tasks, for queries whose output is larger than their input (docs/design/0012)."""
