"""What linked code makes of tuples, arrays and their items, against the same function as plain Python."""

from __future__ import annotations

import os
import subprocess
import sys

COMPARED = """
import ctypes, os
from typing import NamedTuple

import llvmlite.binding as llvm
import numpy as np
from numba import typeof

from eventide.compilation import by_numba, inner_kernel
from eventide.compilation.arguments import places_of, words_of
from eventide.compilation.compiling import entry, optimise
from eventide.compilation.front_end import linked_module, lower_only

by_numba.LINKING = True
lower_only()

class Inner(NamedTuple):
    grid: object
    flags: object

class Outer(NamedTuple):
    values: object
    inner: Inner
    number: int
    exact: bool
    small: object

Inner.__module__ = Outer.__module__ = "eventide.test"

def total(values):
    found = 0.0
    for index in range(len(values)):
        found += values[index] * (index + 1)
    return found

def fill(values, number):
    for index in range(values.shape[0]):
        values[index] = number + index

def count(inner):
    found = 0
    for index in range(inner.flags.shape[0]):
        if inner.flags[index]:
            found += 1
    return found

def probe(outer, spare, bytes_, at):
    inner = outer.inner
    found = inner.grid[1, at] + 10 * inner.grid[at, -1] + 100 * outer.values[at] + 1000 * outer.number
    found += total(inner.grid[0]) + total(inner.grid[:, 1]) + total(outer.values[1:]) + total(outer.small)
    found += count(inner) * (7 if outer.exact else 3) + outer.values[bytes_[0]]
    spare[at] = outer.values[0]
    spare[bytes_[1]] = 4
    fill(spare[3:], 9)
    inner.grid[-2, 0] = found
    made = np.empty((2, 3))
    for row in range(2):
        fill(made[row], row)
    return found + total(made[1]) + made.size + made.shape[1]

def given():
    inner = Inner(np.arange(6.0).reshape(2, 3), np.array([True, False, True]))
    outer = Outer(np.array([5, 6, 7]), inner, 8, True, np.array([1, -2], np.int32))
    return outer, np.zeros(6, np.int64), np.array([2, 1], np.uint8), -1

def words(one):
    if isinstance(one, tuple):
        return [word for item in one for word in words(item)]
    if isinstance(one, np.ndarray):
        return [0, 0, one.size, one.itemsize, one.ctypes.data, *one.shape, *one.strides]
    return [int(one)]

expected, plain = given(), probe(*given())
result = probe(*expected)
total, fill, count = inner_kernel(total), inner_kernel(fill), inner_kernel(count)
dispatcher = inner_kernel(probe).dispatcher()
taken = tuple(map(typeof, given()))
dispatcher.compile(taken)
(made,) = dispatcher.overloads.values()
module = linked_module([made.library])
kinds = [str(argument.type) for argument in module.get_function(made.fndesc.llvm_func_name).arguments][2:]
print(len(kinds))
module.link_in(llvm.parse_assembly(entry("enter", made.fndesc.llvm_func_name, list(zip(kinds, places_of(taken))))))
optimise(module, {"enter"})
machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine()
engine = llvm.create_mcjit_compiler(module, machine)
engine.finalize_object()
enter = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)(engine.get_function_address("enter"))
arguments = given()
flat = words(arguments)
assert len(flat) == sum(map(words_of, taken))
found, failure = ctypes.c_double(), ctypes.c_void_p()
status = enter(ctypes.byref(found), (ctypes.c_int64 * len(flat))(*flat), ctypes.byref(failure))
print(status, found.value == result == plain)
print(all(np.array_equal(one, other) for one, other in zip(arguments[1:], expected[1:])))
print(np.array_equal(arguments[0].inner.grid, expected[0].inner.grid))
"""

RETURNED = """
from typing import NamedTuple

import numpy as np
from numba import typeof

from eventide.compilation import by_numba, inner_kernel
from eventide.compilation.front_end import lower_only

by_numba.LINKING = True
lower_only()

class Pair(NamedTuple):
    first: object
    second: object

Pair.__module__ = "eventide.test"

def same(pair):
    return pair

def made(values):
    return Pair(values, values).first[0]

pair = Pair(np.zeros(1), 2)
for function, given in ((same, pair), (made, pair.first)):
    try:
        inner_kernel(function).dispatcher().compile((typeof(given),))
    except Exception as error:
        print(function.__name__, type(error).__name__)
"""


def printed(script):
    environment = {**os.environ, "EVENTIDE_KERNELS": "numba", "NUMBA_DISABLE_JIT": "0", "NUMBA_CPU_NAME": "generic"}
    environment.pop("NUMBA_BOUNDSCHECK", None)
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_tuples_arrays_and_their_items_are_what_they_are_in_python():
    # A pointer for the tuple; holder, items and length of two arrays; a number.
    assert printed(COMPARED) == ["8", "0", "True", "True", "True"]


def test_a_named_tuple_can_neither_be_made_nor_returned_by_a_kernel():
    assert [line for line in printed(RETURNED) if line in ("same", "made")] == ["same", "made"]
