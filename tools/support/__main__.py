"""`python -m tools.support` prints the page docs/match-recognize.md."""

from __future__ import annotations

import sys

from tools.support.markdown import support_page

if __name__ == "__main__":
    sys.stdout.write(support_page())
