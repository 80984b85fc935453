"""How kernels come to run: linked ahead of time into one library, else compiled by numba, else as plain Python."""

from eventide.compilation.copying import copy_start
from eventide.compilation.kernels import inner_kernel, kernel

__all__ = ["copy_start", "inner_kernel", "kernel"]
