"""Columns of values as exact numbers and as ranks, so that kernels add and compare them without losing a digit."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.errors import BindError
from eventide.match.totals.exact import Number
from eventide.match.totals.semiring import NO_VALUE
from eventide.records import record
from eventide.runtime.relational.arrays import arrow_array, arrow_numbers, filled, numpy_values
from eventide.runtime.relational.functions import cast, dictionary, is_valid
from eventide.runtime.stage.ordering import from_ordered, to_ordered

if TYPE_CHECKING:
    Integers = npt.NDArray[np.int64]

UNITS = 1074
"""Every double is a whole multiple of 2**-1074."""
_MANTISSA = 53
_WIDEST_DECIMAL = 18


def refuse_sum(variable: str | None, kind: pa.DataType) -> None:
    """Refuse values that do not add up exactly."""
    types = pa.types
    if types.is_decimal(kind) and kind.precision > _WIDEST_DECIMAL:
        raise BindError(
            "TYPE_MISMATCH",
            f"SUM and AVG over all matches add up decimals of up to {_WIDEST_DECIMAL} digits; {variable} has {kind}.",
            hint="Convert the values, for example CAST(x AS DOUBLE).",
        )
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
        raise BindError(
            "TYPE_MISMATCH",
            f"SUM and AVG of {variable} read values of the type {kind}.",
            hint="Use MIN, MAX or COUNT, or convert the values, for example CAST(x AS DOUBLE).",
        )


def refuse_order(variable: str | None, kind: pa.DataType) -> None:
    """Refuse values that have no order."""
    if pa.types.is_nested(kind):
        raise BindError(
            "TYPE_MISMATCH",
            f"MIN and MAX of {variable} read values of the type {kind}.",
            hint="Use COUNT, or take a number, text or time out of the value.",
        )


@record
class SumValues:
    """What the events of a batch add to a sum: exact numbers in units of 2**exponent, and where infinities and NaN stand."""

    number: Number
    exponent: int
    odd: Integers | None
    """[3, event]: 0 where the value is NaN, infinity, minus infinity, else NO_VALUE; None when there are none."""


def ones(valid: npt.NDArray[Any]) -> SumValues:
    """Return what counts the events for which `valid` is true."""
    return SumValues(Number(valid.astype(np.int64), np.zeros(len(valid), np.int64)), 0, None)


def sum_values(column: pa.Array) -> SumValues:
    """Return the values of a column, nulls as nothing."""
    if pa.types.is_floating(column.type):
        return _doubles(filled(column, 0.0).astype(np.float64))
    if pa.types.is_decimal(column.type):
        whole = [0 if value is None else int(value.scaleb(column.type.scale)) for value in column.to_pylist()]
        mantissa = np.array(whole, np.int64)
    elif pa.types.is_uint64(column.type):
        whole = [value or 0 for value in column.to_pylist()]
        if max(whole, default=0) >> 63:
            raise BindError("TYPE_MISMATCH", "A value is too large for 64 bits.", hint="Convert it: CAST(x AS DOUBLE).")
        mantissa = np.array(whole, np.int64)
    else:
        mantissa = filled(column).astype(np.int64)
    return SumValues(Number(mantissa, np.zeros(len(mantissa), np.int64)), 0, None)


def _doubles(values: npt.NDArray[np.float64]) -> SumValues:
    finite = np.isfinite(values)
    fraction, power = np.frexp(np.where(finite, values, 0.0))
    mantissa = np.ldexp(fraction, _MANTISSA).astype(np.int64)
    power = power.astype(np.int64) - _MANTISSA
    # Without their trailing zeros, prices and whole numbers need few digits and a small range of powers.
    zeros = np.where(mantissa == 0, 0, np.log2(np.maximum(1, mantissa & -mantissa).astype(np.float64))).astype(np.int64)
    mantissa >>= zeros
    power += zeros
    lowest = int(power[mantissa != 0].min(initial=0)) if mantissa.any() else 0
    shift = np.where(mantissa == 0, 0, power - lowest)
    odd = None
    if not finite.all():
        marks = (np.isnan(values), values == np.inf, values == -np.inf)
        odd = np.stack([np.where(mark, 0, NO_VALUE) for mark in marks]).astype(np.int64)
    return SumValues(Number(mantissa, shift), lowest, odd)


def as_double(numerator: int, denominator: int = 1) -> float:
    """Return the double nearest to a fraction; beyond the doubles, an infinity.

    >>> as_double(10**400), as_double(1, 3)
    (inf, 0.3333333333333333)
    """
    try:
        return float(Fraction(numerator, denominator))
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf


def as_digits(number: int) -> str:
    """Return the digits of a whole number, however many they are.

    >>> len(as_digits(-(10**5000)))
    5002
    """
    # Python writes no more than 4300 digits of its own integers.
    return str(Decimal(number))


def as_decimal_text(unscaled: int, scale: int) -> str:
    """Return the digits of a decimal.

    >>> as_decimal_text(-1234, 2), as_decimal_text(10**30, 0)
    ('-12.34', '1000000000000000000000000000000')
    """
    if scale <= 0:
        return as_digits(unscaled * 10**-scale)
    sign, digits = "-" if unscaled < 0 else "", as_digits(abs(unscaled)).rjust(scale + 1, "0")
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}"


@record
class Ranks:
    """Values as ranks in their own order: `rank[event]`, NO_VALUE for null, and the sort key of each rank."""

    rank: Integers
    keys: list[Any]

    @classmethod
    def of(cls, column: pa.Array) -> Ranks:
        """Rank the values of a column; NaN is above all numbers."""
        valid = numpy_values(is_valid(column))
        if pa.types.is_floating(column.type):
            ordered = to_ordered(filled(column, 0.0).astype(np.float64))
        elif pa.types.is_integer(column.type) or pa.types.is_temporal(column.type) or pa.types.is_boolean(column.type):
            ordered = _as_integers(column)
        else:
            encoded = dictionary(column)
            words = encoded.dictionary.to_pylist()
            order = sorted(range(len(words)), key=words.__getitem__)
            place = np.empty(len(words) + 1, np.int64)
            place[order] = np.arange(len(words))
            rank = place[filled(encoded.indices, len(words))]
            return cls(np.where(valid, rank, NO_VALUE), [words[index] for index in order])
        distinct, inverse = np.unique(ordered, return_inverse=True)
        return cls(np.where(valid, inverse.reshape(-1), NO_VALUE), distinct.tolist())

    def sort_keys(self) -> list[Any]:
        """Return the sort key of each value, None for null."""
        return [None if rank == NO_VALUE else self.keys[rank] for rank in self.rank.tolist()]

    def reversed(self) -> Ranks:
        """Return the ranks from the largest value down."""
        last = len(self.keys) - 1
        return Ranks(np.where(self.rank == NO_VALUE, NO_VALUE, last - self.rank), self.keys[::-1])


def _as_integers(column: pa.Array) -> Integers:
    if pa.types.is_boolean(column.type):
        column = cast(column, pa.int8())
    if pa.types.is_uint64(column.type):
        unsigned: npt.NDArray[np.uint64] = filled(column)
        return unsigned.view(np.int64) ^ np.int64(np.iinfo(np.int64).min)
    if pa.types.is_date32(column.type) or pa.types.is_time32(column.type):
        column = cast(column, pa.int32())
    whole: Integers = filled(cast(column, pa.int64()))
    return whole


def from_keys(keys: list[Any], kind: pa.DataType) -> pa.Array:
    """Return the values of a type that sort keys stand for; None is null."""
    if pa.types.is_floating(kind):
        numbers = from_ordered(np.array([0 if key is None else key for key in keys], np.int64))
        return cast(arrow_array(numbers, np.array([key is None for key in keys], np.bool_)), kind)
    if pa.types.is_uint64(kind):
        return arrow_numbers([None if key is None else key + (1 << 63) for key in keys], np.uint64)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return cast(arrow_numbers(keys, np.int32), kind)
    if pa.types.is_boolean(kind):
        return pa.array([None if key is None else bool(key) for key in keys], kind)
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        return cast(arrow_numbers(keys, np.int64), kind)
    return pa.array(keys, kind)
