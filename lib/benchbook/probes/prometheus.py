"""What `remote/prometheus_probe.py` scraped -> rates, means and quantiles. Pure functions: no host, no server.

The arithmetic is PromQL's (https://prometheus.io/docs/prometheus/latest/querying/functions/), with two differences,
both because the scrapes of a trial are all here, while a server sees a window of them:

- no extrapolation to the edges of a window: growth is divided by the seconds between the two scrapes it lies between;
- a series that appears between two scrapes of its source was born there and grew from zero. PromQL loses its first
  value, and with it what happened before the first scrape of a series that a new task or statement type creates.

As in PromQL, a counter that falls was reset and grew from zero to its new value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from prometheus_client.parser import text_string_to_metric_families

from benchbook.errors import BadInput, OutputNotParseable
from benchbook.probes.samples import LATE, STEP
from benchbook.stats.estimates import Array

Labels = tuple[tuple[str, str], ...]

COLUMNS = ["t", "source", "metric", "labels", "value"]


# -- reading --------------------------------------------------------------------------------------------------------


def scraped(series: pd.DataFrame) -> pd.DataFrame:
    """Return what `probe.of_prometheus` sampled, rows of the long table, as [t (s), source, metric, labels, value].

    Labels are sorted pairs, one object for each series. Raise OutputNotParseable for a name that is no series.
    """
    rows = series[~series.metric.isin([LATE, STEP])]
    known = {key: _series(key) for key in rows.metric.unique()}
    pairs = [known[key] for key in rows.metric]
    return pd.DataFrame(
        {
            "t": rows.t.astype("float64"),
            "source": rows.source,
            "metric": [metric for metric, _ in pairs],
            "labels": pd.Series([labels for _, labels in pairs], index=rows.index, dtype=object),
            "value": rows.value.astype("float64"),
        }
    ).reset_index(drop=True)


def _series(key: str) -> tuple[str, Labels]:
    """`name{label="value"}` as name and sorted labels."""
    try:
        (family,) = text_string_to_metric_families(f"{key} 0\n")
    except ValueError as problem:
        raise OutputNotParseable(f"{key!r} is no Prometheus series") from problem
    return family.samples[0].name, tuple(sorted(family.samples[0].labels.items()))


def has(frame: pd.DataFrame, metric: str) -> bool:
    """Was this metric ever scraped?"""
    return bool((frame.metric == metric).any())


def between(frame: pd.DataFrame, start: float, end: float) -> pd.DataFrame:
    """Return the scrapes from `start` to `end` (s since the epoch, both included): a phase of a trial."""
    return frame[(frame.t >= start) & (frame.t <= end)]


def where(frame: pd.DataFrame, **labels: str | Sequence[str]) -> pd.DataFrame:
    """Without the series whose labels have other values than these (one or several): `{type="Insert"}`.

    A series without such a label stays: it also tells when its source was scraped.
    """
    if not labels:
        return frame
    wanted = {name: {value} if isinstance(value, str) else set(value) for name, value in labels.items()}
    kept = [all(v in wanted.get(name, {v}) for name, v in each) for each in frame.labels]
    return frame[np.array(kept, dtype=bool)]


# -- counters -------------------------------------------------------------------------------------------------------


def rate(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Growth of a counter per second, over all its series: [t, value], a row per scrape after the first."""
    times, _, grown = _grown(frame, metric)
    return _points(times[1:], grown.sum(axis=1)[1:] / np.diff(times))


def increase(frame: pd.DataFrame, metric: str) -> float:
    """Growth of a counter from the first to the last scrape, over all its series."""
    return float(_grown(frame, metric)[2].sum())


# -- histograms -----------------------------------------------------------------------------------------------------


def mean_from_histogram(frame: pd.DataFrame, metric: str) -> float:
    """Mean of what a histogram observed over the frame: growth of `_sum` / growth of `_count`; NaN without any."""
    total, count = (increase(frame, f"{metric}_{part}") for part in ("sum", "count"))
    return total / count if count > 0 else math.nan


