"""What the build of a wheel does besides copying: it analyses the grammars and compiles the kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

if TYPE_CHECKING:
    from types import ModuleType

PACKAGE = Path("src", "eventide")
LANGUAGE = PACKAGE / "language"
OF_GRAMMARS = ("lark>=1.2,<2",)
OF_KERNELS = ("numba>=0.61,<0.70", "numpy>=2.1,<3")
"""As in the dependencies of the package."""
WITHOUT_KERNELS = os.environ.get("EVENTIDE_BUILD_KERNELS") == "no"
BUILD = "import os; from eventide.compilation.linking import build; build(os.cpu_count() or 1, lambda: None)"


class ParsersAndKernels(BuildHookInterface):  # type: ignore[type-arg,misc]
    """Put the tables of every grammar and the compiled kernels into the wheel, which is then one for this Python and machine.

    Kernels that `make kernels` has built are taken as they are. Without a C compiler, or with EVENTIDE_BUILD_KERNELS=no, the
    wheel is one for all machines, and numba compiles where it is installed. An editable install gets neither: parsers are kept in
    the user's cache, and `make kernels` builds in place.
    """

    def dependencies(self) -> list[str]:
        """Return what the build needs to be installed."""
        return [*OF_GRAMMARS, *(() if WITHOUT_KERNELS else OF_KERNELS)]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the tables and name them to the build."""
        if version == "editable":
            return
        library = _load(Path(self.root) / PACKAGE / "compilation" / "library.py").library_path()
        if not library.exists() and not WITHOUT_KERNELS:
            self._build_kernels()
        if library.exists() and not WITHOUT_KERNELS:
            build_data["force_include"][str(library)] = f"eventide/compilation/{library.name}"
            build_data |= {"pure_python": False, "infer_tag": True}
        self.folder = tempfile.TemporaryDirectory()
        language = Path(self.root) / LANGUAGE
        parsers = _load(language / "reading" / "saved_parsers.py")
        for path in sorted(language.rglob("*.lark")):
            grammar = path.read_text(encoding="utf-8")
            name = parsers.saved_name(path.stem, grammar)
            written = Path(self.folder.name, name)
            written.write_text(parsers.written(parsers.build_parser(grammar)), encoding="ascii")
            build_data["force_include"][str(written)] = f"eventide/language/{parsers.SHIPPED}/{name}"

    def _build_kernels(self) -> None:
        self.app.display_info("Compiling the kernels, which takes a minute; EVENTIDE_BUILD_KERNELS=no leaves them out")
        path = os.pathsep.join([str(Path(self.root) / PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, "-c", BUILD], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
        )
        if done.returncode:
            why = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
            self.app.display_warning(f"The wheel has no kernels, numba will compile them where it is installed: {why}")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was written for the build."""
        del build_data, artifact_path
        if version != "editable":
            self.folder.cleanup()


def _load(path: Path) -> ModuleType:
    """Load a module by its path: the package around it imports what a build does not install."""
    specification = spec_from_file_location(path.stem, path)
    assert specification is not None and specification.loader is not None
    module = module_from_spec(specification)
    sys.modules[path.stem] = module
    specification.loader.exec_module(module)
    return module
