"""Figures as they would be had nobody else taken CPU from the hosts, and what is not known of that correction.

Where other virtual machines or programs take CPU, rates fall by more than the share that is taken: whoever waits for a
lock waits for a holder that does not run. Seen on two cores: 4.4% less per 1% stolen, in DTM's trials, whose spread
between repetitions fell from 21% to 8.5% by this. How much it is here, the repetitions of all cells of a table say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from benchbook.claims.evidence import Evidence, lost_beside
from benchbook.claims.hypothesis import Arm
from benchbook.claims.parts import Part
from benchbook.claims.terms import Term
from benchbook.published.tables import Published
from benchbook.published.time_units import is_rate, is_time
from benchbook.stats.covariate import Slope, slope_within

# Log of a rate per share of CPU that is lost, known before a run: a full machine loses about that share, one with CPU
# to spare nothing, one that waits for locks several times it.
BEFORE = Slope(-1.0, 2.0)
# Cells of a table need not suffer alike: the slope of one lies within this share of the common one (one standard
# deviation). Simulated, 11 and 15 cells, 3 and 4 repetitions, slopes from -1 to -8: where those of the cells vary by
# 40%, 95% intervals cover 87 to 92% without this and 94 to 96% with it.
CELLS_DIFFER = 0.3
# Kinds of figures: what a rate loses, a time gains.
RATES, TIMES_TAKEN = "rates", "times"
_SIGN = {RATES: 1.0, TIMES_TAKEN: -1.0}


@dataclass(frozen=True)
class Correction:
    """Slopes by table and kind of figure: the log of a figure per share of CPU lost."""

    published: Published
    slopes: dict[tuple[str, str], Slope]

    def applied(self, found: Evidence, doubted: str = "") -> Evidence:
        """The evidence without what others took; with `doubted` slopes (a kind) one standard error further."""
        frames = {id: self._frame(id, frame, doubted) for id, frame in found.frames.items()}
        # Steps of rounding show in figures as they were recorded, and no more in these.
        return Evidence(frames, found.systems, found.set_apart, found.cells, found.frames)

    def slope(self, column: Term) -> float:
        """The slope of a column; 0 where nothing is corrected."""
        found = self.slopes.get((column.table, kind_of_metric(self.published, column.table, column.metric)))
        return found.value if found else 0.0

    def _frame(self, id: str, frame: pd.DataFrame, doubted: str) -> pd.DataFrame:
        out = frame.copy()
        for metric in self.published.tables[id].metrics:
            slope = self.slopes.get((id, kind_of_metric(self.published, id, metric)))
            if slope is not None and lost_beside(metric) in frame:
                by = slope.value + (slope.error if doubted == kind_of_metric(self.published, id, metric) else 0.0)
                out[metric] = frame[metric] * np.exp(-by * frame[lost_beside(metric)].fillna(0.0))
        return out


def kind_of_metric(published: Published, table: str, metric: str) -> str:
    """Rates and times suffer where CPU is taken; a size, a count or a share does not by itself: ""."""
    field = published.tables[table].fields.get(metric)
    unit = field.unit if field else ""
    return RATES if is_rate(unit) else TIMES_TAKEN if is_time(unit) else ""


def correction(found: Evidence, published: Published) -> Correction:
    """What the repetitions say of it, table by table."""
    slopes = {
        (id, kind): slope_within(_by_trial(points), replace(BEFORE, value=_SIGN[kind] * BEFORE.value))
        for id, frame in found.frames.items()
        for kind in (RATES, TIMES_TAKEN)
        if ((points := _points(frame, id, kind, published, found.set_apart.get(id))).x > 0).any()
    }
    return Correction(published, slopes)


def _points(
    frame: pd.DataFrame, id: str, kind: str, published: Published, apart: Collection[str] | None
) -> pd.DataFrame:
    """[figure, cell, repetition, x, y] of every figure of a kind: CPU lost, and the log of the figure.

    `apart`: the levels that tell the trials of the table apart; all of them where that is not known.
    """
    table = published.tables[id]
    parts = [pd.DataFrame(columns=["figure", "cell", "repetition", "x", "y"], dtype="float64")]
    kin = [name for name in table.metrics if kind_of_metric(published, id, name) == kind]
    metrics = [name for name in kin if name in frame and lost_beside(name) in frame]
    if not metrics:
        return parts[0]
    levels = [name for name in ("system", *table.levels) if name in frame]
    of_trial = [name for name in levels if name == "system" or apart is None or name in apart]
    # Numbers: to join names row by row took a third of what ten thousand trials took.
    figures, cells = (frame.groupby(by, dropna=False, sort=False).ngroup().to_numpy() for by in (levels, of_trial))
    for metric in metrics:
        usable = ((frame[metric] > 0) & frame[lost_beside(metric)].notna()).to_numpy()
        mine = frame[usable]
        points = pd.DataFrame(
            {"repetition": mine["repetition"], "x": mine[lost_beside(metric)], "y": np.log(mine[metric])}
        )
        parts.append(points.assign(figure=len(parts) * len(frame) + figures[usable], cell=cells[usable]))
    return pd.concat(parts, ignore_index=True)


def _by_trial(points: pd.DataFrame) -> pd.DataFrame:
    """[cell, x, y], a row per trial: its figures off their means, in the mean.

    Figures of one trial share its luck. Taken for so many trials, a rate and twice that rate made the slope look known
    1.4 times as well as it was.
    """
    off = points[["x", "y"]] - points.groupby("figure")[["x", "y"]].transform("mean")
    of_trials = off.groupby([points["cell"], points["repetition"]], sort=False).mean()
    return of_trials.reset_index()[["cell", "x", "y"]]


@dataclass(frozen=True)
class CorrectedEvidence:
    """Evidence as recorded, without what others took (by `how`), and that with each kind's slopes one error further."""

    recorded: Evidence
    without: Evidence
    how: Correction
    further: tuple[Evidence, ...] = ()

    def parts(self, parts_from: Callable[[Arm], Sequence[Part]], arm: Arm) -> list[Part]:
        """A claim's parts, each with the error that the correction adds to its effect. Raises what it raises."""
        found = parts_from(arm)
        if not self.further:
            return list(found)
        recorded, *further = [parts_from(replace(arm, evidence=each)) for each in (self.recorded, *self.further)]
        return [
            self._with_error(part, before, doubts, arm)
            for part, before, *doubts in zip(found, recorded, *further, strict=True)
        ]

    def _with_error(self, part: Part, recorded: Part, doubts: Sequence[Part], arm: Arm) -> Part:
        # The doubt is the same in every repetition: it does not average out.
        if part.scale != "ratio":
            return part
        of_slopes = [doubt.mean - part.mean for doubt in doubts]
        of_cells = [
            CELLS_DIFFER * weight * self.how.slope(column) * lost
            for term, weight in part.weights
            for column, lost in arm.lost(term)
        ]
        return replace(part, recorded=recorded.mean, correction_error=math.hypot(*of_slopes, *of_cells))


def corrected(found: Evidence, published: Published) -> CorrectedEvidence:
    """The evidence with and without the CPU that others took, as far as records say how much that was."""
    how = correction(found, published)
    if not how.slopes:
        return CorrectedEvidence(found, found, how)
    further = tuple(how.applied(found, doubted) for doubted in (RATES, TIMES_TAKEN))
    return CorrectedEvidence(found, how.applied(found), how, further)
