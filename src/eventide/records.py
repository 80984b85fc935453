"""Frozen dataclasses that cost a new process little.

`dataclass(frozen=True)` compiles six functions of every class while its module is imported: 1 ms each, and a first match
imports more than a hundred. A record shares some of them with all others and compiles the rest when they are first called.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform, overload

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


@overload
def record(cls: type[T], /) -> type[T]: ...
@overload
def record(*, kw_only: bool = False) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T] | None = None, /, *, kw_only: bool = False) -> type[T] | Callable[[type[T]], type[T]]:
    """Make a class a frozen dataclass: `fields`, `replace`, `==`, `hash` and `match` treat it as one.

    >>> @record
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(1, y=0), hash(Point(1)) == hash(Point(1, 0))
    (Point(x=1, y=0), True, True)
    >>> Point(1).x = 2
    Traceback (most recent call last):
    dataclasses.FrozenInstanceError: cannot assign to field 'x'
    """
    return _made(cls, kw_only=kw_only) if cls is not None else lambda given: _made(given, kw_only=kw_only)


def _made(cls: type[T], *, kw_only: bool) -> type[T]:
    own = set(vars(cls))
    made: Any = dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
    shared = {
        "__init__": _written_at_first_use(made, "__init__", _init),
        "__repr__": _repr,
        "__setattr__": _refuse_to_set,
        "__delattr__": _refuse_to_delete,
    }
    if "__eq__" not in own:
        shared |= {name: _written_at_first_use(made, name, write) for name, write in (("__eq__", _eq), ("__hash__", _hash))}
    for name, function in shared.items():
        if name not in own:
            setattr(made, name, function)
    return cls


def _written_at_first_use(cls: type[Any], name: str, write: Callable[[type[Any]], Callable[..., Any]]) -> Callable[..., Any]:
    def first(self: Any, *args: Any, **named: Any) -> Any:
        setattr(cls, name, write(cls))
        return getattr(cls, name)(self, *args, **named)

    return first


def _compiled(cls: type[Any], name: str, listed: str, lines: list[str], known: dict[str, Any]) -> Callable[..., Any]:
    exec(f"def {name}({listed}):\n" + "\n".join(lines), known)  # noqa: S102 - as `dataclass` does
    made: Callable[..., Any] = known[name]
    made.__qualname__ = f"{cls.__qualname__}.{name}"
    return made


def _init(cls: type[Any]) -> Callable[..., Any]:
    """Return the `__init__` that `dataclass` would write."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_missing": MISSING}
    places: list[str] = []
    named: list[str] = []
    lines: list[str] = []
    for item in fields(cls):
        name = item.name
        value = name
        if item.default_factory is not MISSING:
            known[f"_default_{name}"] = item.default_factory
            value = f"_default_{name}() if {name} is _missing else {name}" if item.init else f"_default_{name}()"
        elif not item.init:
            continue
        lines.append(f" _set(self, {name!r}, {value})")
        if item.init:
            (named if item.kw_only else places).append(_parameter(item, known))
    lines += [" self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    listed = ", ".join(["self", *places, *(["*", *named] if named else [])])
    return _compiled(cls, "__init__", listed, lines or [" pass"], known)


def _eq(cls: type[Any]) -> Callable[..., Any]:
    lines = [
        " if other.__class__ is not self.__class__:",
        "  return NotImplemented",
        f" return {_compared(cls, 'self')} == {_compared(cls, 'other')}",
    ]
    return _compiled(cls, "__eq__", "self, other", lines, {})


def _hash(cls: type[Any]) -> Callable[..., Any]:
    return _compiled(cls, "__hash__", "self", [f" return hash({_compared(cls, 'self')})"], {})


def _compared(cls: type[Any], whose: str) -> str:
    """Return the tuple of what counts; it compares what is the same object as equal, as dataclasses do."""
    return "(" + "".join(f"{whose}.{item.name}, " for item in fields(cls) if item.compare) + ")"


def _parameter(item: Field[Any], known: dict[str, Any]) -> str:
    if item.default_factory is not MISSING:
        return f"{item.name}=_missing"
    if item.default is MISSING:
        return item.name
    known[f"_default_{item.name}"] = item.default
    return f"{item.name}=_default_{item.name}"


def _repr(self: Any) -> str:
    shown = ", ".join(f"{item.name}={getattr(self, item.name)!r}" for item in fields(self) if item.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _refuse_to_set(_self: Any, name: str, _value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")
