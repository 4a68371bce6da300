"""What became of a load's rate when a member was killed in the middle of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from statistics import fmean

from benchbook.campaign.record import Quantity

# A rate below this share of the one before is no service any more.
STOPPED = 0.1


def around(rates: Sequence[tuple[float, float]], killed: float, returned: float, every_s: float) -> dict[str, Quantity]:
    """Of rates (s, 1/s), each told at the end of its `every_s`: before the kill, without the member, and with it again.

    The interval that an end or a return falls into belongs to neither side. `stalled_s` is the longest time without
    service that began while the member was away, to within `every_s`. A figure of which no interval is whole is left
    out. Once all is sent, a load waits for its last answers, which may time out: that end is no rate of the members.
    """
    before = [rate for t, rate in rates if t <= killed]
    least = STOPPED * (fmean(before) if before else 0.0)
    runs = [
        list(run) for stopped, run in groupby((r for r in rates if r[0] > killed), lambda r: r[1] < least) if stopped
    ]
    stalls = [run for run in runs if run[0][0] <= returned + every_s]
    waiting = runs[-1] if runs and runs[-1] not in stalls and runs[-1][-1] == rates[-1] else []
    parts = {
        "tps_before": before,
        "tps_without": [rate for t, rate in rates if killed + every_s < t <= returned],
        "tps_after": [rate for t, rate in rates[: len(rates) - len(waiting)] if t > returned + every_s],
    }
    return {
        **{name: Quantity(value=fmean(part), unit="1/s") for name, part in parts.items() if part},
        "stalled_s": Quantity(value=max(map(len, stalls), default=0) * every_s, unit="s"),
    }
