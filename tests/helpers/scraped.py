"""What the probes of Prometheus endpoints sampled in a trial, from lines as those probes write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from benchbook.grouping import grouped
from benchbook.probes.samples import Metric, to_series


def long_table(lines: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return these lines, each of a `source`, as the long table of a trial."""
    by_source = grouped(lines, lambda line: str(line["source"]))
    parts = [to_series(mine, "h", source, {"*": Metric("1")}) for source, mine in by_source.items()]
    return pd.concat(parts, ignore_index=True)
