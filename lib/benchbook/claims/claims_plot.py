"""All tested claims of one system in one picture: effect with interval, and the claimed range."""

from __future__ import annotations

import math
from collections.abc import Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MultipleLocator, NullLocator

from benchbook.analysis.results import Bounds, JudgedClaim
from benchbook.claims.words import number
from benchbook.plots import panels

# Colour and marker both tell the verdict (Okabe & Ito, see figures).
LOOKS = {"reproduced": ("#009E73", "o"), "contradicted": ("#D55E00", "X"), "inconclusive": ("#0072B2", "s")}
_BAND = "#bfd9e6"
# Ratios beyond these are off the picture, with an arrow.
_LEAST, _MOST = 1 / 32, 32.0


def forest(claims: Sequence[JudgedClaim]) -> Figure:
    """A line per tested claim, ratios above, rank correlations below; `claims` has at least one with an effect."""
    groups = [part for unit in ("times", "tau") if (part := [c for c in claims if c.unit == unit])]
    heights = [len(part) + 1.4 for part in groups]
    with mpl.rc_context(panels.STYLE):
        figure, grid = plt.subplots(
            len(groups),
            1,
            figsize=(8.2, 0.3 * sum(heights) + 0.7),
            height_ratios=heights,
            squeeze=False,
            layout="constrained",
        )
    for axis, part in zip(grid[:, 0], groups, strict=True):
        _panel(axis, part)
    handles, labels = panels.handles_of(list(grid[:, 0]))
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    return figure


def _panel(axis: Axes, claims: Sequence[JudgedClaim]) -> None:
    limits = _limits(claims)
    _scale(axis, claims[0].unit, limits)
    for row, claim in enumerate(claims):
        _region(axis, row, claim.region or (None, None), limits)
        _interval(axis, row, claim, limits)
    axis.set_yticks(range(len(claims)), [claim.id for claim in claims])
    axis.set_ylim(len(claims) - 0.4, -0.6)
    axis.grid(visible=False, axis="y")


def _scale(axis: Axes, unit: str, limits: tuple[float, float]) -> None:
    axis.set_xlim(*limits)
    if unit == "tau":
        axis.axvline(0, color="#888888", linewidth=0.8)
        axis.xaxis.set_major_locator(MultipleLocator(0.25))
        axis.set_xlabel("Kendall's tau (1: the same order)")
        return
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_locator(LogLocator(base=2))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.axvline(1, color="#888888", linewidth=0.8)
    axis.set_xlabel("effect (ratio, log scale)")


def _limits(claims: Sequence[JudgedClaim]) -> tuple[float, float]:
    if claims[0].unit == "tau":
        return -1.05, 1.05
    seen = [v for c in claims for v in (_effect(c), c.published, *(c.region or ())) if v]
    return max(_LEAST, min([0.5, *(v / 2 for v in seen)])), min(_MOST, max([2.0, *(v * 2 for v in seen)]))


def _region(axis: Axes, row: int, region: Bounds, limits: tuple[float, float]) -> None:
    low, high = (limits[i] if bound is None else _clipped(bound, limits) for i, bound in enumerate(region))
    axis.fill_betweenx([row - 0.38, row + 0.38], low, high, color=_BAND, linewidth=0, label="claimed range")


def _interval(axis: Axes, row: int, claim: JudgedClaim, limits: tuple[float, float]) -> None:
    colour, marker = LOOKS[claim.verdict]
    effect = _clipped(_effect(claim), limits)
    if claim.interval is not None:
        bounds = [limits[i] if bound is None else bound for i, bound in enumerate(claim.interval)]
        low, high = (_clipped(bound, limits) for bound in bounds)
        axis.plot([low, high], [row, row], color=colour, linewidth=1.8)
        for bound, edge, arrow in ((bounds[0], limits[0], "<"), (bounds[1], limits[1], ">")):
            if _clipped(bound, limits) == edge:
                axis.plot(edge, row, marker=arrow, color=colour, markersize=6, clip_on=False)
    axis.plot(effect, row, marker=marker, color=colour, markersize=7, linestyle="none", label=claim.verdict)
    if claim.published is not None:
        place = _clipped(claim.published, limits)
        axis.plot(
            place,
            row,
            marker="|",
            color="black",
            markersize=13,
            markeredgewidth=1.6,
            linestyle="none",
            label="published",
        )


def _clipped(value: float, limits: tuple[float, float]) -> float:
    return min(max(value, limits[0]), limits[1])


def _effect(claim: JudgedClaim) -> float:
    return claim.effect if isinstance(claim.effect, float) else math.nan


def alt(claims: Sequence[JudgedClaim]) -> str:
    """What the picture shows, in words."""
    said = [f"{c.id}: {c.verdict}, {number(_effect(c))} (published {number(c.published)})" for c in claims if c.unit]
    return f"Effect of each claim against the claimed range. {'; '.join(said)}."
