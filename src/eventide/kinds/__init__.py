"""The kinds of pattern: a new kind is a line here and a module below, and files of its name in the rooms.

>>> from eventide.language import parse
>>> KINDS[type(parse("SELECT * WHERE A ; B"))].name
'sequences'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eventide.kinds.kind import Kind

_MODULES = {"Query": "eventide.kinds.sequences", "RowQuery": "eventide.kinds.row_patterns"}
"""By the names of models, which would else have to be imported."""


class _Kinds(dict[type, "Kind"]):
    """A kind is loaded with its first query: its matchers bring their kernels."""

    def __missing__(self, model: type) -> Kind:
        kind: Kind = import_module(_MODULES[model.__name__]).KIND
        self[model] = kind
        return kind


KINDS = _Kinds()
"""The kinds by the classes of their models."""
