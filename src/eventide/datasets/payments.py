"""Payments by credit card, with card testing planted among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from eventide.datasets.drawing import dictionary_column, draw, require_at_least, require_share, time_column, times

if TYPE_CHECKING:
    from numpy.typing import NDArray

COUNTRIES = ["AT", "BR", "CH", "DE", "ES", "FR", "GB", "IT", "JP", "PL", "SE", "US"]
MERCHANTS = ["airline", "books", "cinema", "electronics", "fuel", "games", "grocery", "hotel", "pharmacy", "restaurant"]
# A stolen card is tried with small payments that shrink, and then emptied.
TRIES = 3
BURST = TRIES + 1
ABROAD = 0.02


def cards(events: int, cards: int = 1000, seed: int = 0, *, fraud: float = 0.01, mean_gap_ms: int = 500) -> pa.Table:
    """Generate payments; the share `fraud` of them belongs to planted bursts, marked in the column `fraud`.

    A burst is three payments below 5 with falling amounts and then one of 500 or more from another country than the card's
    home, all within four minutes and with the same card.

    >>> cards(1000, cards=20, seed=1).column_names
    ['ts', 'seq', 'kind', 'card', 'amount', 'merchant', 'country', 'fraud']
    """
    require_at_least("events", events, 0)
    require_at_least("cards", cards, 1)
    require_at_least("mean_gap_ms", mean_gap_ms, 0)
    require_share("fraud", fraud)
    generator = np.random.default_rng(seed)
    bursts = round(events * fraud / BURST) if events >= BURST else 0
    planted = bursts * BURST
    usual = events - planted
    home = draw(generator, len(COUNTRIES), 0.8, cards)

    usual_times = times(generator, usual, mean_gap_ms)
    usual_card = draw(generator, cards, 0.5, usual)
    usual_amount = np.round(np.exp(generator.normal(3.2, 0.9, usual)) + 0.5, 2)
    abroad = generator.random(usual) < ABROAD
    usual_country = np.where(abroad, draw(generator, len(COUNTRIES), 0.0, usual), home[usual_card]).astype(np.int32)

    burst_card = draw(generator, cards, 0.0, bursts)
    burst_times = _burst_times(generator, bursts, usual_times if usual else times(generator, 1, mean_gap_ms))
    burst_country = (home[burst_card] + generator.integers(1, len(COUNTRIES), bursts)) % len(COUNTRIES)
    burst_amounts = np.concatenate((_falling_amounts(generator, bursts), generator.uniform(500, 3000, (bursts, 1))), axis=1)

    event_times = np.concatenate((usual_times, burst_times.ravel()))
    order = np.argsort(event_times, kind="stable")
    card = np.concatenate((usual_card, np.repeat(burst_card, BURST)))[order]
    country = np.concatenate((usual_country, _country_of_burst(home[burst_card], burst_country)))[order].astype(np.int32)
    is_fraud = np.concatenate((np.zeros(usual, dtype=bool), np.ones(planted, dtype=bool)))[order]
    return pa.table(
        {
            "ts": time_column(event_times[order]),
            "seq": pa.array(np.arange(events, dtype=np.int64)),
            "kind": dictionary_column(np.zeros(events, dtype=np.int32), ["Card"]),
            "card": pa.array(card.astype(np.int64)),
            "amount": pa.array(np.round(np.concatenate((usual_amount, burst_amounts.ravel())), 2)[order]),
            "merchant": dictionary_column(draw(generator, len(MERCHANTS), 0.5, events), MERCHANTS),
            "country": dictionary_column(country, COUNTRIES),
            "fraud": pa.array(is_fraud),
        }
    )


def _burst_times(generator: np.random.Generator, bursts: int, usual: NDArray[np.int64]) -> NDArray[np.int64]:
    start = generator.integers(usual[0], usual[-1] + 1, size=(bursts, 1), dtype=np.int64)
    gaps = generator.integers(5_000, 80_000, size=(bursts, TRIES), dtype=np.int64) * 1000
    return np.concatenate((start, start + np.cumsum(gaps, axis=1)), axis=1)


def _falling_amounts(generator: np.random.Generator, bursts: int) -> NDArray[np.float64]:
    # Bands that do not touch, so that rounding to cents cannot make two tries equal.
    return np.array([3.5, 2.0, 0.5]) + generator.uniform(0.0, 1.4, (bursts, TRIES))


def _country_of_burst(home: NDArray[np.int32], abroad: NDArray[np.int64]) -> NDArray[np.int64]:
    countries = np.repeat(home.astype(np.int64)[:, np.newaxis], BURST, axis=1)
    countries[:, -1] = abroad
    return countries.ravel()
