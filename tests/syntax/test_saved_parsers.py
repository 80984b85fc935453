"""Parsers come from files where they can, and from their grammars where they cannot."""

import os
import tempfile

import pytest
from lark import Token, Transformer

from eventide.language.reading import parser_cache, saved_parsers
from eventide.language.reading.parser_cache import load_grammar

GRAMMAR = "sase/sase.lark"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Give this test a home of its own and return where parsers are kept in it."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return tmp_path / "home" / ".cache" / "eventide" / "parsers"


@pytest.fixture
def built(monkeypatch):
    """Return a list that grows by every grammar that is analysed."""
    grammars = []

    def build(grammar, transformer):
        grammars.append(grammar)
        return saved_parsers.build_parser(grammar, transformer)

    monkeypatch.setattr(parser_cache, "build_parser", build)
    return grammars


def reads_tokens(parser):
    tokens = [Token("OPERATOR", "SEQ"), Token("LEFT", "("), Token("NAME", "A"), Token("NAME", "a"), Token("RIGHT", ")")]
    return parser.parse(tokens).data == "start"


def test_a_grammar_is_analysed_once(cache, built):
    first, second = load_grammar(GRAMMAR, Transformer()), load_grammar(GRAMMAR, Transformer())
    assert len(built) == 1
    assert reads_tokens(first) and reads_tokens(second)


def test_the_name_of_a_file_tells_versions_and_grammars_apart(cache, built, monkeypatch):
    load_grammar(GRAMMAR, Transformer())
    (kept,) = cache.iterdir()
    assert f"lark-{saved_parsers.lark.__version__}-" in kept.name
    assert saved_parsers.saved_name("sase", "start: A") != saved_parsers.saved_name("sase", "start: B")
    monkeypatch.setattr(saved_parsers.lark, "__version__", "0.0.1")
    load_grammar(GRAMMAR, Transformer())
    assert len(built) == 2
    assert len(list(cache.iterdir())) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: text.replace("a", "b", 1),
        lambda text: "\n[]",
        lambda text: f"{saved_parsers._digest('[1]')}\n[1]",
        lambda text: f"{saved_parsers._digest('[{}, {}]')}\n[{{}}, {{}}]",
        lambda text: "é" + text,
    ],
)
def test_a_damaged_file_is_made_anew(cache, built, damage):
    load_grammar(GRAMMAR, Transformer())
    (kept,) = cache.iterdir()
    whole = kept.read_text()
    kept.write_text(damage(whole), encoding="utf-8")
    assert reads_tokens(load_grammar(GRAMMAR, Transformer()))
    assert len(built) == 2
    load_grammar(GRAMMAR, Transformer())
    assert len(built) == 2
    assert [path.name for path in cache.iterdir()] == [kept.name]


def test_what_cannot_be_read_is_ignored(cache, built):
    load_grammar(GRAMMAR, Transformer())
    (kept,) = cache.iterdir()
    kept.unlink()
    kept.mkdir()
    assert reads_tokens(load_grammar(GRAMMAR, Transformer()))
    assert len(built) == 2


def test_without_a_place_to_write_a_parser_is_built(cache, built, tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("HOME", str(blocked))
    monkeypatch.setattr(tempfile, "tempdir", str(blocked))
    assert reads_tokens(load_grammar(GRAMMAR, Transformer()))
    assert reads_tokens(load_grammar(GRAMMAR, Transformer()))
    assert len(built) == 2


def test_a_cache_that_cannot_be_written_leaves_it_to_the_next_place(cache, built, tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    load_grammar(GRAMMAR, Transformer())
    load_grammar(GRAMMAR, Transformer())
    assert len(built) == 1
    assert len(list(cache.iterdir())) == 1


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_directory_that_others_can_write_is_not_read(cache, built, mode):
    load_grammar(GRAMMAR, Transformer())
    cache.chmod(mode)
    load_grammar(GRAMMAR, Transformer())
    assert len(built) == 2
    # It went to the next place, which is ours alone.
    (kept,) = parser_cache.Path(tempfile.gettempdir()).glob("eventide-parsers-*/*")
    assert kept.parent.stat().st_mode & 0o777 == 0o700


def test_a_directory_of_another_user_is_not_read(cache, built, monkeypatch):
    load_grammar(GRAMMAR, Transformer())
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    load_grammar(GRAMMAR, Transformer())
    load_grammar(GRAMMAR, Transformer())
    assert len(built) == 3


def test_a_link_to_a_directory_is_not_read(cache, built, tmp_path):
    load_grammar(GRAMMAR, Transformer())
    cache.rename(tmp_path / "elsewhere")
    cache.symlink_to(tmp_path / "elsewhere")
    load_grammar(GRAMMAR, Transformer())
    assert len(built) == 2


def test_what_a_wheel_brings_comes_first(cache, built, tmp_path, monkeypatch):
    package = tmp_path / "language"
    (package / "sase").mkdir(parents=True)
    grammar = parser_cache.files("eventide.language").joinpath(GRAMMAR).read_text()
    (package / GRAMMAR).write_text(grammar)
    shipped = package / saved_parsers.SHIPPED
    shipped.mkdir()
    (shipped / saved_parsers.saved_name("sase", grammar)).write_text(saved_parsers.written(saved_parsers.build_parser(grammar)))
    monkeypatch.setattr(parser_cache, "files", lambda name: package)
    assert reads_tokens(load_grammar(GRAMMAR, Transformer()))
    assert not built
    assert not cache.exists()
