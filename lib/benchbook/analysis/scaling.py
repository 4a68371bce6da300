"""How throughput scales along a level, published beside measured, and the Universal Scalability Law where it fits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from benchbook.analysis.beside import PUBLISHED, curve_points
from benchbook.analysis.formatting import number
from benchbook.analysis.schema import USL, check_numbers, typed
from benchbook.errors import BadInput
from benchbook.given.choices import one_of
from benchbook.stats.estimates import Interval
from benchbook.stats.shapes import peak_level, saturation_level
from benchbook.stats.usl import LEAST_LEVELS, UslFit, usl_fit

# From the lowest level that is within this share of the highest throughput on, more clients bring nothing.
NEAR = 0.05


@dataclass(frozen=True)
class Scaling:
    """One curve: its levels, the last mean over the first, where it peaks and saturates, and the law's fit if any.

    `why` says why there is no fit; it is empty with one.
    """

    panel: str
    who: str
    levels: tuple[float, ...]
    ends: float
    peak: float
    saturated: float
    fit: UslFit | None
    why: str


def scaling_of(beside: pd.DataFrame, metric: str, *, x: str, panel: str, relabelled: bool = False) -> list[Scaling]:
    """Return curves of a throughput along level `x`, per value of level `panel` and who; those of two levels or more.

    `beside`: schema.BESIDE. `relabelled`: the measured ones stand at the published levels and not at their own, which
    the law would need.
    """
    frame = curve_points(beside, metric, x=x, panel=panel)
    return [
        _scaling(str(name), str(who), curve.set_index(x)["value"].astype(float).sort_index(), relabelled)
        for (name, who), curve in frame.groupby([panel, "who"], sort=False)
        if len(curve) > 1
    ]


def _scaling(panel: str, who: str, means: pd.Series, relabelled: bool) -> Scaling:
    levels = means.index.to_numpy(float)
    moved = relabelled and who != PUBLISHED
    fit, why = (None, "its levels stand for the published ones") if moved else _law(means)
    return Scaling(
        panel=panel,
        who=who,
        levels=tuple(levels),
        ends=float(means.iloc[-1] / means.iloc[0]),
        peak=peak_level(levels, means),
        saturated=saturation_level(levels, means, tolerance=NEAR),
        fit=fit,
        why=why,
    )


def _law(means: pd.Series) -> tuple[UslFit | None, str]:
    """The fit to a mean per level, so that what the law leaves unexplained is its error; or why there is none."""
    if len(means) < LEAST_LEVELS:
        return None, f"{len(means)} levels"
    try:
        return usl_fit(means.index.to_numpy(float), means), ""
    except BadInput as error:
        return None, error.problem


def in_rows(curves: Iterable[Scaling], *, x: str, panel: str) -> list[dict[str, str]]:
    """The curves as lines of a table; the law's columns only where one of them has a fit."""
    known = list(curves)
    fitted = any(curve.fit for curve in known)
    return [{**_shape(curve, x, panel), **(_parameters(curve) if fitted else {})} for curve in known]


def _shape(curve: Scaling, x: str, panel: str) -> dict[str, str]:
    return {
        panel: curve.panel,
        "who": curve.who,
        x: ", ".join(f"{level:g}" for level in curve.levels),
        "most over fewest": f"{curve.ends:.2f}x",
        "highest at": f"{curve.peak:g}",
        f"within {NEAR:.0%} of the highest from": f"{curve.saturated:g}",
    }


def _parameters(curve: Scaling) -> dict[str, str]:
    if curve.fit is None:
        none = f"no fit: {curve.why}"
        return {"contention": none, "coherency": none, "highest by the law at": "–", "the law is off by": "–"}
    return {
        "contention": _with_bounds(curve.fit.sigma),
        "coherency": _with_bounds(curve.fit.kappa),
        "highest by the law at": _with_bounds(curve.fit.peak),
        "the law is off by": f"{curve.fit.relative_error:.1%}",
    }


def _with_bounds(found: Interval) -> str:
    value, low, high = ("∞" if math.isinf(v) else number(v) for v in (found.estimate, found.low, found.high))
    return f"{value}\u00a0[{low},\u00a0{high}]"


def about_the_law(curves: Iterable[Scaling]) -> str:
    """What the law's columns say, or why there are none."""
    known = list(curves)
    if any(curve.fit for curve in known):
        return (
            "Contention (sigma) is the share of the work that is done one at a time, coherency (kappa) what each pair "
            "of clients costs: the Universal Scalability Law, fitted to the means, with 95% intervals. Where the law "
            "is off by more than repetitions differ, its parameters mean nothing."
        )
    reasons = "; ".join(dict.fromkeys(curve.why for curve in known))
    return (
        f"The Universal Scalability Law is not fitted ({reasons}). It has three parameters: below {LEAST_LEVELS} "
        "levels nothing is left to tell whether it holds."
    )


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
