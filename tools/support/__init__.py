"""What of MATCH_RECOGNIZE is supported, as data: the documentation prints it and a test runs every example of it."""

from __future__ import annotations

from tools.support.features import FEATURES
from tools.support.markdown import support_page
from tools.support.model import PEERS, SAMPLE, Feature, Ours, Refusal
from tools.support.refusals import REFUSALS

__all__ = ["FEATURES", "PEERS", "REFUSALS", "SAMPLE", "Feature", "Ours", "Refusal", "support_page"]
