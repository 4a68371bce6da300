"""Tails and quantiles of the t, F, chi-square and normal distributions.

What scipy.stats calls for them, to the last digit (a test compares them): it is another second to import, for every
page and every notebook. `scipy` imports its chapters when they are first asked for.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import scipy

# A number, or an array or a pandas series of them; what comes back has the same shape.
Numbers: TypeAlias = Any


def t_quantile(share: Numbers, df: Numbers) -> Numbers:
    """The value that Student's t is below with this chance, above 0."""
    return scipy.special.stdtrit(df, share)


def t_tail(value: Numbers, df: Numbers) -> Numbers:
    """The chance that Student's t is above a value."""
    return scipy.special.stdtr(df, -value)


def f_quantile(share: Numbers, df: Numbers, of_divisor: Numbers) -> Numbers:
    """The value that F is below with this chance."""
    return scipy.special.fdtri(df, of_divisor, share)


def f_tail(value: Numbers, df: Numbers, of_divisor: Numbers) -> Numbers:
    """The chance that F is above a value of 0 or more."""
    return scipy.special.fdtrc(df, of_divisor, value)


def chi2_quantile(share: float, df: float) -> float:
    """The value that chi-square is below with this chance."""
    return float(2 * scipy.special.gammaincinv(df / 2, share))


def normal_above(tail: float) -> float:
    """The value that a standard normal variable is above with this chance."""
    return float(-scipy.special.ndtri(tail))


def normal_density(value: float) -> float:
    """Of the standard normal distribution."""
    return math.exp(-(value**2) / 2) / math.sqrt(2 * math.pi)
