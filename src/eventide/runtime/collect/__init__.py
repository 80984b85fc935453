"""Collectors: what becomes of the matches that a stage finds.

Loaded by name: most of them go with kernels that a query which lists its matches does not need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.loading import load_later

if TYPE_CHECKING:
    from eventide.runtime.collect.best import BestRows
    from eventide.runtime.collect.counts import APPROXIMATE, MATCHES, CountRows
    from eventide.runtime.collect.groups import GroupRows
    from eventide.runtime.collect.matches import MatchRows
    from eventide.runtime.collect.sample import SampleRows

__all__ = ["APPROXIMATE", "MATCHES", "BestRows", "CountRows", "GroupRows", "MatchRows", "SampleRows"]

__getattr__ = load_later(
    __name__,
    {
        "eventide.runtime.collect.best": ("BestRows",),
        "eventide.runtime.collect.counts": ("APPROXIMATE", "MATCHES", "CountRows"),
        "eventide.runtime.collect.groups": ("GroupRows",),
        "eventide.runtime.collect.matches": ("MatchRows",),
        "eventide.runtime.collect.sample": ("SampleRows",),
    },
)
