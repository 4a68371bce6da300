"""What `remote/sample_prometheus.py` scraped -> rates, means and quantiles. Pure functions: no host, no server.

The arithmetic is PromQL's (https://prometheus.io/docs/prometheus/latest/querying/functions/), with two differences,
both because the scrapes of a trial are all here, while a server sees a window of them:

- no extrapolation to the edges of a window: growth is divided by the seconds between the two scrapes it lies between;
- a series that appears between two scrapes of its source was born there and grew from zero. PromQL loses its first
  value, and with it what happened before the first scrape of a series that a new task or statement type creates.

As in PromQL, a counter that falls was reset and grew from zero to its new value.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from prometheus_client.parser import text_string_to_metric_families

from benchbook.errors import BadInput, OutputNotParseable

Labels = tuple[tuple[str, str], ...]

COLUMNS = ["t", "source", "metric", "labels", "value"]


# -- reading --------------------------------------------------------------------------------------------------------


def read_samples(samples: Path | str) -> pd.DataFrame:
    """A sampler's file (a path) or its text as [t (s), source, metric, labels, value]; labels are sorted pairs.

    Raises OutputNotParseable for a line that is no sample; a last line without its end (a killed sampler) is left out.
    """
    rows = [
        (line["t"], line["source"], *_series(key), value)
        for line in _lines(samples)
        for key, value in line.get("v", {}).items()
    ]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"t": "float64", "value": "float64"})


def failed_scrapes(samples: Path | str) -> pd.DataFrame:
    """The scrapes that failed: [t (s), source, error]."""
    rows = [(line["t"], line["source"], line["error"]) for line in _lines(samples) if "error" in line]
    return pd.DataFrame(rows, columns=["t", "source", "error"])


def _lines(samples: Path | str) -> Iterator[dict[str, Any]]:
    text = samples.read_text() if isinstance(samples, Path) else samples
    whole = text[: text.rfind("\n") + 1]
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            sample = json.loads(line)
        except json.JSONDecodeError as problem:
            raise OutputNotParseable(f"line {number} of the Prometheus samples is no JSON: {line[:80]!r}") from problem
        if not isinstance(sample, dict) or not {"t", "source"} <= sample.keys():
            raise OutputNotParseable(f"line {number} of the Prometheus samples is no sample: {line[:80]!r}")
        yield sample


@lru_cache(maxsize=65_536)
def _series(key: str) -> tuple[str, Labels]:
    """`name{label="value"}` as name and sorted labels."""
    try:
        (family,) = text_string_to_metric_families(f"{key} 0\n")
    except ValueError as problem:
        raise OutputNotParseable(f"{key!r} is no Prometheus series") from problem
    return family.samples[0].name, tuple(sorted(family.samples[0].labels.items()))


def has(frame: pd.DataFrame, metric: str) -> bool:
    """Was this metric (for a histogram: its `_count`) ever scraped?"""
    return bool(frame.metric.isin([metric, f"{metric}_count"]).any())


def between(frame: pd.DataFrame, start: float, end: float) -> pd.DataFrame:
    """The scrapes from `start` to `end` (s since the epoch, both included): a phase of a trial."""
    return frame[(frame.t >= start) & (frame.t <= end)]


def where(frame: pd.DataFrame, **labels: str | Sequence[str]) -> pd.DataFrame:
    """Without the series whose labels have other values than these (one or several): `{type="Insert"}`.

    A series without such a label stays: it also tells when its source was scraped.
    """
    wanted = {name: {value} if isinstance(value, str) else set(value) for name, value in labels.items()}
    hits = {known for known in frame.labels.unique() if all(v in wanted.get(name, {v}) for name, v in known)}
    return frame[frame.labels.isin(hits)]


# -- counters and gauges --------------------------------------------------------------------------------------------


def level(frame: pd.DataFrame, metric: str, by: Sequence[str] = ()) -> pd.DataFrame:
    """A gauge as [t, *by, value], summed over the series of one group. `by` names labels, or "source"."""
    rows = _rows(frame, metric, by)
    keys = [_key(source, labels, by) for source, labels in zip(rows.source, rows.labels, strict=True)]
    named = pd.DataFrame(keys, columns=list(by), index=rows.index)
    return named.assign(t=rows.t, value=rows.value).groupby(["t", *by])["value"].sum().reset_index()


def rate(frame: pd.DataFrame, metric: str, by: Sequence[str] = ()) -> pd.DataFrame:
    """Growth of a counter per second, [t, *by, value]: per scrape after the first, at the end of its interval."""
    return _together([grown.div(_seconds(grown), axis=0).iloc[1:] for grown in _grown(frame, metric, by)], by)


def increase(frame: pd.DataFrame, metric: str, by: Sequence[str] = ()) -> pd.DataFrame:
    """Growth of a counter from the first to the last scrape, [*by, value, seconds]."""
    parts = [
        _together([_windows(grown, None)], by).assign(seconds=_seconds(grown)[1:].sum())
        for grown in _grown(frame, metric, by)
    ]
    return pd.concat(parts, ignore_index=True).drop(columns="t")


# -- histograms -----------------------------------------------------------------------------------------------------


def mean_from_histogram(
    frame: pd.DataFrame, metric: str, *, window: float | None = None, by: Sequence[str] = ()
) -> pd.DataFrame:
    """Mean of what a histogram observed: growth of `_sum` / growth of `_count`, as [t, *by, value]; NaN without any.

    `window` (s) ends at each scrape; None is the whole frame, one row per group at the last scrape.
    """
    totals, counts = ([_windows(g, window) for g in _grown(frame, f"{metric}_{p}", by)] for p in ("sum", "count"))
    return _together([total / n.where(n > 0) for total, n in zip(totals, counts, strict=True)], by)


def histogram_quantile(
    frame: pd.DataFrame, metric: str, q: float, *, window: float | None = None, by: Sequence[str] = ()
) -> pd.DataFrame:
    """The q-quantile (0 to 1) of what a histogram observed, as [t, *by, value]; NaN where nothing was observed.

    `histogram_quantile(q, sum by (le, ...) (rate(metric_bucket[window])))`; for `window` see `mean_from_histogram`.
    """
    if not 0 <= q <= 1:
        raise BadInput("a quantile lies between 0 and 1", key="q", value=q, fix="give 0.99 for the 99th percentile")
    grown = _grown(frame, f"{metric}_bucket", [*by, "le"])
    return _together([_quantiles(_windows(one, window), q, by) for one in grown], by)


def _quantiles(grown: pd.DataFrame, q: float, by: Sequence[str]) -> pd.DataFrame:
    """A row per window, a column per group, of growth with a column per group and bucket."""
    bounds = np.array([float(key[-1]) for key in grown.columns])
    groups = [tuple(key)[:-1] for key in grown.columns]
    found: dict[tuple[str, ...], list[float]] = {}
    for group in dict.fromkeys(groups):
        own = np.flatnonzero([each == group for each in groups])
        ordered = own[np.argsort(bounds[own])]
        rows = grown.to_numpy()[:, ordered]
        found[group] = [bucket_quantile(q, bounds[ordered], counts) for counts in rows]
    return pd.DataFrame(list(found.values()), index=_columns(list(found), by), columns=grown.index).T


def bucket_quantile(q: float, bounds: np.ndarray, counts: np.ndarray) -> float:
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


def _rows(frame: pd.DataFrame, metric: str, by: Sequence[str]) -> pd.DataFrame:
    rows = frame[frame.metric == metric]
    if rows.empty:
        known = ", ".join(sorted(frame.metric.unique())[:20]) or "nothing"
        raise OutputNotParseable(f"no sample of the metric {metric}; there is {known}")
    sources = sorted(rows.source.unique())
    if len(sources) > 1 and "source" not in by:
        raise BadInput(f"several sources have {metric}", key="by", value=list(by), fix=f"select one of {sources}")
    return rows


def _grown(frame: pd.DataFrame, metric: str, by: Sequence[str]) -> list[pd.DataFrame]:
    """Growth since the scrape before, per source: a row per scrape (the first is 0), a column per group of `by`."""
    rows = _rows(frame, metric, by)
    return [_grown_of(frame[frame.source == name], part, by) for name, part in rows.groupby("source")]


def _grown_of(source: pd.DataFrame, rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """As _grown, of one source; its other metrics tell when it was scraped without this one."""
    times = np.unique(source.t.to_numpy())
    columns = {known: column for column, known in enumerate(dict.fromkeys(rows.labels))}
    wide = np.full((len(times), len(columns)), np.nan)
    wide[np.searchsorted(times, rows.t.to_numpy()), [columns[known] for known in rows.labels]] = rows.value
    before = np.vstack([np.full((1, len(columns)), np.nan), wide[:-1]])
    # No value before: born since then. A lower one: reset. Either way it grew from zero.
    grown = np.nan_to_num(wide - np.where(before <= wide, before, 0.0))
    grown[0] = 0.0
    name = str(rows.source.iloc[0])
    keys = [_key(name, known, by) for known in columns]
    groups = {key: group for group, key in enumerate(dict.fromkeys(keys))}
    summed = np.zeros((len(groups), len(times)))
    np.add.at(summed, [groups[key] for key in keys], grown.T)
    return pd.DataFrame(summed.T, index=pd.Index(times, name="t"), columns=_columns(list(groups), by))


def _windows(grown: pd.DataFrame, window: float | None) -> pd.DataFrame:
    """Growth inside the window that ends at each scrape; it begins at the scrape nearest to its edge."""
    total = grown.cumsum()
    if window is None:
        return total.iloc[[-1]]
    t = grown.index.to_numpy()
    starts = [int(np.abs(t - (end - window)).argmin()) for end in t]
    full = (t - t[0]) >= window * 0.999 - (np.median(np.diff(t)) / 2 if len(t) > 1 else 0)
    inside: pd.DataFrame = total.sub(total.iloc[starts].to_numpy()).loc[full]
    return inside


def _seconds(grown: pd.DataFrame) -> np.ndarray:
    """Seconds since the scrape before; NaN for the first."""
    return np.diff(grown.index.to_numpy(dtype=float), prepend=np.nan)


def _key(source: str, labels: Labels, by: Sequence[str]) -> tuple[str, ...]:
    known = dict(labels)
    return tuple(source if name == "source" else known.get(name, "") for name in by)


def _columns(keys: Sequence[tuple[str, ...]], by: Sequence[str]) -> pd.Index[Any]:
    return pd.MultiIndex.from_tuples(keys, names=list(by)) if by else pd.Index(["value"])


def _together(parts: Sequence[pd.DataFrame], by: Sequence[str]) -> pd.DataFrame:
    """[t, *by, value] of tables with a row per scrape and a column per group."""
    if len(parts) == 1 and not by:
        # Most of them: one source, in order as it is.
        return pd.DataFrame({"t": parts[0].index, "value": parts[0].iloc[:, 0].to_numpy(dtype="float64")})
    stacked = [cast("pd.Series[float]", part.rename_axis(index="t").unstack()) for part in parts]
    long = pd.concat([column.rename("value").reset_index() for column in stacked])
    return long[["t", *by, "value"]].sort_values(["t", *by], ignore_index=True)
