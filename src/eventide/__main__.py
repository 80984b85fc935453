"""`python -m eventide` is the command `eventide`."""

from __future__ import annotations

from eventide.cli import main

if __name__ == "__main__":
    main()
