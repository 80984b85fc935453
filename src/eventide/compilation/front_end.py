"""numba's front end alone: kernels become the text of LLVM, and nothing is made of it until all of them are there.

Left to itself numba optimises every kernel three times, makes machine code of it, and does so again, with all that it calls,
for each kernel that calls it: more than half of the time. Here each kernel is typed and lowered once; `compiling.py` optimises
what a process has lowered as one module, and makes machine code of it once.

What is here of numba is not public: `tests/compilation` must pass before a new numba is allowed.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm
from numba.core import codegen, ir, types
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import register_pass
from numba.core.postproc import PostProcessor
from numba.core.registry import cpu_target
from numba.core.targetconfig import ConfigStack
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import InlineOverloads, NativeLowering, NopythonRewrites
from numba.core.untyped_passes import FindLiterallyCalls, InlineClosureLikes, InlineInlinables, LiteralUnroll, WithLifting

from eventide.compilation.arguments import hand_on_little
from eventide.compilation.array_items import read_items_directly

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_INLINING = {InlineClosureLikes, InlineInlinables, InlineOverloads}
_NEEDLESS = {*_INLINING, WithLifting, FindLiterallyCalls, LiteralUnroll, NopythonRewrites}
"""Passes for what no kernel does: closures, `with`, inlining, literals unrolled, arithmetic of whole arrays."""
_PARTS = {"getattr", "static_getattr", "getitem", "static_getitem", "typed_getitem", "exhaust_iter"}


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[no-untyped-call]
class _Lowering(NativeLowering):
    """Lowering that counts no references where all arrays are borrowed from the caller: counting is a third of the code."""

    _name = "lowering_of_kernels"

    def run_pass(self, state: Any) -> bool:
        if _borrows(state):
            state.flags = state.flags.copy()
            state.flags.nrt = False
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        with ConfigStack().enter(state.flags):  # type: ignore[no-untyped-call]
            return bool(super().run_pass(state))  # type: ignore[no-untyped-call]


def _borrows(state: Any) -> bool:
    """Return whether a kernel has no arrays but those of its arguments, and returns none."""
    assigned = (one for block in state.func_ir.blocks.values() for one in block.find_insts(ir.Assign))
    return not _counted(state, state.return_type) and all(_is_borrowed(state, one.target, one.value) for one in assigned)


def _is_borrowed(state: Any, target: Any, value: Any) -> bool:
    """Return whether what a variable gets holds no array, or only such as arguments hold: itself, a part or a view of it."""
    if not _counted(state, state.typemap[target.name]) or isinstance(value, ir.Arg | ir.Var):
        return True
    if not isinstance(value, ir.Expr):
        return False
    if value.op == "call":
        return isinstance(state.typemap[value.func.name], types.NamedTupleClass)
    if value.op in _PARTS:
        whole = state.typemap[value.value.name]
        if isinstance(whole, types.Array):
            return value.op == "getitem" and _is_slice(state.typemap[value.index.name])
        return isinstance(whole, types.BaseTuple)
    return value.op in ("build_tuple", "cast", "phi")


def _is_slice(index: Any) -> bool:
    """Return whether an array at such an index is a view of it; at an array of numbers, say, it would be a copy."""
    each: Iterable[Any] = index if isinstance(index, types.BaseTuple) else (index,)  # type: ignore[assignment]
    return all(isinstance(one, types.Integer | types.SliceType) for one in each)


def _counted(state: Any, type_: Any) -> bool:
    """Return whether values of a type hold memory whose references numba counts."""
    return bool(state.targetctx.data_model_manager[type_].contains_nrt_meminfo())


class KernelCompiler(Compiler):
    """numba's compiler without the passes that no kernel needs, and with our lowering."""

    def define_pipelines(self) -> list[Any]:
        """Return its one pipeline."""
        (pipeline,) = super().define_pipelines()  # type: ignore[no-untyped-call]
        kept = [(own, why) for own, why in pipeline.passes if own not in _NEEDLESS]
        pipeline.passes = [(_Lowering if own is NativeLowering else own, why) for own, why in kept]
        pipeline._finalized = False  # noqa: SLF001 - numba's own hook for changed pipelines has no way to take passes out
        pipeline.finalize()
        return [pipeline]


class _Text(codegen.JITCodeLibrary):
    """A library of numba that keeps what is lowered into it as text, and makes nothing of it."""

    def __init__(self, own: Any, name: str) -> None:
        codegen.CodeLibrary.__init__(self, own, name)
        self._linking_libraries: list[Any] = []
        self.texts: list[str] = []

    def add_ir_module(self, ir_module: Any) -> None:
        self.texts.append(str(ir_module))

    def finalize(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, _name: str) -> int:
        return 0


def lower_only() -> None:
    """From now on numba, in this process, lowers what it is asked to compile, and goes no further."""
    context = cpu_target.target_context
    # What numba itself brings with it is compiled first, as it was.
    context.refresh()
    own = context.codegen()
    own._library_class = _Text  # noqa: SLF001
    own.set_env = lambda _name, _environment: None
    hand_on_little(context)
    read_items_directly(context)
    _remember_signatures()
    _find_lifetimes_once()


def _find_lifetimes_once() -> None:
    """Let numba find out how long variables live only where it writes it down, and not behind each of its passes."""
    whole = PostProcessor.run

    def run(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        if emit_dels or self.func_ir.is_generator:
            whole(self, emit_dels, extend_lifetimes)
        else:
            self.func_ir.blocks = canonicalize_cfg(self.func_ir.blocks)  # type: ignore[no-untyped-call]
            self.func_ir.generator_info = None

    PostProcessor.run = run  # type: ignore[method-assign]


def _remember_signatures() -> None:
    """Let numba remember what its own functions return: for each `a < b` it tries a dozen templates, a third of its time."""
    resolve = types.BaseFunction.get_call_type

    def remembered(self: Any, context: Any, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        known = vars(self).setdefault("_signatures_of_eventide", {})
        key = (args, *kws.items())
        if key not in known:
            known[key] = resolve(self, context, args, kws)
        return known[key]

    types.BaseFunction.get_call_type = remembered  # type: ignore[assignment, method-assign]


def linked_module(libraries: Iterable[Any]) -> Any:
    """Return one module, not optimised, with all that libraries hold and all that they call."""
    parts = deque(map(_module, _texts(list(libraries))))
    # To link into a module takes longer the more it holds: two of like size at a time, as in a tournament.
    while len(parts) > 1:
        whole = parts.popleft()
        whole.link_in(parts.popleft())
        parts.append(whole)
    return parts.pop()


def _module(text: str) -> Any:
    part = llvm.parse_assembly(text)
    for function in part.functions:
        # numba defines small functions of its own once for each use; and LLVM drops what nothing has asked for yet.
        if not function.is_declaration and function.linkage in (llvm.Linkage.external, llvm.Linkage.linkonce_odr):
            function.linkage = "weak_odr"
    return part


def _texts(waiting: list[Any]) -> Iterator[str]:
    seen = set(map(id, waiting))
    while waiting:
        library = waiting.pop()
        yield from library.texts if isinstance(library, _Text) else [str(library._get_module_for_linking())]  # noqa: SLF001
        for called in library._linking_libraries:  # noqa: SLF001
            if id(called) not in seen:
                seen.add(id(called))
                waiting.append(called)
