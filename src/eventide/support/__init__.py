"""What of MATCH_RECOGNIZE is supported, as data: the documentation prints it and a test runs every example of it."""

from __future__ import annotations

from eventide.support.features import FEATURES
from eventide.support.markdown import support_page
from eventide.support.model import PEERS, SAMPLE, Feature, Ours, Refusal
from eventide.support.refusals import REFUSALS

__all__ = ["FEATURES", "PEERS", "REFUSALS", "SAMPLE", "Feature", "Ours", "Refusal", "support_page"]
