"""What a replay can be asked for, read from the options of a Spark reader."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from eventide.errors import BindError, ParseError, did_you_mean
from eventide.language.parts.windows import parse_window
from eventide.pattern.sequences import WindowUnit
from eventide.records import record
from eventide.sources.formats import Format

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FOREVER = 0
FORMAT_OPTION = "file_format ="


@record
class ReplaySettings:
    """A file and how its rows come back: when, in which order, how often. `jitter` and `disorder` are percentages."""

    path: str
    time: str | None = None
    file_format: Format | None = None
    rate: float | None = None
    rows_per_batch: int | None = None
    jitter: float = 0.0
    disorder: float = 0.0
    bound: str | None = None
    seed: int = 0
    repeat: int = 1
    end_marker: str | None = None

    def __post_init__(self) -> None:
        if not self.path:
            raise BindError("BAD_OPTION", "A replay needs a file.", hint='.load("trades.parquet"), or .option("path", ...).')
        for name in ("rate", "rows_per_batch"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise _refused(name, value, "more than 0")
        for name in ("jitter", "disorder"):
            if not 0 <= getattr(self, name) <= 100:
                raise _refused(name, getattr(self, name), "a percentage from 0 to 100")
        for name in ("seed", "repeat"):
            if getattr(self, name) < 0:
                raise _refused(name, getattr(self, name), "0 or more")
        self._require_companions()

    def _require_companions(self) -> None:
        needs = (
            (self.disorder > 0 and self.bound is None, "disorder", "bound", "10 seconds"),
            (self.disorder > 0 and self.time is None, "disorder", "time", "ts"),
            (self.bound is not None and self.disorder == 0, "bound", "disorder", "20"),
            (self.end_marker is not None and self.time is None, "end_marker", "time", "ts"),
            (self.jitter > 0 and self.rate is None, "jitter", "rate", "1000"),
            (self.repeat == FOREVER and self.rate is None and self.rows_per_batch is None, "repeat = forever", "rate", "1000"),
        )
        for lacking, name, other, example in needs:
            if lacking:
                raise BindError("BAD_OPTION", f"{name} does nothing without {other}.", hint=f"Add {other} = {example}.")
        if self.repeat == FOREVER and self.end_marker is not None:
            raise BindError("BAD_OPTION", "A replay without end has no end_marker.", hint="Leave one of them out.")

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> ReplaySettings:
        """Read the options of a Spark reader, whose values are text.

        >>> ReplaySettings.from_options({"path": "trades.csv", "rate": "100", "repeat": "forever"}).rate
        100.0
        """
        known = [field.name for field in fields(cls)]
        given: dict[str, Any] = {}
        for name, text in options.items():
            if name.lower() not in known:
                raise BindError("BAD_OPTION", f"A replay has no option {name}.", hint=did_you_mean(name, known))
            given[name.lower()] = _read_option(name.lower(), text)
        return cls(**{"path": "", **given})

    def as_options(self) -> dict[str, str]:
        """Return the settings that differ from the defaults, as options of a Spark reader.

        >>> ReplaySettings("trades.csv", rate=100.0).as_options()
        {'path': 'trades.csv', 'rate': '100.0'}
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        defaults = {field.name: field.default for field in fields(self)}
        return {name: str(value) for name, value in values.items() if value != defaults[name]}


def distance(name: str, text: str, *, whole_numbers: bool) -> int:
    """Return a distance in time: microseconds, or units of a time column of whole numbers.

    >>> distance("bound", "10 seconds", whole_numbers=False), distance("bound", "5", whole_numbers=True)
    (10000000, 5)
    """
    try:
        window = parse_window(text)
    except ParseError as error:
        raise BindError("BAD_OPTION", f"{name} = {text} is not a time: {error.message}", hint=f"{name} = 10 seconds") from None
    wanted = WindowUnit.TIME_UNITS if whole_numbers else WindowUnit.DURATION
    if window.unit is not wanted or window.slide is not None or window.size <= 0:
        kind = "a positive whole number, as the time column holds" if whole_numbers else "a positive time with its unit"
        raise _refused(name, text, kind, "5" if whole_numbers else "10 seconds")
    return int(window.size)


def _read_option(name: str, text: str) -> Any:
    read = _READERS.get(name)
    if read is None:
        return text
    try:
        return read(text.strip())
    except ValueError:
        raise _refused(name, text, _KINDS[read]) from None


def _repeat(text: str) -> int:
    return FOREVER if text.lower() == "forever" else int(text)


_READERS: dict[str, Callable[[str], Any]] = {
    "file_format": Format,
    "rate": float,
    "rows_per_batch": int,
    "jitter": float,
    "disorder": float,
    "seed": int,
    "repeat": _repeat,
}
_KINDS: dict[Callable[[str], Any], str] = {
    Format: "parquet, csv or json",
    float: "a number",
    int: "a whole number",
    _repeat: "a whole number or forever",
}


def _refused(name: str, value: object, wanted: str, example: str | None = None) -> BindError:
    hint = f"{name} = {example}" if example else f"{name} must be {wanted}."
    return BindError("BAD_OPTION", f"{name} = {value} is not {wanted}.", hint=hint)
