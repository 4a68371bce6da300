"""Comparisons of whole tables, and how many repetitions a difference would need."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import scipy
from scipy import stats
from statsmodels.stats.power import TTestIndPower

from benchbook.errors import BadInput
from benchbook.stats.campaign_effect import CampaignEffect
from benchbook.stats.estimates import Array, Values, columns, degenerate, holm, positive_vector, share
from benchbook.stats.moderation import moderate

_MOST_REPETITIONS = 10_000
_LARGEST = 700.0
# As near as the log of a factor is looked for.
_LOG_STEP = 1e-9
# Of the logs of cells' means: a factor of two.
_LEVELS_APART = math.log(2)
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
    error of the log ratio), df, own_spread (the cell varies unlike the others of its kind: nothing was borrowed),
    p_value, p_holm, different, equivalent (shown to lie between 1 - margin and 1 / (1 - margin)), not_below and
    not_above (shown to lie above the one, or below the other). low and high hold for the cell alone. `alpha` is the
    error rate of every statement: less than 5% where this is one of several looks.

    The variances are moderated over the cells of one kind. `effects` by cell: what campaigns differ by, on top of what
    repetitions show. Cells in which an arm is missing are left out; where nothing is known of the spread, as with one
    repetition, NaN stands for what needs it. Raise BadInput for missing columns, values that are not positive, and no
    common cell.
    """
    columns(frame, "cell", "kind", "arm", "value")
    share(margin, key="margin")
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


def _spreads(part: pd.DataFrame) -> pd.DataFrame:
    """Of cells of one kind: the squared standard error of the log ratio, its degrees of freedom, and `own_spread`.

    A cell varies as much in one arm as in the other, but for one factor between the arms: so its two variances are one
    figure, and cells borrow from each other once. Moderated arm by arm (tried), few repetitions beside many borrow a
    spread that is far too small now and then: of equal campaigns, 15 cells, 2 against 6 repetitions, 10% had a
    difference, and so 4%; 3 against 7 that vary by 2 to 5%, 8.6% and 3.8%. More true differences show as well.
    """
    n = part[["n_new", "n_baseline"]].to_numpy(float)
    s2 = part[["variance_new", "variance_baseline"]].fillna(0.0).to_numpy(float)
    # The same value every time (a count, a rounded time) does not tell how much an arm varies where the other does.
    told = s2 > 0
    df = np.where(told.any(axis=1, keepdims=True), (n - 1) * told, n - 1)
    factor, doubt = _factor(s2, df)
    scaled, whole = s2 / [factor, 1.0], df.sum(axis=1)
    pooled = np.divide((scaled * df).sum(axis=1), whole, out=np.full(whole.size, math.nan), where=whole > 0)
    found = moderate(pooled, whole, covariate=_levels(part))
    parts = [factor, 1.0] / n
    per_variance = parts.sum(axis=1)
    # How the error depends on the log of the factor, which moves its share in the sum, and the pooled variance against.
    by_factor = parts[:, 0] / per_variance - np.divide(df[:, 0], whole, out=np.zeros(whole.size), where=whole > 0)
    # A log variance of 2 / df is that of a variance with df degrees of freedom.
    dfs = found.dfs / (1 + found.dfs * by_factor**2 * doubt / 2)
    alone, alone_dfs = _welch(s2 / n, n - 1)
    error2, dfs = np.where(found.own, alone, found.variances * per_variance), np.where(found.own, alone_dfs, dfs)
    # One repetition does not show whether its cell varies like the others: a borrowed spread called a cell of 5 times
    # theirs different in 34 of 100 comparisons of equals, with two repetitions in 3 (simulated).
    known = np.where((n > 1).all(axis=1), error2, math.nan)
    own = found.own & (found.prior_df > 0)
    return pd.DataFrame({"error2": known, "df": dfs, "own_spread": own}, index=part.index)


def _welch(parts: Array, df: Array) -> tuple[Array, Array]:
    """Return the sum of a cell's two squared errors, arrays of (cells, 2), and its degrees of freedom."""
    # Welch (1947), Biometrika 34(1-2). Without any spread both arms' degrees count.
    whole, doubt = parts.sum(axis=1), np.divide(parts**2, df, out=np.zeros(parts.shape), where=df > 0).sum(axis=1)
    return whole, np.divide(whole**2, doubt, out=df.sum(axis=1), where=doubt > 0)


