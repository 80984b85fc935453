"""The README and the guide are true: their Python blocks run in order, and a `text` block behind one is what it prints."""

from __future__ import annotations

import re
import warnings
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest

from eventide.errors import EventideWarning

ROOT = Path(__file__).parent.parent
DOCUMENTS = ("README.md", "docs/guide.md")
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


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_python_blocks_run_and_print_what_is_written(document):
    assert run_blocks(document, {"python"}, {"__name__": "documentation"}) > 0


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_spark_blocks_run(document, spark):
    assert run_blocks(document, {"python", "python spark"}, {"__name__": "documentation", "spark": spark}) > 1


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_block_is_of_a_known_kind(document):
    assert {block.info for block in blocks_of(document)} <= {"python", "python spark", "text", "console", "mermaid"}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_leads_somewhere(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    missing = [target for target in targets if not ((ROOT / document).parent / target).exists()]
    assert missing == []


def test_the_readme_fits_on_a_screen():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 70


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_of_the_console_blocks_exists(document):
    known = {"make demo", "make demo-stream", "make test", "eventide check", "eventide explain", "eventide run", "eventide generate", "eventide demo"}
    commands = [
        line.removeprefix("$ ") for block in blocks_of(document) if block.info == "console" for line in block.body.splitlines()
    ]
    starts = {" ".join(command.split()[:2]) for command in commands if command and not command.startswith(" ")}
    assert starts <= known
