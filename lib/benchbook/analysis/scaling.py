"""How throughput scales along a level, published beside measured, and the Universal Scalability Law where it fits."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from benchbook.analysis import points
from benchbook.analysis.formatting import number
from benchbook.analysis.results import Table
from benchbook.errors import BadInput
from benchbook.stats.estimates import Interval
from benchbook.stats.shapes import peak_level, saturation_level
from benchbook.stats.usl import LEAST_LEVELS, UslFit, usl_fit

# From the lowest level that is within this share of the highest throughput on, more clients bring nothing.
NEAR = 0.05
PUBLISHED = "published"


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


def curves_of(tables: Iterable[Table], metric: str, *, x: str, panel: str, relabelled: bool = False) -> list[Scaling]:
    """The curve of a throughput along level `x`, per value of level `panel` and who; those of two levels or more.

    `relabelled`: the measured ones stand at the published levels and not at their own, which the law would need.
    """
    frame = points.of_metric(tables, metric, x=x, panel=panel)
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