def _factor(s2: Array, df: Array) -> tuple[float, float]:
    """How many times as large the first arm's variances are, and the variance of its log; 1 where no cell has both.

    Of shape (cells, 2), the variances and their degrees of freedom. The maximum likelihood estimate of the scale of
    F-distributed ratios: where the first arm's share of a cell's sum of squares is in the mean that of its degrees of
    freedom. A single cell with a spread of its own has little say, as no share is above 1.
    """
    both = (s2 > 0).all(axis=1)
    if not both.any():
        return 1.0, 0.0
    logs, freedom = np.log(s2[both] * df[both]), df[both]
    whole = freedom.sum(axis=1)

    def score(factor: float) -> float:
        shares = scipy.special.expit(logs[:, 0] - logs[:, 1] - factor)
        return float(whole @ shares - freedom[:, 0].sum())

    found = float(scipy.optimize.brentq(score, -_LARGEST, _LARGEST, xtol=_LOG_STEP))
    # Fisher's information of the log scale of F: the variance of the score, of a share that is Beta(df / 2, df / 2).
    information = (freedom.prod(axis=1) / (2 * (whole + 2))).sum()
    return math.exp(found), float(1 / information)


def _levels(part: pd.DataFrame) -> Array | None:
    """Return the trend's covariate: small counts vary more than large ones, relative to their mean."""
    levels = np.log(part[["mean_new", "mean_baseline"]].to_numpy(float)).mean(axis=1)
    # Levels that are alike differ by noise, and a line over it calls the furthest ones sure: of comparisons of equals,
    # 15 cells in tables that move together, 20 of 100 had a difference with repetitions 2 and 6, and without it 7
    # (simulated, arm by arm).
    return levels if float(np.ptp(levels)) >= _LEVELS_APART else None


def _errors(both: pd.DataFrame, effects: Mapping[int, CampaignEffect]) -> pd.DataFrame:
    """`both` with the log ratio, its standard error and degrees of freedom."""
    # Delta method for a ratio of means: Casella & Berger (2002), Statistical Inference, sec. 5.5.4; the variance of the
    # logs stands for that of the relative errors.
    spread = pd.concat([_spreads(part) for _, part in both.groupby("kind_new")]).loc[both.index]
    widened = [
        effects[name].widened(e, d) if name in effects else (e, d)
        for name, e, d in zip(both.index, spread.error2, spread.df, strict=True)
    ]
    found = pd.DataFrame(widened, columns=["error", "df"], index=both.index, dtype=float)
    return pd.DataFrame(
        {
            "ratio": both.mean_new / both.mean_baseline,
            "n_new": both.n_new,
            "n_baseline": both.n_baseline,
            "error": np.sqrt(found.error),
            "df": found.df,
            "own_spread": spread.own_spread.astype(bool),
        }
    )


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


def coefficient_of_variation(values: Values, *, groups: Sequence[object] | None = None) -> float:
    """Standard deviation between repetitions relative to the mean, pooled over `groups` (one label per value)."""
    found = positive_vector(values)
    labels = np.zeros(found.size) if groups is None else pd.factorize(pd.Series(list(groups)))[0]
    parts = [np.log(found[labels == label]) for label in np.unique(labels)]
    freedom = sum(part.size - 1 for part in parts)
    if freedom == 0:
        degenerate("one repetition per cell says nothing about the spread between repetitions")
        return math.nan
    return math.sqrt(sum(float(((part - part.mean()) ** 2).sum()) for part in parts) / freedom)


def repetitions_needed(*, cv: float, ratio: float, alpha: float = 0.05, effect: CampaignEffect | None = None) -> int:
    """Repetitions per arm for a t test at `alpha` to see a true `ratio` with probability POWER; at least 2.

    `cv` is the relative standard deviation between repetitions; correct `alpha` for the family by hand (alpha / cells).
    With `effect`, for arms that are campaigns, which differ by themselves. Raise BadInput where 10,000 would not do.
    """
    share(alpha, key="alpha")
    if cv <= 0 or ratio <= 0 or ratio == 1:
        raise BadInput("needs cv > 0 and a ratio above 0 and not 1", value=(cv, ratio), fix="name the difference")
    shift = abs(math.log(ratio))
    if effect is not None:
        return _first(lambda n: _power(shift, effect.widened(2 * cv**2 / n, 2 * n - 2), alpha) >= POWER)
    # Cohen (1988), Statistical Power Analysis, ch. 2, by the noncentral t of statsmodels; the power rises with n. Of
    # one side: the far tail adds nothing, and is nan where the effect is large.
    solver = TTestIndPower()
    return _first(lambda n: float(solver.power(shift / cv, n, alpha / 2, alternative="larger")) >= POWER)


def _power(shift: float, error: tuple[float, float], alpha: float) -> float:
    """Chance that a t test sees `shift`, given the squared standard error and its degrees of freedom."""
    error2, df = error
    return float(stats.nct.sf(stats.t.ppf(1 - alpha / 2, df), df, shift / math.sqrt(error2)))


def _first(enough: Callable[[int], bool]) -> int:
    """Return the least n from 2 on that is enough, by doubling and bisection."""
    high = 2
    while not enough(high):
        high *= 2
        if high > _MOST_REPETITIONS:
            raise BadInput("would need more than 10,000 repetitions", value=high, fix="ask for a larger difference")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
