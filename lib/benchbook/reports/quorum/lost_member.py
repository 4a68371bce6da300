"""What became of a load's rate when a member was killed in the middle of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from benchbook.campaign.record import Quantity

# A rate below this share of the one before is no service any more.
STOPPED = 0.1


def around(rates: Sequence[tuple[float, float]], killed: float, returned: float, every_s: float) -> dict[str, Quantity]:
    """Of rates (s, 1/s), each told at the end of its `every_s`: before the kill, without the member, and with it again.

    The interval that an end or a return falls into belongs to neither side. `stalled_s` is the longest time without
    service after the kill, to within `every_s`. A figure of which no interval is whole is left out.
    """
    parts = {
        "tps_before": [rate for t, rate in rates if t <= killed],
        "tps_without": [rate for t, rate in rates if killed + every_s < t <= returned],
        "tps_after": [rate for t, rate in rates if t > returned + every_s],
    }
    means = {name: sum(part) / len(part) for name, part in parts.items() if part}
    stopped = [rate < STOPPED * means.get("tps_before", 0.0) for t, rate in rates if t > killed]
    longest = max((len(list(run)) for is_stopped, run in groupby(stopped) if is_stopped), default=0)
    return {
        **{name: Quantity(value=mean, unit="1/s") for name, mean in means.items()},
        "stalled_s": Quantity(value=longest * every_s, unit="s"),
    }
