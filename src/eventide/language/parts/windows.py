"""The WITHIN clause: how large a window is, and how far it slides.

`30 minutes`, `1 hour 30 minutes`, `INTERVAL '5' MINUTE`, `100 events`, `5 [price]`, a bare `30` for integer time columns, and
`... SLIDE 2 minutes` behind a duration or a bare number.
"""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

from eventide.errors import ParseError, Span, did_you_mean
from eventide.language.reading.tokens import bare_name, is_word, span_of, tokenize
from eventide.pattern.sequences import Window, WindowUnit

if TYPE_CHECKING:
    from lark import Token

_UNIT_NAMES = {
    1: ("us", "µs", "usec", "usecs", "micros", "microsecond", "microseconds"),
    1_000: ("ms", "msec", "msecs", "millis", "millisecond", "milliseconds"),
    1_000_000: ("s", "sec", "secs", "second", "seconds"),
    60_000_000: ("m", "min", "mins", "minute", "minutes"),
    3_600_000_000: ("h", "hr", "hrs", "hour", "hours"),
    86_400_000_000: ("d", "day", "days"),
    604_800_000_000: ("w", "wk", "wks", "week", "weeks"),
}
MICROSECONDS = {name: size for size, names in _UNIT_NAMES.items() for name in names}
_VARYING = ("month", "months", "quarter", "quarters", "year", "years")
_LARGEST = 2**62
_MAXIMUM_DIGITS = 30


def parse_window(text: str, offset: int = 0, source_text: str | None = None) -> Window:
    """Read what stands behind WITHIN.

    >>> parse_window("30 mins SLIDE 2 mins")
    Window(unit=<WindowUnit.DURATION: 'duration'>, size=1800000000, slide=120000000, attribute=None)
    >>> parse_window("100 events")
    Window(unit=<WindowUnit.EVENTS: 'events'>, size=100, slide=None, attribute=None)
    """
    return _WindowReader(text, offset, source_text).window()


def window_text(size: str | float | timedelta) -> str:
    """Return what a caller gave as the size of a window as it is written behind WITHIN.

    >>> window_text(timedelta(minutes=5)), window_text("5 minutes"), window_text(5)
    ('300000000 us', '5 minutes', '5')
    """
    return f"{size // timedelta(microseconds=1)} us" if isinstance(size, timedelta) else str(size)


def parse_whole_number(token: Token, condition: str, what: str, hint: str) -> int:
    """Return the value of a NUMBER token that must be a whole number of reasonable size.

    >>> parse_whole_number(tokenize("12")[0], "BAD_LIMIT", "LIMIT", "Write LIMIT 10.")
    12
    """
    if not token.value.isdecimal() or len(token.value) > 18:
        size = "a whole number" if not token.value.isdecimal() else "a smaller number"
        raise ParseError(condition, f"{what} takes {size}, not {token.value[:40]}.", span=span_of(token), hint=hint)
    return int(token.value)


