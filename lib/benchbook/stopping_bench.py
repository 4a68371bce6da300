"""What the stopping rule does on real series: part of `make bench`. Coverage, and the time it takes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchbook.stats.results import Array
from benchbook.stats.series import series_interval
from benchbook.stats.steady import steady_state
from benchbook.stats.stopping import StopRule, replay

# The rule is started anew every so many seconds into the long series: its starts overlap, and share their noise.
EVERY_S = 5
TARGETS = (0.02, 0.05, 0.1)


def on_series(rates: Array, *, minimum_s: float, longest_s: float, published_s: float) -> pd.DataFrame:
    """The rule, begun again and again along one long load of 1-s rates; one row per target.

    target; stops (of `starts`, how many ended as tight as asked); covered (share of these whose 95% interval holds the
    mean of the whole steady series); seconds (median until then); of_published (that as a share of the published
    duration); fixed_s (the duration that, without a rule, is expected to be as tight: the long series' own interval
    scaled by the square root of time); of_fixed.
    """
    steady = steady_state(rates)
    if not steady.reached:
        return pd.DataFrame()
    whole = steady.of(rates)
    return pd.DataFrame([_row(whole, target, minimum_s, longest_s, published_s) for target in TARGETS])


def _row(whole: Array, target: float, minimum_s: float, longest_s: float, published_s: float) -> dict[str, float]:
    rule = StopRule(maximum_s=longest_s, minimum_s=minimum_s, target=target)
    starts = range(0, max(1, whole.size - int(longest_s)), EVERY_S)
    ends = [replay(whole[start : start + int(longest_s)], rule=rule) for start in starts]
    tight = [(end, end.interval) for end in ends if end.precise and end.interval is not None]
    covered = [interval.contains(float(whole.mean())) for _, interval in tight]
    seconds = float(np.median([end.elapsed_s for end, _ in tight])) if tight else np.nan
    fixed_s = whole.size * (series_interval(whole).relative_half_width / target) ** 2
    return {
        "target": target, "starts": len(starts), "stops": len(tight),
        "covered": float(np.mean(covered)) if covered else np.nan, "seconds": seconds,
        "of_published": seconds / published_s, "fixed_s": fixed_s, "of_fixed": seconds / fixed_s,
    }  # fmt: skip
