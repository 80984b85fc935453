"""The kinds of pattern: a new kind is an entry here and a module below, and files of its name in the rooms."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from eventide.loading import load_later

if TYPE_CHECKING:
    from eventide.kinds.kind import Kind
    from eventide.kinds.row_patterns import ROW_PATTERNS
    from eventide.kinds.sequences import SEQUENCES

__all__ = ["ROW_PATTERNS", "SEQUENCES", "Kind", "kind_of"]

# A kind is loaded with its first query: its matchers bring their kernels.
__getattr__ = load_later(
    __name__,
    {
        "eventide.kinds.kind": ("Kind",),
        "eventide.kinds.row_patterns": ("ROW_PATTERNS",),
        "eventide.kinds.sequences": ("SEQUENCES",),
    },
)
_OF_MODELS = {"Query": "SEQUENCES", "RowQuery": "ROW_PATTERNS"}


def kind_of(model: object) -> Kind:
    """Return the kind of a model.

    >>> from eventide.language import parse
    >>> kind_of(parse("SELECT * WHERE A ; B")).name
    'sequences'
    """
    kind: Kind = getattr(sys.modules[__name__], _OF_MODELS[type(model).__name__])
    return kind
