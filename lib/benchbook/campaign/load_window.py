"""The samples of a load: one window for all that asks what the hosts did while it ran."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def of_load(samples: pd.DataFrame, started: float, ended: float) -> pd.DataFrame:
    """Rows of `samples` [t, host, ...] that belong to the load alone, of every host.

    A sample stands at the end of its second: the first one inside a load of 2 s is half of the quiet before it. So a
    host's samples that begin before the load count only where it has no others.
    """
    host, t = samples.host.to_numpy(), samples.t.to_numpy(dtype=np.float64)
    inside = np.zeros(len(samples), dtype=bool)
    for name in pd.unique(samples.host):
        mine = host == name
        inside |= mine & np.isin(t, _moments(np.unique(t[mine]), started, ended))
    return samples[inside]


def _moments(every: NDArray[np.float64], started: float, ended: float) -> NDArray[np.float64]:
    """Of one host's moments, in order, those whose samples count."""
    whole = every[1:][(every[:-1] >= started) & (every[1:] <= ended)]
    return whole if len(whole) else every[(every >= started) & (every <= ended)]