def histogram_quantile(frame: pd.DataFrame, metric: str, q: float, *, window: float | None = None) -> pd.DataFrame:
    """Return the q-quantile (0 to 1) of what a histogram observed, as [t, value]; NaN where nothing was observed.

    `histogram_quantile(q, sum by (le) (rate(metric_bucket[window])))`: `window` (s) ends at each scrape; None is the
    whole frame, one row at the last scrape.
    """
    if not 0 <= q <= 1:
        raise BadInput("a quantile lies between 0 and 1", key="q", value=q, fix="give 0.99 for the 99th percentile")
    times, series, grown = _grown(frame, f"{metric}_bucket")
    bounds = np.array([float(dict(labels)["le"]) for labels in series])
    edges = np.unique(bounds)
    buckets = np.stack([grown[:, bounds == edge].sum(axis=1) for edge in edges], axis=1)
    ends, counts = _windows(times, buckets, window)
    return _points(ends, np.array([bucket_quantile(q, edges, row) for row in counts], dtype=float))


def bucket_quantile(q: float, bounds: Array, counts: Array) -> float:
    """Prometheus' linear interpolation: `bounds` are upper bounds, rising, the last +Inf; `counts` are cumulative.

    As https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile says and
    promql/quantile.go (bucketQuantile) does: observations are spread evenly inside their bucket, the lowest bucket
    begins at 0 if its bound is positive (else its bound is returned), and a quantile inside the +Inf bucket is the
    second highest bound. NaN without observations, without a +Inf bucket, or with fewer than two buckets.
    """
    counts = np.maximum.accumulate(counts)  # scrapes are not atomic: Prometheus forces monotony as well
    if len(bounds) < 2 or not np.isposinf(bounds[-1]) or not counts[-1] > 0:
        return float("nan")
    rank = q * counts[-1]
    at = int(np.searchsorted(counts[:-1], rank, side="left"))
    if at == len(bounds) - 1:
        return float(bounds[-2])
    if at == 0 and bounds[0] <= 0:
        return float(bounds[0])
    low, below = (bounds[at - 1], counts[at - 1]) if at else (0.0, 0.0)
    inside = counts[at] - below
    return float(low + (bounds[at] - low) * (rank - below) / inside) if inside else float("nan")


# -- shared ---------------------------------------------------------------------------------------------------------


def _grown(frame: pd.DataFrame, metric: str) -> tuple[Array, list[Labels], Array]:
    """Times of the scrapes of the metric's one source, its series, and growth since the scrape before, (times, series).

    The first is no growth. What else was scraped tells when it was without this metric.
    """
    rows = frame[frame.metric == metric]
    if rows.empty:
        known = ", ".join(sorted(frame.metric.unique())[:20]) or "nothing"
        raise OutputNotParseable(f"no sample of the metric {metric}; there is {known}")
    sources = sorted(rows.source.unique())
    if len(sources) > 1:
        raise BadInput(f"several sources have {metric}", key="source", value=sources, fix="select one of them")
    times = np.unique(frame[frame.source == sources[0]].t.to_numpy())
    columns = {known: column for column, known in enumerate(dict.fromkeys(rows.labels))}
    wide = np.full((len(times), len(columns)), np.nan)
    wide[np.searchsorted(times, rows.t.to_numpy()), [columns[known] for known in rows.labels]] = rows.value
    before = np.vstack([np.full((1, len(columns)), np.nan), wide[:-1]])
    # No value before: born since then. A lower one: reset. Either way it grew from zero.
    grown = np.nan_to_num(wide - np.where(before <= wide, before, 0.0))
    grown[0] = 0.0
    return times, list(columns), grown


def _windows(times: Array, grown: Array, window: float | None) -> tuple[Array, Array]:
    """Ends of the windows, and growth inside each; a window begins at the scrape nearest to its edge."""
    total = grown.cumsum(axis=0)
    if window is None:
        return times[-1:], total[-1:]
    starts = [int(np.abs(times - (end - window)).argmin()) for end in times]
    spare = np.median(np.diff(times)) / 2 if len(times) > 1 else 0.0
    full = (times - times[0]) >= window * 0.999 - spare
    return times[full], (total - total[starts])[full]


def _points(times: Array, values: Array) -> pd.DataFrame:
    return pd.DataFrame({"t": times, "value": values})
