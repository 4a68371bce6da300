"""The Universal Scalability Law, fitted to the curves of a frame of trials."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from benchbook.analysis.schema import USL, check_numbers, typed
from benchbook.errors import BadInput
from benchbook.stats.usl import usl_fit
from benchbook.user_input.choices import one_of


def usl(
    frame: pd.DataFrame, y: str = "tps", *, x: str = "threads", by: str | Sequence[str] = ("system", "workload")
) -> pd.DataFrame:
    """Return a row per curve: contention, coherency, peak with 95% intervals; see `schema.USL`.

    `frame` has a row per trial. Raise BadInput for a column that it does not have, and for one of text as x or y.
    """
    columns = [by] if isinstance(by, str) else list(by)
    for name in columns:
        one_of(name, list(frame.columns), "column")
    check_numbers(frame, y, x)
    rows = [
        {**dict(zip(columns, key, strict=True)), **_fit(part.groupby(x)[y].mean())}
        for key, part in frame.dropna(subset=[x, y]).groupby(columns, sort=False, observed=True)
    ]
    found = typed(pd.DataFrame(rows), USL, levels=columns)
    # The peak stands on the axis x.
    found.attrs["units"]["peak"] = frame.attrs.get("units", {}).get(x, x)
    return found


def _fit(means: pd.Series) -> dict[str, object]:
    try:
        found = usl_fit(means.index.to_numpy(float), means.to_numpy(float))
    except BadInput as problem:
        return {"why_not": f"{len(means)} levels: {problem.problem}"}
    ends = {
        f"{name}{end}": value
        for name, one in (("contention", found.sigma), ("coherency", found.kappa))
        for end, value in (("", one.estimate), ("_low", one.low), ("_high", one.high))
    }
    return {**ends, "peak": found.peak.estimate, "off_by": found.relative_error, "why_not": ""}
