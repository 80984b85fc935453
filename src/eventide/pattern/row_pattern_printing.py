"""Row patterns as SQL text: what stands between the parentheses of PATTERN.

The text reads back as an equal pattern. A concatenation, alternation or permutation with fewer than two parts, which no text
makes, is printed as the part.
"""

from __future__ import annotations

import re

from eventide.pattern.row_patterns import (
    Alternation,
    Concatenation,
    Exclusion,
    PartitionEnd,
    PartitionStart,
    Permutation,
    Repetition,
    RowPattern,
    Variable,
    parts_of,
)

_PLAIN = re.compile(r"[^\W\d]\w*")
_QUANTIFIERS = {(0, None): "*", (1, None): "+", (0, 1): "?"}


def to_row_pattern(pattern: RowPattern) -> str:
    """Return a pattern as it stands in PATTERN ( ... ).

    >>> to_row_pattern(Concatenation((Variable("A"), Repetition(Alternation((Variable("B"), Variable("c"))), 1, None))))
    'A (B | `c`)+'
    """
    match pattern:
        case Concatenation((part,)) | Alternation((part,)) | Permutation((part,)):
            return to_row_pattern(part)
        case Variable(name):
            return quote_variable(name)
        case Concatenation(parts) if parts:
            return " ".join(_grouped(part, Concatenation, Alternation) for part in parts)
        case Alternation(parts) if parts:
            return " | ".join(_grouped(part, Alternation) for part in parts)
        case Permutation(parts) if parts:
            return f"PERMUTE({', '.join(to_row_pattern(part) for part in parts)})"
        case Repetition(part):
            # Parentheses around a repetition: (A?)? is not A??.
            return _grouped(part, Concatenation, Alternation, Repetition) + _quantifier(pattern)
        case Exclusion(part):
            return f"{{- {to_row_pattern(part)} -}}"
        case PartitionStart():
            return "^"
        case PartitionEnd():
            return "$"
    return "()"


def quote_variable(name: str) -> str:
    """Return the name of a variable, in backticks unless it is upper case and plain.

    >>> quote_variable("UP"), quote_variable("up"), quote_variable("a b")
    ('UP', '`up`', '`a b`')
    """
    plain = _PLAIN.fullmatch(name) is not None and name == name.upper() and name != "PERMUTE"
    return name if plain else "`" + name.replace("`", "``") + "`"


def _grouped(pattern: RowPattern, *kinds: type) -> str:
    """Return a pattern inside of a longer one, in parentheses when it is of one of the kinds."""
    while isinstance(pattern, Concatenation | Alternation | Permutation) and len(pattern.parts) == 1:
        pattern = pattern.parts[0]
    compound = isinstance(pattern, kinds) and (isinstance(pattern, Repetition) or bool(parts_of(pattern)))
    return f"({to_row_pattern(pattern)})" if compound else to_row_pattern(pattern)


def _quantifier(repetition: Repetition) -> str:
    least, most = repetition.least, repetition.most
    sign = _QUANTIFIERS.get((least, most))
    if sign is None:
        sign = f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"
    return sign + ("?" if repetition.reluctant else "")
