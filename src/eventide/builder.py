"""Patterns written in Python: `from eventide.builder import event, seq, query`."""

from __future__ import annotations

from eventide.language.builder import PatternBuilder, absent, both, either, event, query, seq

__all__ = ["PatternBuilder", "absent", "both", "either", "event", "query", "seq"]
