"""What further repetitions are likely to show, against the same drawn at random."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchbook.campaign.repetition_allocation import WORTH
from benchbook.campaign.repetitions import SHARES
from benchbook.claims.ahead import MOST_AHEAD, chances
from benchbook.claims.parts import Part, Spread, interval
from benchbook.stats.tails import t_quantile, t_tail

LEVEL = 0.01
# A mean of log 1.2 over 4 repetitions; 1.1 is the least that its claim allows, or the most.
SEEN = np.log(1.2) + 0.05 * np.array([-1.0, 1.0, -0.5, 0.5])
ABOVE = Part("rate", SEEN, low=float(np.log(1.1)), borrowed=Spread(0.05**2, 20.0))
BELOW = replace(ABOVE, low=-np.inf, high=float(np.log(1.1)))


def drawn(part: Part, more: int, draws: int = 20_000) -> float:
    """The share of futures in which the part is decided after so many more repetitions: its spread stays as it is."""
    rng = np.random.default_rng(3)
    n, df, scale = part.n, part.spread.df, np.sqrt(part.spread.variance)
    # The variance that is not known is drawn as well: scale^2 * df / chi2(df); then the mean, then the effects.
    sigma = scale * np.sqrt(df / rng.chisquare(df, draws))
    mean = part.mean + sigma * rng.standard_normal(draws) / np.sqrt(n)
    fresh = mean + sigma * rng.standard_normal(draws) / np.sqrt(more)
    after = replace(part, effects=np.zeros(n + more), borrowed=Spread(part.spread.variance, df + more))
    half = interval(after, LEVEL)[1]
    final = (n * part.mean + more * fresh) / (n + more)
    inside = (final - half > part.low) & (final + half < part.high)
    outside = (final + half < part.low) | (final - half > part.high)
    return float(np.mean(inside | outside))


@pytest.mark.parametrize("part", [ABOVE, BELOW, replace(ABOVE, high=float(np.log(1.3)))])
@pytest.mark.parametrize("more", [1, 3, 10, 30])
def test_chances_are_those_of_futures_drawn_at_random(part: Part, more: int) -> None:
    assert chances([part], LEVEL)[more - 1] == pytest.approx(drawn(part, more), abs=0.012)


def test_a_claim_holds_in_all_of_its_parts_or_fails_in_one() -> None:
    sure = replace(ABOVE, low=-1.0)
    assert chances([sure], LEVEL) == pytest.approx(np.ones(MOST_AHEAD), abs=1e-6)
    assert chances([ABOVE, sure], LEVEL) == pytest.approx(chances([ABOVE], LEVEL), abs=1e-4)
    # Two such parts both hold less often than one; one of them alone can fail, at half of the level.
    assert np.all(chances([ABOVE, ABOVE], LEVEL) <= chances([ABOVE], LEVEL))
    fails = replace(ABOVE, low=1.0)
    assert chances([ABOVE, fails], LEVEL) == pytest.approx(np.ones(MOST_AHEAD), abs=1e-6)


def test_nothing_is_expected_of_what_has_no_spread_yet_or_drifts() -> None:
    assert not chances([replace(ABOVE, effects=SEEN[:1], borrowed=None)], LEVEL).any()
    assert not chances([replace(ABOVE, drift=0.1)], LEVEL).any()
    # Figures that repeat exactly decide it with the next one.
    exact = replace(ABOVE, effects=np.full(4, np.log(1.2)), borrowed=None)
    assert chances([exact], LEVEL)[0] == 1.0


def test_repetitions_that_are_added_where_they_are_likely_to_decide_keep_the_error_rate() -> None:
    """16 claims a hair outside their regions, two repetitions, and of up to 12 more as many as promise most a second.

    Each claim has a variance of its own from a prior of 4 degrees of freedom, which the judge knows. With a share for
    each of the two looks alone 6.8% of ledgers would be wrong. One standard error of the share is 0.25%.
    """
    claims, first, most, prior, draws = 16, 2, 12, 4, 120_000
    level = 0.05 / SHARES / claims
    rng = np.random.default_rng(8)
    sigma = np.sqrt(prior / rng.chisquare(prior, draws))[:, None]
    effects = sigma * rng.standard_normal((draws, first + most))
    counts = np.arange(1, first + most + 1)
    means = effects.cumsum(axis=1) / counts
    squares = (effects**2).cumsum(axis=1) - counts * means**2
    dfs = prior + counts - 1.0
    variances, quantiles = (prior + squares) / dfs, t_quantile(1 - level, dfs)
    mean, variance, more = means[:, [first - 1]], variances[:, [first - 1]], counts[:most]
    # As `chances` has it: where the interval of so many repetitions will lie, by Student's t of what is seen.
    half = np.sqrt(variance / (first + more)) * quantiles[first:]
    moves = np.sqrt(variance * more / (first * (first + more)))
    chance = t_tail((half - mean) / moves, dfs[first - 1]) + t_tail((half + mean) / moves, dfs[first - 1])
    decided = np.abs(mean[:, 0]) > np.sqrt(variance[:, 0] / first) * quantiles[first - 1]
    worth = ~decided & (chance.max(axis=1) >= WORTH)
    last = first - 1 + np.where(worth, (chance / (more + 3)).argmax(axis=1) + 1, 0)
    every = np.arange(draws)
    t = means[every, last] / np.sqrt(variances[every, last] / counts[last])
    wrong = claims * float((t > quantiles[last]).mean())
    assert 0.035 < wrong <= 0.05 + 0.005