class _WindowReader:
    """A cursor over the few tokens of a window."""

    def __init__(self, text: str, offset: int, source_text: str | None) -> None:
        self.source_text = text if source_text is None else source_text
        self.offset = offset
        self.tokens = tokenize(text)
        self.index = 0
        self.span = span_of(self.tokens[0], self.tokens[-1], offset=offset) if self.tokens else Span(offset, offset + 1)

    def window(self) -> Window:
        unit, size, attribute = self._size()
        slide = None
        if self._peek() is not None and is_word(self.tokens[self.index], "SLIDE"):
            slide_token = self.tokens[self.index]
            self.index += 1
            slide = self._slide(unit, slide_token)
        rest = self._peek()
        if rest is not None:
            self._fail(f"The window should end before {rest.value}.", rest, "Write WITHIN 30 minutes or WITHIN 100 events.")
        return Window(unit=unit, size=size, slide=slide, attribute=attribute, span=self.span)

    def _size(self) -> tuple[WindowUnit, int | float, str | None]:
        if self._at_interval():
            return WindowUnit.DURATION, self._duration(), None
        number = self._number()
        unit = self._peek()
        if unit is None or is_word(unit, "SLIDE"):
            return WindowUnit.TIME_UNITS, self._whole(number, "name a unit, as in 1.5 seconds"), None
        if is_word(unit, "EVENTS") or is_word(unit, "EVENT"):
            self.index += 1
            return WindowUnit.EVENTS, self._whole(number, "write WITHIN 100 events"), None
        if unit.value == "[":
            attribute = self._attribute()
            value = self._value(number)
            return WindowUnit.ATTRIBUTE, int(value) if number.value.isdecimal() else float(value), attribute
        self.index -= 1
        return WindowUnit.DURATION, self._duration(), None

    def _slide(self, unit: WindowUnit, slide_token: Token) -> int:
        if unit is WindowUnit.DURATION:
            size = self._duration()
        elif unit is WindowUnit.TIME_UNITS:
            size = self._whole(self._number(), "use whole time units")
        else:
            self._fail(
                "Only a window in time can slide.", slide_token, "Remove SLIDE, or write WITHIN 30 minutes SLIDE 5 minutes."
            )
        if size == 0:
            self._fail("A window cannot slide by nothing.", slide_token, "Write a positive step, as in SLIDE 5 minutes.")
        return size

    def _duration(self) -> int:
        first = self.index
        total = self._interval() if self._at_interval() else self._amounts()
        if total.denominator != 1:
            self._fail("A duration is a whole number of microseconds.", self.tokens[first], "Write a longer duration.")
        if total > _LARGEST:
            self._fail("The duration is too long.", self.tokens[first], "Leave WITHIN out for a window without end.")
        return int(total)

    def _amounts(self) -> Fraction:
        total = self._amount()
        while (following := self._peek()) is not None and following.type == "NUMBER":
            total += self._amount()
        return total

    def _amount(self) -> Fraction:
        number = self._number()
        unit = self._peek()
        if unit is None or unit.type != "NAME":
            self._fail(f"A unit is missing after {number.value}.", number, f"Write {number.value} minutes.")
        return self._value(number) * self._unit(unit)

    def _unit(self, unit: Token) -> int:
        self.index += 1
        name = unit.value.lower()
        if name in _VARYING:
            self._fail(f"A {name.rstrip('s')} has no fixed length.", unit, "Write days, as in 30 days.")
        if name not in MICROSECONDS:
            longest = [*(names[-1] for names in _UNIT_NAMES.values()), "events"]
            self._fail(f"{unit.value} is not a unit of time.", unit, did_you_mean(unit.value, longest))
        return MICROSECONDS[name]

    def _at_interval(self) -> bool:
        following = self._peek()
        return following is not None and is_word(following, "INTERVAL")

    def _interval(self) -> Fraction:
        interval = self.tokens[self.index]
        self.index += 1
        amount = self._peek()
        if amount is None or amount.type != "STRING":
            return self._amounts()
        self.index += 1
        place = self.offset + (amount.start_pos or 0) + 1
        inner = _WindowReader(amount.value[1:-1], place, self.source_text)
        if len(inner.tokens) != 1:
            total = inner._amounts()
            if inner._peek() is not None:
                self._fail("The interval cannot be read.", interval, "Write INTERVAL '5' MINUTE.")
            return total
        value = inner._value(inner._number())
        unit = self._peek()
        if unit is None:
            self._fail("The interval has no unit.", interval, "Write INTERVAL '5' MINUTE.")
        return value * self._unit(unit)

    def _attribute(self) -> str:
        opening, *inside = self.tokens[self.index : self.index + 3]
        if len(inside) != 2 or inside[0].type not in ("NAME", "QUOTED") or inside[1].value != "]":
            self._fail("Brackets behind a window size hold one attribute.", opening, "Write WITHIN 5 [price].")
        self.index += 3
        return bare_name(inside[0])

    def _number(self) -> Token:
        token = self._peek()
        if token is None:
            self._fail(
                "The size of the window or of its slide is missing.", None, "Write WITHIN 30 minutes or WITHIN 100 events."
            )
        if token.type != "NUMBER":
            negative = token.value == "-"
            message = "A window cannot be negative." if negative else f"A window begins with a number, not with {token.value}."
            self._fail(message, token, "Write WITHIN 30 minutes or WITHIN 100 events.")
        self.index += 1
        return token

    def _value(self, number: Token) -> Fraction:
        _, _, exponent = number.value.lower().partition("e")
        if len(number.value) > _MAXIMUM_DIGITS or len(exponent) > 3:
            self._fail("The number is too long.", number, "Write a smaller number.")
        value = Fraction(number.value.rstrip("."))
        if value > _LARGEST:
            self._fail("The number is too large.", number, "Write a smaller number.")
        return value

    def _whole(self, number: Token, advice: str) -> int:
        value = self._value(number)
        if value.denominator != 1:
            self._fail(f"{number.value} is not a whole number.", number, f"{advice[0].upper()}{advice[1:]}.")
        return int(value)

    def _peek(self) -> Token | None:
        return self.tokens[self.index] if self.index < len(self.tokens) else None

    def _fail(self, message: str, token: Token | None, hint: str) -> NoReturn:
        span = self.span if token is None else span_of(token, offset=self.offset)
        raise ParseError("BAD_WINDOW", message, text=self.source_text, span=span, hint=hint)
