"""Comparisons of whole tables, and how many repetitions a difference would need."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import stats

from benchbook.errors import BadInput
from benchbook.stats.campaign_effect import CampaignEffect
from benchbook.stats.estimates import Array, holm, positive_vector

_LARGEST = 700.0
# Fewer cells have no middle, and lend their mean.
LEAST_CELLS = 3
# A cell differs in kind if so few that are alike would vary as much. With 0.01, 9.2% of comparisons of equals are wrong
# where a quarter of the cells has two states (n = 3), not 8.6%; with 0.2 a loss of 10% at 3% noise is found in 67% of
# cases, not in 76%.
_ODD = 0.05
# The part of the cells that tells how alike they are. From 0.1 to 0.5, 6.8% are wrong where every cell varies by itself
# (n = 3), not 4.9%; from 0.25 to 0.75, a loss beside that quarter is found in 23% of cases, not in 41%.
_MIDDLE = (0.1, 0.7)
_PRIOR_DFS = np.geomspace(0.5, 1e4, 200)
# More repetitions are no answer to how many would decide a cell.
MOST = 1000
# Of every interval and, after Holm, of every statement; with what probability a difference is to be seen.
CONFIDENCE, POWER = 0.95, 0.8


def compare_cells(
    frame: pd.DataFrame,
    *,
    arms: tuple[object, object],
    effects: Mapping[int, CampaignEffect] | None = None,
    margin: float = 0.05,
    alpha: float = 1 - CONFIDENCE,
) -> pd.DataFrame:
    """Compare two arms in every cell of a table; every statement is corrected by Holm over its cells.

    `frame`: [cell (a number), kind, arm, value], a row per repetition; `arms` = (new, baseline). Returns a row per
    cell, with the cell as index: ratio (new / baseline, of the means), low, high, n_new, n_baseline, error (standard
    error of the log ratio), df, variance (of the log of one repetition), p_value, p_holm, different, equivalent (shown
    to lie between 1 - margin and 1 / (1 - margin)), not_below and not_above (shown to lie above the one, or below the
    other). low and high hold for the cell alone. `alpha` is the error rate of every statement: less than 5% where this
    is one of several looks.

    The cells of one kind lend each other their spread. `effects` by cell: what campaigns differ by, on top of what
    repetitions show. Cells in which an arm is missing are left out; where nothing is known of the spread, as with one
    repetition, NaN stands for what needs it. Raise BadInput for values that are not positive, and no common cell.
    """
    new, base = (_of_arm(frame[frame["arm"] == name]) for name in arms)
    both = new.add_suffix("_new").join(base.add_suffix("_baseline"), how="inner").sort_index()
    if both.empty:
        raise BadInput("no cell holds both arms", key="arm", value=arms, fix=f"seen: {frame['arm'].unique().tolist()}")
    return _judged(_errors(both, effects or {}), margin, alpha)


def _of_arm(frame: pd.DataFrame) -> pd.DataFrame:
    """By cell: kind, n, mean, and the variance of the logs."""
    if frame.empty:
        return pd.DataFrame(columns=["kind", "n", "mean", "variance"])
    by_cell = frame.assign(log=np.log(positive_vector(frame["value"]))).groupby("cell")
    found = {"kind": by_cell["kind"].first(), "n": by_cell.size(), "mean": by_cell["value"].mean()}
    return pd.DataFrame({**found, "variance": by_cell["log"].var(ddof=1)})


def _errors(both: pd.DataFrame, effects: Mapping[int, CampaignEffect]) -> pd.DataFrame:
    """`both` with the log ratio, its standard error and degrees of freedom."""
    # Delta method for a ratio of means: Casella & Berger (2002), Statistical Inference, sec. 5.5.4; the variance of the
    # logs stands for that of the relative errors.
    spread = pd.concat([spreads(part) for _, part in both.groupby("kind_new")]).loc[both.index]
    error2, df = spread.error2.copy(), spread.df.copy()
    for cell in both.index.intersection(list(effects)):
        error2[cell], df[cell] = effects[cell].widened(error2[cell], df[cell])
    return pd.DataFrame(
        {
            "ratio": both.mean_new / both.mean_baseline,
            "n_new": both.n_new,
            "n_baseline": both.n_baseline,
            "error": np.sqrt(error2),
            "df": df,
            "variance": spread.error2 / (1 / both.n_new + 1 / both.n_baseline),
        }
    )


def spreads(part: pd.DataFrame) -> pd.DataFrame:
    """Of cells of one kind: error2 (the squared standard error of the log ratio) and df, its degrees of freedom.

    `part`: [n_new, n_baseline, variance_new, variance_baseline], variances of the logs of one repetition. A cell varies
    as most of its kind do, arm by arm, or more, as far as its own repetitions outweigh the others': Smyth (2004), Stat.
    Appl. Genet. Mol. Biol. 3(1), eq. 3. One that differs in kind has its own spread alone.
    """
    n = part[["n_new", "n_baseline"]].to_numpy(float)
    own = part[["variance_new", "variance_baseline"]].fillna(0.0).to_numpy(float)
    usual, usual_df = np.array([_usual(own[:, arm], n[:, arm] - 1) for arm in (0, 1)]).T
    shared, alone, most = (usual / n).sum(axis=1), (own / n).sum(axis=1), _welch(usual / n, usual_df)
    # One repetition does not show whether its cell varies like the others: a borrowed spread called a cell of 5 times
    # theirs different in 34 of 100 comparisons of equals, with two repetitions in 3 (simulated).
    repeated = (n > 1).all(axis=1)
    informs = repeated & (alone > 0)
    if informs.sum() < LEAST_CELLS:
        error2, dfs = np.maximum(shared, alone), most
    else:
        ratio, df = alone / shared, _welch(usual / n, n - 1)
        prior = _prior_df(ratio[informs], float(np.median(df[informs])))
        odd = ratio > stats.f.isf(_ODD, np.maximum(df, 1), prior)
        error2 = np.where(odd, alone, shared * np.maximum(1, (prior + df * ratio) / (prior + df)))
        dfs = np.minimum(np.where(odd, df, prior + df), most)
    known = np.where(repeated, 1.0, math.nan)
    return pd.DataFrame({"error2": known * error2, "df": known * dfs}, index=part.index)


def _usual(variances: Array, df: Array) -> tuple[float, float]:
    """What most cells of an arm vary by, and its degrees of freedom; those that repeat exactly do not tell."""
    informs = (df > 0) & (variances > 0)
    if not informs.any():
        return 0.0, float(df.sum())
    variances, df = variances[informs], df[informs]
    if len(df) < LEAST_CELLS:
        return float(np.average(variances, weights=df)), float(df.sum())
    # A few odd cells turn the mean, not the median. A median knows half as much: its variance is 1 / (4 f^2 m), so with
    # 2 degrees of freedom 0.48 of what the mean does, with many 2 / pi.
    return float(np.median(variances * df / stats.chi2.median(df))), float(df.sum()) / 2


def _prior_df(ratios: Array, df: float) -> float:
    """How alike cells vary, in degrees of freedom, from the middle of their variances' ratios to the usual one.

    The ratios have an F distribution (Smyth 2004, sec. 4); the upper third may be of cells that differ in kind.
    """
    seen = np.diff(np.log(np.quantile(ratios, _MIDDLE)))
    low, high = (np.log(stats.f.ppf(share, df, _PRIOR_DFS)) for share in _MIDDLE)
    return float(np.interp(-seen, low - high, _PRIOR_DFS)[0])


def _welch(parts: Array, df: Array) -> Array:
    """Degrees of freedom of the sum of both arms' `parts`; without any spread both arms' count."""
    # Welch (1947), Biometrika 34(1-2).
    doubt = np.divide(parts**2, df, out=np.zeros(parts.shape), where=df > 0).sum(axis=1)
    every = np.broadcast_to(df, parts.shape).sum(axis=1)
    found: Array = np.divide(parts.sum(axis=1) ** 2, doubt, out=every, where=doubt > 0)
    return found


def _judged(found: pd.DataFrame, margin: float, alpha: float) -> pd.DataFrame:
    shift = pd.Series(np.log(found.ratio), index=found.index)
    edge = -math.log(1 - margin)
    # A few degrees of freedom can ask for more than a float holds.
    half = np.minimum(stats.t.ppf(1 - alpha / 2, found.df) * found.error, _LARGEST)
    p_value = (2 * _tail(shift.abs(), found)).clip(upper=1.0)
    p_holm = holm(p_value.to_numpy(float))
    # Schuirmann (1987), J. Pharmacokinet. Biopharm. 15(6): equivalent if both one-sided tests say so; each statement is
    # corrected for the family of cells by itself.
    below, above = _tail(shift + edge, found), _tail(edge - shift, found)
    return found.assign(
        low=found.ratio * np.exp(-half),
        high=found.ratio * np.exp(half),
        p_value=p_value,
        p_holm=p_holm,
        different=p_holm < alpha,
        equivalent=holm(below.where(below > above, above).to_numpy(float)) < alpha,
        not_below=holm(below.to_numpy(float)) < alpha,
        not_above=holm(above.to_numpy(float)) < alpha,
    )


def _tail(distance: pd.Series, found: pd.DataFrame) -> pd.Series:
    """One-sided p that a log distance is above 0; NaN where nothing is known of the spread."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = stats.t.sf(distance / found.error, found.df)
    # Values without any spread, in no company to borrow from, are told apart by their order alone, as a permutation
    # test does; the same value every time on both sides (a count) is the same.
    ways = [math.comb(n + m, n) for n, m in zip(found.n_new, found.n_baseline, strict=True)]
    alone = np.select([found.ratio == 1, distance > 0], [np.where(distance > 0, 0.0, 1.0), 1 / np.array(ways)], 1.0)
    return pd.Series(np.where(found.error == 0, alone, p), index=found.index)


def repetitions_needed(
    variance: float, difference: float, *, alpha: float = 0.05, effect: CampaignEffect | None = None
) -> int | None:
    """Repetitions per arm until a test at `alpha` sees a true `difference` of logs with probability POWER; at least 2.

    `variance` is that of the logs of one cell's repetitions; divide `alpha` by the number of cells. With `effect`, for
    arms that are campaigns, which differ by themselves. None where the variance is not known, or MOST would not do.
    """
    counts = np.arange(2, MOST + 1, dtype=np.float64)
    error2, df = 2 * variance / counts, 2 * counts - 2
    if effect is not None:
        error2, df = effect.widened(error2, df)
    # Cohen (1988), Statistical Power Analysis, ch. 12: both quantiles of t beside the difference.
    seen = (stats.t.ppf(1 - alpha / 2, df) + stats.t.ppf(POWER, df)) * np.sqrt(error2) <= difference
    return int(counts[seen.argmax()]) if seen.any() else None
