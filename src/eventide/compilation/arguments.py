"""What linked kernels hand on to each other: named tuples by pointer, contiguous arrays as holder, items and shape.

To numba a tuple is a value. Each call takes it apart, array by array and word by word, and the callee puts it together again:
three fifths of what was lowered, for tuples of up to 280 words that are never changed. Here it is the place where the glue put
its words. No kernel makes a named tuple or returns one: all come from Python, so the words stay until the kernel returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import types
from numba.core.callconv import CPUCallConv
from numba.core.datamodel import models, registry
from numba.core.imputils import Registry, impl_ret_borrowed
from numba.cpython.tupleobj import namedtuple_getattr
from numba.np.numpy_support import as_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

HOLDER, ITEMS, SHAPE = 0, 4, 5
"""Where numba's structure of an array has who holds it, the address of its items and its shape; strides follow the shape."""
_WORD = 8
_WHOLE = ir.IntType(64)


def is_pointed(type_: Any) -> bool:
    """Return whether values of a type are pointers: numba itself makes named tuples, too, which stay as they are."""
    made: Any = getattr(type_, "instance_class", None)
    return isinstance(type_, types.BaseNamedTuple) and made.__module__.startswith("eventide.")


def items_of(tuple_: Any) -> list[Any]:
    """Return the types of the items of a tuple."""
    return list(tuple_)


def words_of(type_: Any) -> int:
    """Return how many words the glue writes for an argument."""
    if isinstance(type_, types.BaseTuple):
        return sum(map(words_of, items_of(type_)))
    return SHAPE + 2 * type_.ndim if isinstance(type_, types.Array) else 1


def places_of(given: Sequence[Any]) -> list[tuple[int, bool]]:
    """Return the word at which each argument of the lowered function begins, and whether it is a pointer to that word."""
    found, start = [], 0
    for type_ in given:
        if is_pointed(type_):
            own = [(0, True)]
        elif isinstance(type_, types.BaseTuple):
            own = places_of(items_of(type_))
        elif isinstance(type_, types.Array):
            own = [(place, False) for place in (HOLDER, ITEMS, *range(SHAPE, SHAPE + type_.ndim))]
        else:
            own = [(0, False)]
        found += [(start + place, pointed) for place, pointed in own]
        start += words_of(type_)
    return found


class _Pointed(models.PrimitiveModel):
    """A named tuple, as a pointer to its words; numba counts no references of what it borrows."""

    def __init__(self, manager: Any, type_: Any) -> None:
        super().__init__(manager, type_, ir.IntType(8).as_pointer())  # type: ignore[no-untyped-call]

    def get_return_type(self) -> Any:
        raise NotImplementedError(f"A kernel cannot return {self.fe_type}: its words are those of the caller.")


def _item(context: Any, builder: Any, tuple_: Any, words: Any, name: str) -> Any:
    """Return an item of a tuple: what its words hold, or where they begin if it is a named tuple itself."""
    if not is_pointed(tuple_):
        return namedtuple_getattr(context, builder, tuple_, words, name)
    items = items_of(tuple_)
    place = tuple_.fields.index(name)
    at = builder.gep(words, [_WHOLE(_WORD * sum(map(words_of, items[:place])))])
    if is_pointed(items[place]):
        return at
    model = context.data_model_manager[items[place]]
    loaded = model.load_from_data_pointer(builder, builder.bitcast(at, model.get_data_type().as_pointer()))
    return impl_ret_borrowed(context, builder, items[place], loaded)  # type: ignore[no-untyped-call]


class _Slim(models.ArrayModel):
    """An array whose arguments are what a contiguous one consists of; the rest follows from it."""

    def get_argument_type(self) -> Any:
        whole = super().get_argument_type()  # type: ignore[no-untyped-call]
        return (whole[HOLDER], whole[ITEMS], whole[SHAPE]) if self.fe_type.layout == "C" else whole

    def as_argument(self, builder: Any, value: Any) -> Any:
        if self.fe_type.layout != "C":
            return super().as_argument(builder, value)  # type: ignore[no-untyped-call]
        shape = tuple(builder.extract_value(value, (SHAPE, axis)) for axis in range(self.fe_type.ndim))
        return builder.extract_value(value, HOLDER), builder.extract_value(value, ITEMS), shape

    def from_argument(self, builder: Any, value: Any) -> Any:
        if self.fe_type.layout != "C":
            return super().from_argument(builder, value)  # type: ignore[no-untyped-call]
        holder, items, shape = value
        size = _WHOLE(as_dtype(self.fe_type.dtype).itemsize)
        strides, count = [size], shape[-1]
        for length in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        for length in shape[:-1]:
            count = builder.mul(count, length)
        parent = holder.type(None)
        made = ir.Constant(self.get_value_type(), ir.Undefined)  # type: ignore[no-untyped-call]
        for place, one in enumerate((holder, parent, count, size, items)):
            made = builder.insert_value(made, one, place)
        for axis, (length, stride) in enumerate(zip(shape, strides, strict=True)):
            made = builder.insert_value(made, length, (SHAPE, axis))
            made = builder.insert_value(made, stride, (SHAPE + 1, axis))
        return made


def hand_on_little(context: Any) -> None:
    """From now on numba, in this process, hands arguments on as it is done here."""
    manager = registry.default_manager
    for type_, by_value in ((types.NamedTuple, models.TupleModel), (types.NamedUniTuple, models.UniTupleModel)):
        manager.register(type_, _pointed_or(by_value))  # type: ignore[no-untyped-call]
    manager.register(types.Array, _Slim)  # type: ignore[no-untyped-call]
    # What numba has compiled of its own until now takes no arrays, but has made models of them.
    manager._cache.clear()  # noqa: SLF001
    own: Any = Registry("named tuples of kernels")  # type: ignore[no-untyped-call]
    for type_ in (types.NamedTuple, types.NamedUniTuple):
        own.lower_getattr_generic(type_)(_item)
    context.install_registry(own)
    decorate = CPUCallConv.decorate_function

    def decorated(self: Any, function: Any, names: Any, given: Any, noalias: bool = False) -> None:
        decorate(self, function, names, given, noalias)  # type: ignore[no-untyped-call]
        place = 2
        for type_ in given:
            if is_pointed(type_):
                # Nothing writes these words: what was read of them once need not be read again behind a write to an array.
                words = function.args[place]
                for attribute in ("noalias", "noundef"):
                    words.add_attribute(attribute)
                words.attributes.dereferenceable = _WORD * words_of(type_)
                words.attributes.align = _WORD
            place += len(self._get_arg_packer([type_]).argument_types)

    CPUCallConv.decorate_function = decorated  # type: ignore[method-assign]


def _pointed_or(by_value: Any) -> Any:
    return lambda manager, type_: (_Pointed if is_pointed(type_) else by_value)(manager, type_)
