"""Numbers as a reader wants them: with the digits that they carry."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pandas as pd

from benchbook.stats.estimates import Interval


def number(value: float | None) -> str:
    """Four significant digits, thousands apart; a missing value is a dash."""
    if value is None or pd.isna(value):
        return "–"
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def span(values: Iterable[object]) -> str:
    """ "50", or "50 to 1,000": the least and the most of whole numbers, or of texts that say such; "0" of none."""
    numbers = [int(str(value)) for value in values]
    if not numbers:
        return "0"
    least, most = min(numbers), max(numbers)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def ratio(value: float) -> str:
    """Three decimals; from 1,000 on, where an interval of two repetitions may end, two digits and a power of ten."""
    return f"{value:.3f}" if value < 1000 else f"{value:.1e}"


def with_interval(measured: Interval | None) -> str:
    """Return `mean [low, high]`, to two digits of half the interval; with one repetition the mean alone."""
    if measured is None:
        return "–"
    value, low, high, _ = measured
    if math.isnan(low):
        return number(value)
    half = (high - low) / 2
    ends = value, max(0.0, low), high
    if 0 < half < math.inf:
        # Digits beyond these say nothing: the mean is not known to them. A zero among them says as much as another one.
        most = max(0, 3 - math.floor(math.log10(max(map(abs, ends)))))
        decimals = min(1 - math.floor(math.log10(half)), most)
        texts = [f"{round(each, decimals):,.{max(0, decimals)}f}" for each in ends]
    else:
        texts = [number(each) for each in ends]
    # Non-breaking: an interval that is cut in two lines is not read as one.
    return f"{texts[0]}\u00a0[{texts[1]},\u00a0{texts[2]}]"
