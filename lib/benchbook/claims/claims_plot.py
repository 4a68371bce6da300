"""All tested claims of one system in one picture: effect with interval, against the claimed range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from benchbook import plots
from benchbook.analysis.results import JudgedClaim
from benchbook.claims.words import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from benchbook.plots.forest import Scale
    from benchbook.plots.style import Look

# Ratios beyond these are off the picture, where a published value would stand at a place that is not its own.
_LEAST, _MOST = 1 / 1024, 1024.0
_MOST_TICKS = 11


def forest(claims: Sequence[JudgedClaim]) -> Figure:
    """A line per tested claim, ratios above, rank correlations below; `claims` has at least one with an effect."""
    groups = {unit: part for unit in ("times", "tau") if (part := [c for c in claims if c.unit == unit])}
    frame = pd.DataFrame([_row(claim, unit) for unit, part in groups.items() for claim in part])
    numbers = dict.fromkeys(("value", "low", "high", "claimed_low", "claimed_high", "printed"), float)
    scales = {unit: _scale(unit, part) for unit, part in groups.items()}
    return plots.forest.forest(frame.astype(numbers), scales, _looks(), width=8.2, row_height=0.3)


def _looks() -> dict[str, Look]:
    """Colour and marker both tell the verdict."""
    look, colours = plots.style.Look, plots.style.COLOURS
    return {
        "reproduced": look(colours[2], "o"),
        "contradicted": look(colours[1], "X"),
        "inconclusive": look(colours[0], "s"),
    }


def _row(claim: JudgedClaim, unit: str) -> dict[str, object]:
    low, high = claim.interval or (math.nan, math.nan)
    claimed_low, claimed_high = claim.region or (None, None)
    return {
        "panel": unit,
        "row": claim.id,
        "who": claim.verdict,
        "value": _effect(claim),
        "low": -math.inf if low is None else low,
        "high": math.inf if high is None else high,
        "claimed_low": claimed_low,
        "claimed_high": claimed_high,
        "printed": claim.published,
    }


def _scale(unit: str, claims: Sequence[JudgedClaim]) -> Scale:
    if unit == "tau":
        quarters = list(np.arange(-1, 1.01, 0.25))
        return plots.forest.Scale("Kendall's tau (1: the same order)", (-1.05, 1.05), ticks=quarters, log=False, at=0.0)
    seen = [v for c in claims for v in (_effect(c), c.published, *(c.region or ())) if v]
    low, high = max(_LEAST, min([0.5, *(v / 2 for v in seen)])), min(_MOST, max([2.0, *(v * 2 for v in seen)]))
    powers = range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)
    step = math.ceil(len(powers) / _MOST_TICKS)
    ticks = [2.0**power for power in powers if power % step == 0]
    return plots.forest.Scale("effect (ratio, log scale)", (low, high), ticks=ticks)


def _effect(claim: JudgedClaim) -> float:
    return claim.effect if isinstance(claim.effect, float) else math.nan


def alt(claims: Sequence[JudgedClaim]) -> str:
    """What the picture shows, in words."""
    said = [f"{c.id}: {c.verdict}, {number(_effect(c))} (published {number(c.published)})" for c in claims if c.unit]
    return f"Effect of each claim against the claimed range. {'; '.join(said)}."
