"""What became of a load's rate when a member was killed in the middle of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from benchbook.campaign.record import Quantity

# A rate below this share of the one before is no service any more.
STOPPED = 0.1


def around(rates: Sequence[tuple[float, float]], killed: float, every_s: float) -> dict[str, Quantity]:
    """Of rates (s, 1/s), each told at the end of its `every_s`: before the kill and after it, and how long it stood.

    What was told before the kill is before it; the interval that it falls into belongs to neither. `stalled_s` is the
    longest time without service from then on, to within `every_s`.
    """
    before = [rate for t, rate in rates if t <= killed]
    during = [rate for t, rate in rates if t > killed]
    middle = _mean(before)
    runs = (len(list(run)) for stopped, run in groupby(during, lambda rate: rate < STOPPED * middle) if stopped)
    return {
        "tps_before": Quantity(value=middle, unit="1/s"),
        "tps_after": Quantity(value=_mean(during[1:]), unit="1/s"),
        "stalled_s": Quantity(value=max(runs, default=0) * every_s, unit="s"),
    }


def _mean(rates: Sequence[float]) -> float:
    return sum(rates) / len(rates) if rates else 0.0
