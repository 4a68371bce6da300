"""Noise whose truth is known, by shape: deviations of the logs of repeated figures, in the order they were run."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from benchbook.stats.estimates import Array

# (rng, spread: relative standard deviation per cell, shape (cells, 1); n) -> deviations, shape (cells, n).
Noise: TypeAlias = Callable[[np.random.Generator, Array, int], Array]

SLOW, SLOW_SHARE = 0.8, 0.3
DRIFT = 0.98
_SKEW = 0.5


def _z(rng: np.random.Generator, spread: Array, n: int) -> Array:
    return rng.standard_normal((spread.shape[0], n))


def normal(rng: np.random.Generator, spread: Array, n: int) -> Array:
    """Figures normal around their mean, none below a twentieth of it."""
    return np.asarray(np.log(np.maximum(1 + spread * _z(rng, spread, n), 0.05)))


def lognormal(rng: np.random.Generator, spread: Array, n: int) -> Array:
    """Lognormal, and so skewed, even as logs; mean 0 and the spread as asked for."""
    skewed = np.exp(_SKEW * _z(rng, spread, n))
    mean, variance = math.exp(_SKEW**2 / 2), math.exp(_SKEW**2) * (math.exp(_SKEW**2) - 1)
    return np.asarray(-spread * (skewed - mean) / math.sqrt(variance))


def bimodal(rng: np.random.Generator, spread: Array, n: int) -> Array:
    """70% of the repetitions in one regime, 30% in one that is 20% slower; the truth is the mean over both."""
    slow = (rng.random((spread.shape[0], n)) < SLOW_SHARE) - SLOW_SHARE
    return np.asarray(math.log(SLOW) * slow + spread * _z(rng, spread, n))


def heavy(rng: np.random.Generator, spread: Array, n: int) -> Array:
    """Student's t with 3 degrees of freedom."""
    return np.asarray(spread * rng.standard_t(3, (spread.shape[0], n)) / math.sqrt(3))


def drift(rng: np.random.Generator, spread: Array, n: int) -> Array:
    """Each repetition 2% below the one before; the truth is that of the first."""
    return np.asarray(math.log(DRIFT) * np.arange(n) + spread * _z(rng, spread, n))


NOISE: dict[str, Noise] = {
    "normal": normal,
    "lognormal": lognormal,
    "bimodal": bimodal,
    "heavy tails": heavy,
    "drift": drift,
}
