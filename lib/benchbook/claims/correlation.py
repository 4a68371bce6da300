"""The hypothesis that two metrics rise together over all points of a report: a rank correlation between repetitions."""

import math
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import Field
from scipy import stats

from benchbook.claims.contrasts import Contrast
from benchbook.claims.evidence import NotMeasured
from benchbook.claims.figures import Term, check_metric, check_table
from benchbook.claims.hypothesis import Hypothesis, SystemFigures
from benchbook.published.tables import Published
from benchbook.stats.estimates import Array

LEAST_POINTS = 4


class Correlates(Hypothesis):
    """Over all printed rows of `tables`, the metrics `x` and `y` rise together: Kendall's tau above `at_least`.

    Two metrics of one trial share its noise (who copies more uses more CPU), and would correlate at equal settings. So
    x of a repetition is paired with y of every other one: only settings are shared.
    """

    tables: list[str] = Field(min_length=1)
    x: str
    y: str
    at_least: float = Field(default=0, ge=0, lt=1)

    def contrasts(self, figures: SystemFigures) -> list[Contrast]:
        points = self._points(figures)
        taus = _by_repetition(_taus(points, self.x, self.y))
        if not taus.size:
            raise NotMeasured(f"fewer than {LEAST_POINTS} points of {self.x} and {self.y} were measured")
        fields = figures.published.tables[self.tables[0]].fields
        what = f"{fields[self.x].title} and {fields[self.y].title.lower()}"
        # One pair of points that swaps its ranks moves tau by so much: taus that are equal may differ within a step.
        step = 2 / math.comb(points["point"].nunique(), 2)
        return [Contrast(what, taus, self.at_least, np.inf, unit="tau", rounding=step**2 / 12)]

    def speaks_of(self, published: Published) -> list[tuple[str, Term]]:
        return []

    def in_tables(self) -> set[str]:
        return set(self.tables)

    def check(self, published: Published, file: Path) -> None:
        for name in self.tables:
            table = check_table(name, published, file, f"{self.id}.tables")
            for metric in (self.x, self.y):
                check_metric(metric, table, file, self.id)

    def tested_as(self) -> str:
        return f"Kendall's tau over all points above {self.at_least:g}"

    def _points(self, figures: SystemFigures) -> pd.DataFrame:
        """[point, repetition, x, y]: a point is a table and its levels."""
        found = []
        for name in self.tables:
            levels = figures.published.tables[name].levels
            frame = figures.evidence.points(name, figures.system, [*levels, self.x, self.y])
            found.append(frame.assign(point=[str((name, *key)) for key in frame[levels].itertuples(index=False)]))
        return pd.concat(found)[["point", "repetition", self.x, self.y]]


def _taus(points: pd.DataFrame, x: str, y: str) -> Array:
    """Of x of each repetition (rows) with y of every other one (columns); NaN of one with itself, and of few points.

    One repetition alone, as the report's tables are, is paired with itself. Those that were added for a few points
    rank too little, and are left out.
    """
    held = points.groupby("repetition")["point"].nunique()
    kept = [points[points["repetition"] == r].set_index("point") for r in sorted(held.index[held > held.max() / 2])]
    taus = np.full((len(kept), len(kept)), math.nan)
    for i, j in [(0, 0)] if len(kept) == 1 else permutations(range(len(kept)), 2):
        taus[i, j] = _tau(kept[i][x], kept[j][y])
    return taus


def _by_repetition(taus: Array) -> Array:
    """The mean of all taus as one value per repetition, whose mean it is: the jackknife's; of two repetitions, one.

    Each repetition is in many pairs, and its noise with it: pairs in a ring, taken for independent, had intervals that
    missed twice as often as they said. Arvesen (1969), Annals of Mathematical Statistics 40(6): U statistics.
    """
    n, whole = len(taus), _mean(taus)
    # Of two repetitions both pairings share all of their noise: they say one thing.
    if n < 3:
        return np.array([] if math.isnan(whole) else [whole])
    values = np.array([n * whole - (n - 1) * _mean(taus[np.ix_(rest, rest)]) for rest in ~np.eye(n, dtype=bool)])
    return np.asarray(values[~np.isnan(values)])


def _mean(taus: Array) -> float:
    known = taus[~np.isnan(taus)]
    return float(known.mean()) if known.size else math.nan


def _tau(x: "pd.Series[float]", y: "pd.Series[float]") -> float:
    both = pd.concat([x, y], axis=1, join="inner").astype(float).to_numpy()
    pairs = both[np.isfinite(both).all(axis=1)]
    return float(stats.kendalltau(*pairs.T).statistic) if len(pairs) >= LEAST_POINTS else np.nan
