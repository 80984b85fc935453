"""Citations lead somewhere: to an entry of the bibliography, to a departure named there, to a page that the repository holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BIBLIOGRAPHY = (ROOT / "docs" / "bibliography.md").read_text(encoding="utf-8")
ROOMS = ("src", "tests", "benchmarks", "docs", "examples", "tools")
FILES = sorted(
    path
    for path in (*ROOT.glob("*.md"), *(path for room in ROOMS for path in (ROOT / room).rglob("*")))
    if path.suffix in {".py", ".md", ".txt"} and "__pycache__" not in path.parts and path != Path(__file__)
)
# "Li 2010, 4.5" and "Gillani et al. 2019". Months have a year as well.
CITATION = re.compile(r"\b([A-ZÄÖÜ][a-zäöüé]+(?:\set\sal\.)?)\s((?:19|20)\d\d)\b(?!-)")
NOT_AUTHORS = {
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"),
    *("SIGMOD", "Workshops", "Databases", "Journal", "Since", "In"),
}
DEPARTURES = re.compile(r"\berrat(?:um|a)\s+((?:[a-z]+(?:-[a-z]+)+(?:,\s+|\s+and\s+)?)+)")
PAGE = re.compile(r"[\w./-]+\.md\b")


def entries() -> set[str]:
    return set(re.findall(r"^- \*\*([^*]+)\.\*\*", BIBLIOGRAPHY, re.MULTILINE))


def departures() -> set[str]:
    return set(re.findall(r"^#### ([a-z-]+)$", BIBLIOGRAPHY, re.MULTILINE))


def texts() -> list[tuple[str, str]]:
    return [(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in FILES]


def test_every_citation_of_a_work_has_an_entry():
    known = entries()
    cited = {
        (" ".join(match.group().split()), file)
        for file, text in texts()
        for match in CITATION.finditer(text)
        if match[1] not in NOT_AUTHORS
    }
    assert sorted((work, file) for work, file in cited if work not in known) == []
    assert len({work for work, file in cited if file.startswith("src")}) >= 4


def test_every_departure_that_is_cited_is_explained():
    known = departures()
    cited = {
        (name, file)
        for file, text in texts()
        for match in DEPARTURES.finditer(text)
        for name in re.findall(r"[a-z]+(?:-[a-z]+)+", match[1])
    }
    assert sorted((name, file) for name, file in cited if name not in known) == []
    assert len(cited) >= 10


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_page_that_a_file_names_exists(path):
    held = {other.name for other in FILES if other.suffix == ".md"}
    named = PAGE.findall(path.read_text(encoding="utf-8"))
    missing = [
        name
        for name in named
        if not (
            any((folder / name).exists() for folder in (ROOT, ROOT / "docs", path.parent)) or ("/" not in name and name in held)
        )
    ]
    assert missing == []
