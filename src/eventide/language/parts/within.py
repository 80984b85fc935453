"""The whole WITHIN clause: a window of the whole match, a window between steps, or both with a comma between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import ParseError, Span
from eventide.language.parts.windows import parse_window
from eventide.language.reading.tokens import depth_change, is_word, span_of, tokenize
from eventide.pattern.sequences import Window, WindowUnit
from eventide.records import record

if TYPE_CHECKING:
    from lark import Token

_BOTH = "Write WITHIN 10 minutes, 30 seconds BETWEEN STEPS."


@record
class Within:
    """What a WITHIN clause says: how long a match may be, and how far its neighbouring events may lie apart."""

    window: Window | None = None
    step_window: Window | None = None


def parse_within(text: str, offset: int = 0) -> Within:
    """Read what stands behind WITHIN.

    >>> within = parse_within("10 minutes, 30 seconds BETWEEN STEPS")
    >>> within.window.size, within.step_window.size
    (600000000, 30000000)
    """
    pieces = _pieces(tokenize(text))
    if len(pieces) == 1 and not pieces[0]:
        return Within(parse_window(text, offset))
    return _Reader(text, offset).read(pieces)


def _pieces(tokens: list[Token]) -> list[list[Token]]:
    """Cut at the commas outside of brackets."""
    pieces: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += depth_change(token)
        if depth == 0 and token.value == ",":
            pieces.append([])
        else:
            pieces[-1].append(token)
    return pieces


class _Reader:
    """Reads the windows of one clause, with their places in the query."""

    def __init__(self, text: str, offset: int) -> None:
        self.text = text
        self.offset = offset

    def read(self, pieces: list[list[Token]]) -> Within:
        window: Window | None = None
        step_window: Window | None = None
        for piece in pieces:
            if not piece:
                raise self._error("A window is missing beside the comma.", Span(0, len(self.text)), _BOTH)
            between = next((index for index, token in enumerate(piece) if is_word(token, "BETWEEN")), None)
            if between is None:
                if window is not None:
                    hint = f"Write {_text(self.text, piece)} BETWEEN STEPS, or one duration such as 1 hour 30 minutes."
                    raise self._error("The match has two windows.", span_of(piece[0], piece[-1]), hint)
                window = self._window(piece)
            else:
                if step_window is not None:
                    raise self._error("There are two windows between steps.", span_of(piece[0], piece[-1]), "Keep one of them.")
                step_window = self._between_steps(piece, between)
        return Within(window, step_window)

    def _window(self, piece: list[Token]) -> Window:
        place = span_of(piece[0], piece[-1])
        return parse_window(self.text[place.start : place.end], self.offset + place.start, self.text)

    def _between_steps(self, piece: list[Token], between: int) -> Window:
        size, word, rest = piece[:between], piece[between], piece[between + 1 :]
        hint = "Write WITHIN 30 seconds BETWEEN STEPS."
        if not rest or not is_word(rest[0], "STEPS"):
            raise self._error("BETWEEN is followed by STEPS here.", span_of(rest[0] if rest else word), hint)
        if len(rest) > 1:
            raise self._error(f"The window should end before {rest[1].value}.", span_of(rest[1]), hint)
        if not size:
            raise self._error("The window between steps has no size.", span_of(word, rest[0]), hint)
        window = self._window(size)
        if window.slide is not None:
            slide = next(token for token in size if is_word(token, "SLIDE"))
            slides = "Slide the whole match, as in WITHIN 10 minutes SLIDE 2 minutes, 30 seconds BETWEEN STEPS."
            raise self._error("A window between steps does not slide.", span_of(slide), slides)
        if window.unit not in (WindowUnit.DURATION, WindowUnit.TIME_UNITS):
            counts = window.unit is WindowUnit.EVENTS
            otherwise = "A : B asks for neighbouring events." if counts else "Compare attributes in FILTER."
            message = "A window between steps is measured in time."
            raise self._error(message, span_of(size[0], size[-1]), f"{hint} {otherwise}")
        return window

    def _error(self, message: str, place: Span, hint: str) -> ParseError:
        return ParseError("BAD_WINDOW", message, text=self.text, span=place.shifted(self.offset), hint=hint)


def _text(text: str, piece: list[Token]) -> str:
    place = span_of(piece[0], piece[-1])
    return text[place.start : place.end]
