"""The hypothesis that two metrics rise together over all points of a report: a rank correlation per repetition."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from benchbook.claims.evidence import Evidence, NotMeasured
from benchbook.claims.ledger import Correlates
from benchbook.claims.parts import Part
from benchbook.published.tables import Published

LEAST_POINTS = 4


def parts(claim: Correlates, published: Published, evidence: Evidence, system: str) -> list[Part]:
    """One tau per repetition, over the points that it has; raises NotMeasured below LEAST_POINTS in every one.

    Two metrics of one trial also share its noise (who copies more uses more CPU), here as in the report's own points.
    """
    found = pd.concat([evidence.points(table, system, [claim.x, claim.y]) for table in claim.tables])
    taus = [_tau(part, claim) for _, part in found.groupby("repetition") if len(part) >= LEAST_POINTS]
    if not taus:
        raise NotMeasured(f"fewer than {LEAST_POINTS} points of {claim.x} and {claim.y} were measured")
    fields = published.tables[claim.tables[0]].fields
    titles = [fields[metric].title for metric in (claim.x, claim.y)]
    effects = np.array([tau for tau in taus if not np.isnan(tau)])
    return [Part(f"{titles[0]} and {titles[1].lower()}", effects, claim.at_least, np.inf, scale="tau", main=True)]


def _tau(points: pd.DataFrame, claim: Correlates) -> float:
    # Kendall (1945), Biometrika 33(3), tau-b: NaN where a metric does not vary at all.
    return float(stats.kendalltau(points[claim.x], points[claim.y]).statistic)
