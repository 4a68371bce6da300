"""CPU that other virtual machines took from a trial's hosts while its load ran: what lost some is no measurement.

How much is taken has nothing to do with the system under test, so that choosing trials by it favours no result.
"""

from __future__ import annotations

import pandas as pd

# From this share on a load is disturbed: with a twentieth taken on two cores, rates fell by a third (33 loads of 3 s).
STOLEN = 0.02


def stolen_share(series: pd.DataFrame, began: float, ended: float) -> float:
    """CPU time that other virtual machines took from the most affected host, as a share of all; 0 without samples."""
    cpu = series[(series.source == "host") & series.metric.str.startswith("cpu.") & series.t.between(began, ended)]
    if cpu.empty:
        return 0.0
    everything = cpu.groupby("host").value.sum()
    stolen = cpu[cpu.metric == "cpu.steal"].groupby("host").value.sum().reindex(everything.index, fill_value=0.0)
    return float((stolen / everything.where(everything > 0)).max())
