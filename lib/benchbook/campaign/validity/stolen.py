"""CPU that other virtual machines took from a trial's hosts while its load ran: what lost some is no measurement.

How much is taken has nothing to do with the system under test, so that choosing trials by it favours no result.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from benchbook.campaign.load_window import of_load
from benchbook.campaign.validity.looked_at import Disturbance, LookedAt

# From this share on a load is disturbed: with a twentieth taken on two cores, rates fell by a third (33 loads of 3 s).
STOLEN = 0.02


def stolen(look: LookedAt) -> Iterator[Disturbance]:
    """A little is taken all day on some machines: of several such tries the least disturbed one counts."""
    share = stolen_share(look.series, look.started, look.ended)
    if share > STOLEN:
        yield Disturbance("stolen CPU", f"{share:.0%} of the CPU was taken by other virtual machines", hard=False)


def stolen_share(series: pd.DataFrame, began: float, ended: float) -> float:
    """CPU time that other virtual machines took from the most affected host, as a share of all; 0 without samples."""
    every = series[(series.source == "host") & series.metric.str.startswith("cpu.")]
    cpu = of_load(every, began, ended)
    if cpu.empty:
        return 0.0
    everything = cpu.groupby("host").value.sum()
    taken = cpu[cpu.metric == "cpu.steal"].groupby("host").value.sum().reindex(everything.index, fill_value=0.0)
    return float((taken / everything.where(everything > 0)).max())
