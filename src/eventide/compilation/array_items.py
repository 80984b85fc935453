"""Items of contiguous arrays in linked code: the address is worked out in a handful of instructions, not two dozen.

numba writes every array to the stack before it reads one of its items, and works out strides that contiguous arrays do not need.
LLVM finds out that all of it is idle; but kernels do little else than read and write items, so that finding out took long.
Negative numbers count from the end, as everywhere.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from numba.core import types
from numba.core.imputils import Registry
from numba.np import arrayobj

from eventide.compilation.arguments import ITEMS, SHAPE

if TYPE_CHECKING:
    from collections.abc import Sequence

_numba: Any = arrayobj


def read_items_directly(context: Any) -> None:
    """From now on numba, in this process, lowers the items of contiguous arrays as it is done here."""
    own: Any = Registry("items of arrays")  # type: ignore[no-untyped-call]
    own.lower(operator.getitem, types.Array, types.Integer)(_read_at_number)
    for tuple_ in (types.UniTuple, types.Tuple):
        own.lower(operator.getitem, types.Array, tuple_)(_read_at_tuple)
    own.lower(operator.setitem, types.Array, types.Any, types.Any)(_write)
    own.lower(len, types.Array)(_length)
    own.lower_getattr(types.Array, "shape")(_shape)
    context.install_registry(own)


def _read_at_number(context: Any, builder: Any, signature: Any, given: Any) -> Any:
    array, index = signature.args
    if not _is_item(array, [index]):
        return _numba.getitem_arraynd_intp(context, builder, signature, given)
    return _numba.load_item(context, builder, array, _address(context, builder, given[0], [index], [given[1]]))


def _read_at_tuple(context: Any, builder: Any, signature: Any, given: Any) -> Any:
    array, index = signature.args
    if not _is_item(array, list(index)):
        return _numba.getitem_array_tuple(context, builder, signature, given)
    numbers = [builder.extract_value(given[1], place) for place in range(len(index))]
    return _numba.load_item(context, builder, array, _address(context, builder, given[0], list(index), numbers))


def _write(context: Any, builder: Any, signature: Any, given: Any) -> Any:
    array, index, value = signature.args
    indexes = list(index) if isinstance(index, types.BaseTuple) else [index]  # type: ignore[call-overload]
    if not _is_item(array, indexes):
        return _numba.setitem_array(context, builder, signature, given)
    alone = not isinstance(index, types.BaseTuple)
    numbers = [given[1]] if alone else [builder.extract_value(given[1], place) for place in range(len(indexes))]
    address = _address(context, builder, given[0], indexes, numbers)
    _numba.store_item(context, builder, array, context.cast(builder, given[2], value, array.dtype), address)
    return None


def _shape(_context: Any, builder: Any, _array: Any, given: Any) -> Any:
    return builder.extract_value(given, SHAPE)


def _length(_context: Any, builder: Any, _signature: Any, given: Any) -> Any:
    return builder.extract_value(given[0], (SHAPE, 0))


def _is_item(array: Any, indexes: Sequence[Any]) -> bool:
    """Return whether an index names one item of a contiguous array."""
    return array.layout == "C" and len(indexes) == array.ndim and all(isinstance(one, types.Integer) for one in indexes)


def _address(context: Any, builder: Any, given: Any, indexes: Sequence[Any], numbers: Sequence[Any]) -> Any:
    place = None
    for axis, (index, number) in enumerate(zip(indexes, numbers, strict=True)):
        size = builder.extract_value(given, (SHAPE, axis))
        own = _numba.fix_integer_index(context, builder, index, number, size)
        place = own if place is None else builder.add(builder.mul(place, size), own)
    return builder.gep(builder.extract_value(given, ITEMS), [place])
