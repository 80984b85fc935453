"""How kernels are built: which process compiles what, once for all whole numbers, and where references are counted."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from eventide.compilation.linking import _shares
from eventide.compilation.signatures import read_table

LOWER = """
import numpy as np
from numba import types
from eventide.compilation import by_numba, inner_kernel
from eventide.compilation.front_end import linked_module, lower_only

by_numba.LINKING = True
lower_only()

@inner_kernel
def total(values, length):
    found = 0
    for index in range(length):
        found += values[index]
    return found

def borrows(values):
    first = values[0]
    return total(values[first:], values.shape[0] - first)

def allocates(values):
    made = np.empty(2, np.int64)
    made[0] = total(values, 1)
    return total(made, 1)

def gives_back(values):
    return values[1:]

for function in (borrows, allocates, gives_back):
    dispatcher = inner_kernel(function).dispatcher()
    dispatcher.compile((types.int64[::1],))
    (made,) = dispatcher.overloads.values()
    text = str(linked_module([made.library]).get_function(made.fndesc.llvm_func_name))
    print(function.__name__, "NRT_incref" in text or "NRT_decref" in text)
"""


TWICE = """
import numpy as np
from eventide.compilation import inner_kernel, kernel

@inner_kernel
def twice(number):
    return 2 * number

@kernel
def doubled(numbers):
    return twice(3) + twice(numbers[0]) + twice(numbers.shape[0])

print(doubled(np.array([5], np.int32)), len(twice.dispatcher().overloads))
"""


def printed(script):
    """Return what a process prints where numba compiles; it finds no file of such a script, and so caches nothing."""
    environment = {**os.environ, "EVENTIDE_KERNELS": "numba", "NUMBA_DISABLE_JIT": "0"}
    return subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("processes", [1, 2, 200])
def test_every_signature_is_compiled_in_one_process(processes):
    shares = _shares(read_table(), processes)
    assert sorted(number for share in shares for number in share) == list(range(len(read_table())))
    assert all(shares)
    assert len(shares) <= processes


def test_overloads_of_a_kernel_go_where_what_they_call_is():
    table = read_table()
    place = {number: share for share, numbers in enumerate(_shares(table, 2)) for number in numbers}
    both = [number for number, one in enumerate(table) if one.function == "count_keys"]
    assert len({place[number] for number in both}) == 1


def test_a_kernel_called_with_constants_and_small_numbers_is_compiled_once():
    assert printed(TWICE).split() == ["18", "1"]


def test_references_are_counted_only_where_a_kernel_makes_or_returns_arrays():
    assert printed(LOWER).split() == ["borrows", "False", "allocates", "True", "gives_back", "True"]
