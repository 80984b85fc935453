"""Refuse lines of the table of signatures that no test used: each is compiled on every machine.

`make signatures` runs it behind the tests: python -m tools.used_signatures FILE, a file with the numbers of lines that were used.
"""

from __future__ import annotations

import sys
from pathlib import Path

from eventide.compilation.signatures import TABLE, read_table


def unused(used: set[int]) -> list[str]:
    """Return the kernels of lines that were not used, with the number of the form.

    >>> len(unused(set())) == len(read_table())
    True
    >>> unused(set(range(len(read_table()))))
    []
    """
    return [f"{number}: {one.module}.{one.function}" for number, one in enumerate(read_table()) if number not in used]


def main(path: str) -> int:
    """Say which lines nothing used; returns the exit code."""
    found = unused({int(line) for line in Path(path).read_text(encoding="ascii").split()})
    for line in found:
        sys.stderr.write(f"{TABLE.name}: no test calls the kernel of signature {line}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
