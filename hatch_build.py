"""What the build of a wheel does besides copying: it analyses the grammars, and takes the kernels along where they are built."""

from __future__ import annotations

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


class SavedParsers(BuildHookInterface):  # type: ignore[type-arg,misc]
    """Put the tables of every grammar into the wheel; an editable install keeps them in the user's cache instead.

    After `make kernels` the wheel also takes the library, and is one for this Python on this kind of machine.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the tables and name them to the build."""
        if version == "editable":
            return
        library = _load(Path(self.root) / PACKAGE / "compilation" / "library.py").library_path()
        if library.exists():
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
