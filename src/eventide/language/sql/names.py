"""The pattern variables that a MATCH_RECOGNIZE clause can name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowNames:
    """The variables of a PATTERN and the union variables of its SUBSET, as they are spelt there."""

    primary: tuple[str, ...]
    unions: tuple[str, ...] = ()

    def find(self, written: str, *, quoted: bool) -> str | None:
        """Return the variable that a name in the text stands for; only a name without quotes may differ in case.

        >>> names = RowNames(("A", "b"), ("U",))
        >>> names.find("a", quoted=False), names.find("u", quoted=False), names.find("B", quoted=False)
        ('A', 'U', 'b')
        >>> names.find("a", quoted=True)
        """
        known = (*self.primary, *self.unions)
        if quoted:
            return written if written in known else None
        folded = written.upper()
        if folded in known:
            return folded
        alike = [name for name in known if name.upper() == folded]
        return alike[0] if len(alike) == 1 else None
