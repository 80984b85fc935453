"""Compiling a share of the table with numba, in a process of its own: one object, and what each signature became."""

from __future__ import annotations

import gc
import json
import os
import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm
from numba import types
from numba.core.registry import cpu_target

from eventide.compilation import by_numba
from eventide.compilation.arguments import items_of, places_of, words_of
from eventide.compilation.front_end import linked_module, lower_only
from eventide.compilation.library import PLACE, ROOMS
from eventide.compilation.signatures import LETTERS, Array, Group, Scalar, read_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eventide.compilation.linking import Form
    from eventide.compilation.signatures import Argument

_NUMBA = {
    "i64": types.int64,
    "i32": types.int32,
    "i16": types.int16,
    "i8": types.int8,
    "u64": types.uint64,
    "u8": types.uint8,
    "f64": types.float64,
    "bool": types.boolean,
    "none": types.none,
}


def compile_share() -> None:
    """Compile the signatures whose numbers the command line gives; prints each number when it is lowered, which takes longest."""
    target, numbers = sys.argv[1], [int(number) for number in sys.argv[2:]]
    by_numba.LINKING = True
    # numba makes millions of objects that live until the end of the process: looking for garbage takes a seventh of the time.
    gc.disable()
    classes = _tuple_classes()
    table = read_table()
    lower_only()
    lowered: dict[int, Any] = {}
    for number in numbers:
        signature = table[number]
        kernel = getattr(import_module(f"eventide.{signature.module}"), signature.function)
        taken = tuple(_numba_type(argument, classes) for argument in signature.arguments)
        dispatcher = kernel.dispatcher()
        dispatcher.compile(taken)
        lowered[number] = dispatcher.overloads[taken]
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
    whole = linked_module(one.library for one in lowered.values())
    entries: list[str] = []
    forms: dict[int, Form] = {}
    for number, one in lowered.items():
        name = one.fndesc.llvm_func_name
        kinds = [str(argument.type) for argument in whole.get_function(name).arguments][2:]
        forms[number] = _form(one.signature.return_type, sum(map(words_of, one.signature.args)))
        entries.append(entry(f"eventide_{number}", name, list(zip(kinds, places_of(one.signature.args), strict=True))))
    whole.link_in(llvm.parse_assembly(f'target triple = "{whole.triple}"\n' + "".join(entries)))
    optimise(whole, {f"eventide_{number}" for number in numbers})
    Path(f"{target}.o").write_bytes(_emitted(whole))
    Path(f"{target}.json").write_text(json.dumps(forms), encoding="utf-8")


def _tuple_classes() -> dict[str, type]:
    """Return the classes of tuples that kernels take; two of one name would be a riddle in the table."""
    for room in ROOMS:
        for path in (PLACE.parent / room).rglob("*.py"):
            import_module(".".join(path.relative_to(PLACE.parent.parent).with_suffix("").parts))
    found: dict[str, set[type]] = defaultdict(set)
    for module in list(sys.modules.values()):
        for name, one in vars(module).items() if module.__name__.startswith("eventide.") else ():
            if isinstance(one, type) and issubclass(one, tuple):
                found[name].add(one)
    return {name: own.pop() for name, own in found.items() if len(own) == 1}


def _numba_type(argument: Argument, classes: Mapping[str, type]) -> Any:
    match argument:
        case Scalar(type=type_):
            return _NUMBA[type_]
        case Array(type=type_, dimensions=dimensions, const=const):
            return types.Array(_NUMBA[type_], dimensions, "C", readonly=const)
        case Group(name=name, items=items):
            own = [_numba_type(item, classes) for item in items]
            if not name:
                return types.Tuple(own)  # type: ignore[no-untyped-call]
            if len(set(own)) == 1:
                return types.NamedUniTuple(own[0], len(own), classes[name])  # type: ignore[no-untyped-call]
            return types.NamedTuple(own, classes[name])  # type: ignore[no-untyped-call]


def _form(result: Any, words: int) -> Form:
    context = cpu_target.target_context
    return {"words": words, "result": _result(result), "result_bytes": context.get_abi_sizeof(context.get_return_type(result))}


def _result(result: Any) -> str:
    if isinstance(result, types.Array):
        return f"a{_result(result.dtype).replace('b', '?')}{result.ndim}"
    if isinstance(result, types.BaseTuple):
        return f"({''.join(map(_result, items_of(result)))})"
    if isinstance(result, types.Literal):
        return _result(result.literal_type)
    return next(LETTERS[name] for name, known in _NUMBA.items() if known == result)


def entry(name: str, called: str, taken: Sequence[tuple[str, tuple[int, bool]]]) -> str:
    """Return the entry point of a signature: it loads words as the types that the kernel takes, or points to them."""
    lines = [f'declare i32 @"{called}"({", ".join(["ptr", "ptr", *(kind for kind, _ in taken)])})']
    lines.append(f"define i32 @{name}(ptr noalias %result, ptr noalias readonly %words, ptr noalias %failure) {{")
    given = ["ptr %result", "ptr %failure"]
    for place, (kind, (word, pointed)) in enumerate(taken):
        lines.append(f"  %p{place} = getelementptr i64, ptr %words, i64 {word}")
        if not pointed:
            lines.append(f"  %a{place} = load {kind}, ptr %p{place}")
        given.append(f"{kind} %{'p' if pointed else 'a'}{place}")
    lines += [f'  %status = call i32 @"{called}"({", ".join(given)})', "  ret i32 %status", "}", ""]
    return "\n".join(lines)


def optimise(module: Any, names: set[str]) -> None:
    """Make all but the entry points internal, so that what none of them reaches is dropped, and optimise the rest as one."""
    for one in [*module.functions, *module.global_variables]:
        if not one.is_declaration and one.name not in names:
            one.linkage = "internal"
    module.verify()
    machine = _machine(module)
    module.data_layout = str(machine.target_data)
    # As numba does it: references are pruned before and after what is called is put into the caller.
    for level in (0, 3):
        options = llvm.create_pipeline_tuning_options(speed_level=level)
        options.loop_vectorization = level > 0
        builder = llvm.create_pass_builder(machine, options)
        passes = builder.getModulePassManager()
        if level == 0:
            passes.add_loop_rotate_pass()
            passes.add_instruction_combine_pass()
            passes.add_jump_threading_pass()
        passes.add_refprune_pass()
        passes.run(module, builder)


def _emitted(module: Any) -> bytes:
    code: bytes = _machine(module).emit_object(module)
    return code


def _machine(module: Any) -> Any:
    target = llvm.Target.from_triple(module.triple or llvm.get_process_triple())
    return target.create_target_machine(cpu=os.environ["NUMBA_CPU_NAME"], features="", opt=3, reloc="pic", codemodel="default")
