"""How often a part of a pattern repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.language.parts.windows import parse_whole_number

if TYPE_CHECKING:
    from lark import Token

QUANTIFIERS: dict[str, tuple[int, int | None]] = {"+": (1, None), "*": (0, None), "?": (0, 1)}


def read_bounds(tokens: list[Token]) -> tuple[int, int | None]:
    """Return the bounds that stand between the braces of a quantifier.

    >>> from eventide.language.reading.tokens import tokenize
    >>> read_bounds(tokenize("2, 3")), read_bounds(tokenize("2,")), read_bounds(tokenize("2"))
    ((2, 3), (2, None), (2, 2))
    """
    numbers = [
        parse_whole_number(token, "BAD_QUANTIFIER", "A quantifier", "Write {1,3}, {2} or {2,}.")
        for token in tokens
        if token.type == "NUMBER"
    ]
    if len(numbers) == 2:
        return numbers[0], numbers[1]
    return numbers[0], numbers[0] if len(tokens) == 1 else None
