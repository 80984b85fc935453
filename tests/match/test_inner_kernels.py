"""Kernels without a way in from Python: calling one would end the process, so no source may."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py"))
DECORATORS = {"kernel", "inner_kernel"}


def decorators(node: ast.AST) -> set[str]:
    if not isinstance(node, ast.FunctionDef):
        return set()
    return {each.id for each in node.decorator_list if isinstance(each, ast.Name)}


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "src" if path.is_relative_to(ROOT / "src") else ROOT).with_suffix("").parts)


def inner_kernels() -> dict[str, set[str]]:
    """Return the names of the inner kernels of every module of the package and the benchmarks."""
    found = {}
    for path in SOURCES:
        module = module_of(path)
        names = {node.name for node in ast.parse(path.read_text()).body if "inner_kernel" in decorators(node)}
        if names:
            found[module] = names
    return found


INNER = inner_kernels()


class Calls(ast.NodeVisitor):
    """What Python code of a file names of the inner kernels."""

    def __init__(self, own: set[str]) -> None:
        self.kernels, self.modules, self.found = set(own), dict[str, str](), list[str]()

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            name = alias.asname or alias.name
            if alias.name in INNER.get(node.module or "", set()):
                self.kernels.add(name)
            if f"{node.module}.{alias.name}" in INNER:
                self.modules[name] = f"{node.module}.{alias.name}"

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if not decorators(node) & DECORATORS:
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self.kernels:
            self.found.append(f"{node.id} in line {node.lineno}")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name) and node.attr in INNER.get(self.modules.get(node.value.id, ""), set()):
            self.found.append(f"{node.attr} in line {node.lineno}")
        self.generic_visit(node)


def calls_of(source: str, own: set[str] | None = None) -> list[str]:
    calls = Calls(own or set())
    calls.visit(ast.parse(source))
    return calls.found


def test_there_are_inner_kernels():
    assert sum(map(len, INNER.values())) > 100


@pytest.mark.parametrize(
    "source",
    [
        "from eventide.match.recompute.bit_rows.bits import first_of\nfirst_of(words, 0, 0, 1)",
        "from eventide.match.recompute.bit_rows.bits import first_of as first\ndef f():\n    return first(words, 0, 0, 1)",
        "from eventide.match.recompute.bit_rows import bits\nbits.first_of(words, 0, 0, 1)",
    ],
)
def test_a_call_from_python_is_seen(source):
    assert len(calls_of(source)) == 1


def test_a_call_from_a_kernel_is_none():
    assert not calls_of("from eventide.match.recompute.bit_rows.bits import first_of\n@kernel\ndef f(words):\n    return first_of(words, 0, 0, 1)")


def test_python_calls_no_inner_kernel():
    found = {}
    for path in SOURCES:
        if calls := calls_of(path.read_text(), INNER.get(module_of(path), set())):
            found[str(path.relative_to(ROOT))] = calls
    assert not found
