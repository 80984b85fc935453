"""The table of signatures: each kernel that Python calls is in it, and nothing else."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from eventide.compilation.library import ROOMS
from eventide.compilation.signatures import TABLE, Array, Group, Scalar, read_table

PACKAGE = Path(__file__).parents[2] / "src" / "eventide"


def marked_kernels() -> set[str]:
    found = set()
    for path in (path for room in ROOMS for path in (PACKAGE / room).rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            marks = {mark.id for mark in getattr(node, "decorator_list", []) if isinstance(mark, ast.Name)}
            if "kernel" in marks:
                found.add(f"{module}.{node.name}")
    return found


def test_each_kernel_that_python_calls_has_its_signatures_in_the_table_and_no_other_has():
    assert {f"{one.module}.{one.function}" for one in read_table()} == marked_kernels()


def test_no_signature_is_there_twice():
    assert len(set(read_table())) == len(read_table())


def test_each_tuple_of_the_table_is_used():
    text = TABLE.read_text(encoding="utf-8")
    for name in re.findall(r"^(\w+) = ", text, re.MULTILINE):
        assert len(re.findall(rf"\b{name}\b", text)) > 1, name


def test_a_line_is_read_as_it_is_written():
    [signature] = read_table("# a remark\n\nPair = (i64[:], const f64[:,:])\n\nmatch.x.f(Pair, (u8[:], bool), none)")
    pair = Group("Pair", (Array("i64", 1, const=False), Array("f64", 2, const=True)))
    assert signature.arguments == (pair, Group("", (Array("u8", 1, const=False), Scalar("bool"))), Scalar("none"))
