"""Copying, as every kernel does it."""

from __future__ import annotations

from eventide.compilation.kernels import inner_kernel


@inner_kernel
def copy_start(target, source, length):
    """Copy the first elements of an array; a loop, because numba takes far longer to compile slices."""
    for index in range(length):
        target[index] = source[index]
