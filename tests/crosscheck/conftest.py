"""These tests need the other engines, so they are run by `make crosscheck` alone, which names their interpreter."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("EVENTIDE_PEERS") else ["*.py"]
