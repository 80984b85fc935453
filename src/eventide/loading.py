"""Names of a package that are loaded when they are first asked for."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def load_later(package: str, places: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package, given its names by the modules that define them.

    No name may be that of a module in the package: an import of that module would put it there instead.

    >>> load = load_later("eventide", {"json": ("dumps",)})
    >>> load("dumps")([1])
    '[1]'
    >>> load("dump")
    Traceback (most recent call last):
    AttributeError: module 'eventide' has no attribute 'dump'
    """
    modules = {name: module for module, names in places.items() for name in names}

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(modules[name]), name)
        # The next one to ask finds it without coming here.
        setattr(sys.modules[package], name, found)
        return found

    return load
