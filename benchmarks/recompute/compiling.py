"""How the kernels of these benchmarks are compiled: by numba, cached by a hash of all their sources.

numba looks for changes in the file of a kernel alone, not in those of the kernels that it calls.
"""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path

from eventide import compilation

VERSION = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py")))).hexdigest()[:16]
kernel = partial(compilation.kernel, version=VERSION)
inner_kernel = partial(compilation.inner_kernel, version=VERSION)
