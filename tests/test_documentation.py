"""The documents are true: Python blocks run in order, a `text` block after one is what it prints, links and names lead somewhere."""

from __future__ import annotations

import re
import warnings
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

import pytest

from eventide.errors import EventideWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
GUIDE = tuple(sorted(f"docs/guide/{page.name}" for page in (ROOT / "docs" / "guide").glob("*.md")))
DOCUMENTS = ("README.md", *GUIDE)
PAGES = (
    *(page.name for page in ROOT.glob("*.md")),
    *(str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs").rglob("*.md"))),
)
FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    info: str
    body: str
    line: int
    printed: str | None


def blocks_of(document: str) -> list[Block]:
    text = (ROOT / document).read_text(encoding="utf-8")
    found = list(FENCE.finditer(text))
    blocks = []
    for number, match in enumerate(found):
        after = found[number + 1] if number + 1 < len(found) else None
        follows = after is not None and after["info"] == "text" and not text[match.end() : after.start()].strip()
        line = text.count("\n", 0, match.start("body"))
        blocks.append(Block(match["info"], match["body"], line, after["body"] if after is not None and follows else None))
    return blocks


def run_blocks(document: str, kinds: set[str], names: dict[str, object]) -> int:
    run = 0
    for block in blocks_of(document):
        if block.info not in kinds:
            continue
        # Line numbers in a traceback are those of the document.
        code = compile("\n" * block.line + block.body, str(ROOT / document), "exec")
        printed = StringIO()
        with redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore", EventideWarning)
            exec(code, names)
        if block.printed is not None and block.info == "python":
            assert printed.getvalue() == block.printed, f"{document}, line {block.line}"
        run += 1
    return run


def with_blocks(kind: str) -> list[str]:
    return [document for document in DOCUMENTS if kind in {block.info for block in blocks_of(document)}]


@pytest.mark.parametrize("document", with_blocks("python"))
def test_the_python_blocks_run_and_print_what_is_written(document):
    assert run_blocks(document, {"python"}, {"__name__": "documentation"}) > 0


@pytest.mark.parametrize("document", with_blocks("python spark"))
def test_the_spark_blocks_run(document, spark):
    assert run_blocks(document, {"python", "python spark"}, {"__name__": "documentation", "spark": spark}) > 0


def test_every_page_of_the_guide_is_in_its_index():
    index = (ROOT / "docs" / "guide" / "README.md").read_text(encoding="utf-8")
    assert [page for page in GUIDE if not page.endswith("README.md") and f"]({Path(page).name})" not in index] == []
    assert len(with_blocks("python")) > 8 and len(with_blocks("python spark")) > 5


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_block_is_of_a_known_kind(document):
    assert {block.info for block in blocks_of(document)} <= {"python", "python spark", "text", "console", "mermaid"}


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page, as GitHub makes them from headings."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", PAGES)
def test_every_link_leads_somewhere(document):
    text = FENCE.sub("", (ROOT / document).read_text(encoding="utf-8"))
    missing = []
    for target in re.findall(r"\]\(([^)]+)\)", text):
        path, _, anchor = target.partition("#")
        page = (ROOT / document).parent / path if path else ROOT / document
        if "://" not in target and not (page.exists() and (not anchor or anchor in anchors_of(page))):
            missing.append(target)
    assert missing == []


@pytest.mark.parametrize("document", PAGES)
def test_prose_is_no_wider_than_130_columns(document):
    prose = FENCE.sub("", (ROOT / document).read_text(encoding="utf-8"))
    assert [line for line in prose.splitlines() if len(line) > 130 and not line.lstrip().startswith("|")] == []


def test_the_readme_fits_on_a_screen():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 70


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_of_the_console_blocks_exists(document):
    known = {
        "make demo",
        "make demo-stream",
        "make kernels",
        "make test",
        "pip wheel",
        "eventide check",
        "eventide explain",
        "eventide run",
        "eventide generate",
        "eventide demo",
        "eventide doctor",
        "eventide kernels",
    }
    commands = [
        line.removeprefix("$ ") for block in blocks_of(document) if block.info == "console" for line in block.body.splitlines()
    ]
    starts = {" ".join(command.split()[:2]) for command in commands if command and not command.startswith(" ")}
    assert starts <= known


ARCHITECTURE = ("docs/architecture.md", "docs/glossary.md", "CONTRIBUTING.md")
CODE = re.compile(r"`([^`\n]+)`")
PLACES = (ROOT, ROOT / "src" / "eventide")


@cache
def defined() -> set[str]:
    """Return the names of all classes of the code."""
    files = [file for package in ("eventide", "eventide_reference") for file in (ROOT / "src" / package).rglob("*.py")]
    return {name for file in files for name in re.findall(r"^class (\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)}


def leads_somewhere(name: str) -> bool:
    """Return whether a name in code style is a file, a class or a dotted name of ours; other things in code style pass."""
    if re.fullmatch(r"[\w.-]+/[\w./-]*|\w+\.(py|md|toml)", name):
        return any((place / name).exists() for place in PLACES)
    if re.fullmatch(r"[A-Z][a-z]+(?:[A-Z][a-z]+)+", name):
        return name in defined()
    if re.fullmatch(r"(?:et|eventide)(?:\.\w+)+", name):
        return _resolves(name.replace("et.", "eventide.", 1) if name.startswith("et.") else name)
    return True


def _resolves(dotted: str) -> bool:
    try:
        resolve_name(dotted)
    except (ImportError, AttributeError):
        return False
    return True


@pytest.mark.parametrize("document", ARCHITECTURE)
def test_every_path_and_name_of_the_architecture_exists(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    named = {name for name in CODE.findall(FENCE.sub("", text)) if not name.startswith((".ci", ".venv"))}
    assert sorted(name for name in named if not leads_somewhere(name)) == []


def test_every_room_of_the_picture_and_the_tree_exists():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    picture, tree = (re.search(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1] for kind in ("mermaid", "text"))
    named = set(re.findall(r"\b(?:language|pattern|plan|match|runtime|explain)/[a-z_]*|\b[a-z_]+\.py\b", picture))
    rooms = [
        (line.split()[0], re.findall(r"(?<=\s)[a-z_]+(?:/|\.py)", line[2:]))
        for line in re.findall(r"^  \w.*", tree, re.MULTILINE)
    ]
    named |= {room for room, _ in rooms} | {next(named_in(room, inner)) for room, inners in rooms for inner in inners}
    assert len(named) > 30
    assert sorted(name for name in named if not any((place / name).exists() for place in PLACES)) == []


def named_in(room: str, inner: str) -> Iterator[str]:
    """Yield where a name of the tree may be: in the room whose line it is on, or beside it."""
    yield from (name for name in (f"{room}{inner}", inner) if any((place / name).exists() for place in PLACES))
    yield f"{room}{inner}"


def test_the_glossary_is_in_order():
    words = re.findall(r"^- \*\*([^*]+)\*\*", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert words == sorted(words, key=str.casefold)
    assert len(words) > 40
