"""The samples of a load: one window for all that asks what the hosts did while it ran."""

from __future__ import annotations

import pandas as pd


def of_load(samples: pd.DataFrame, started: float, ended: float) -> pd.DataFrame:
    """Rows of `samples` [t, host, ...] that belong to the load alone, of every host.

    A sample stands at the end of its second: the first one inside a load of 2 s is half of the quiet before it. So a
    host's samples that begin before the load count only where it has no others.
    """
    moments = samples[["host", "t"]].drop_duplicates().sort_values(["host", "t"])
    begins = moments.groupby("host").t.shift()
    within = moments.t.between(started, ended)
    whole = within & (begins >= started)
    bare = within & ~moments.host.isin(moments[whole].host)
    return samples.merge(moments[whole | bare], on=["host", "t"])
