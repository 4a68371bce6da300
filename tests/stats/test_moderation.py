"""Moderated variances: by hand, against known hyperparameters, and what they do to coverage, width and power."""

import math

import numpy as np
import pytest
from scipy import special, stats

from benchbook.errors import BadInput
from benchbook.stats.moderation import moderate

# 16 claims under Holm: the strictest interval is at 1 - 0.05 / 16 or so.
CONFIDENCE = 0.996


def _drawn(rng, *, features, n, prior_df=10.0, scale=1.0):
    """True variances from the prior, and the sample variances of n repetitions."""
    true = scale * (prior_df / rng.chisquare(prior_df, features) if math.isfinite(prior_df) else np.ones(features))
    return true, true * rng.chisquare(n - 1, features) / (n - 1)


def test_variances_that_are_as_alike_as_sampling_makes_them_become_one():
    # Variances 0.9 to 1.1 with 2 degrees of freedom each vary far less than sampling alone: prior df is infinite, and
    # the prior's scale corrects the mean log for 2 degrees of freedom: exp(0 - digamma(1) + log(1)) = exp(0.57722).
    found = moderate([0.9, 1.0, 1 / 0.9], [2, 2, 2], robust=False)
    assert found.prior_df == math.inf
    assert found.prior_variances == pytest.approx(math.exp(0.577216), rel=1e-5)
    assert found.variances == pytest.approx(found.prior_variances, rel=1e-4)
    # As many degrees of freedom as all features together, not infinitely many.
    assert found.dfs.tolist() == [6, 6, 6]


def test_the_posterior_is_the_weighted_mean_of_prior_and_own():
    rng = np.random.default_rng(1)
    _, s2 = _drawn(rng, features=40, n=4, prior_df=4)
    found = moderate(s2, np.full(40, 3.0), robust=False)
    expected = (found.prior_df * found.prior_variances + 3 * s2) / (found.prior_df + 3)
    assert found.variances == pytest.approx(expected)
    assert found.dfs == pytest.approx(found.prior_df + 3)


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("prior_df", [2.0, 6.0, 20.0])
def test_hyperparameters_are_found_again(prior_df, robust):
    _, s2 = _drawn(np.random.default_rng(2), features=4000, n=5, prior_df=prior_df, scale=3.0)
    found = moderate(s2, np.full(4000, 4.0), robust=robust)
    # On the scale on which it is estimated: the variance of the log of a true variance.
    expected, got = (float(special.polygamma(1, df / 2)) for df in (prior_df, found.prior_df))
    assert got == pytest.approx(expected, abs=0.1)
    assert got >= expected - 0.03, "taken low, never high"
    assert found.prior_variances[0] == pytest.approx(3.0, rel=0.08)


def test_repetitions_may_differ_in_number():
    rng = np.random.default_rng(3)
    df = np.where(np.arange(3000) % 2, 2.0, 8.0)
    s2 = 2.0 * 6 / rng.chisquare(6, 3000) * rng.chisquare(df) / df
    found = moderate(s2, df)
    assert found.prior_df == pytest.approx(6, rel=0.25)
    assert found.prior_variances[0] == pytest.approx(2.0, rel=0.08)


def test_an_outlying_cell_keeps_its_own_variance_and_leaves_the_prior_alone():
    _, s2 = _drawn(np.random.default_rng(4), features=16, n=5, prior_df=math.inf)
    clean = moderate(s2, np.full(16, 4.0))
    s2[3] = 400.0
    found = moderate(s2, np.full(16, 4.0))
    assert found.own.tolist() == [i == 3 for i in range(16)]
    assert (found.variances[3], found.dfs[3]) == (400.0, 4.0)
    others = np.arange(16) != 3
    assert np.median(found.variances[others]) < 1.5 * np.median(clean.variances[others])
    # Without robustness, the outlier takes most of the prior's degrees of freedom.
    assert moderate(s2, np.full(16, 4.0), robust=False).prior_df < found.prior_df


def test_no_cell_of_equal_ones_is_called_different_more_often_than_said():
    rng = np.random.default_rng(5)
    any_own = [moderate(_drawn(rng, features=12, n=3, prior_df=4)[1], np.full(12, 2.0)).own.any() for _ in range(150)]
    assert np.mean(any_own) <= 0.12  # 5% where the prior is known; from 12 cells it is estimated


def test_the_variance_may_follow_the_level():
    rng = np.random.default_rng(6)
    level = np.repeat(np.linspace(0, 4, 40), 2)
    s2 = np.exp(1 + 0.8 * level) * rng.chisquare(4, 80) / 4
    found = moderate(s2, np.full(80, 4.0), covariate=level)
    assert found.trend == pytest.approx(0.8, abs=0.15)
    assert np.log(found.prior_variances) == pytest.approx(1 + 0.8 * level, abs=0.4)
    # All variances lie on the line; without it, what the line explains looks like variances that differ.
    assert found.prior_df > 4 * moderate(s2, np.full(80, 4.0)).prior_df
    # Seven cells do not carry a line.
    assert moderate(s2[:7], np.full(7, 4.0), covariate=level[:7]).trend == 0


def test_variances_of_zero_do_not_draw_the_others_down():
    _, s2 = _drawn(np.random.default_rng(7), features=20, n=3, prior_df=10)
    without = moderate(s2, np.full(20, 2.0))
    found = moderate(np.r_[s2, 0, 0, 0, 0], np.full(24, 2.0))
    assert found.prior_variances[0] == pytest.approx(without.prior_variances[0])
    # And they are not believed: a cell of three equal values gets a share of what is usual.
    assert (found.variances[20:] > 0.3 * without.prior_variances[0]).all()


def test_a_cell_with_one_repetition_has_what_is_usual():
    _, s2 = _drawn(np.random.default_rng(8), features=20, n=3, prior_df=10)
    found = moderate(np.r_[s2, math.nan], np.r_[np.full(20, 2.0), 0.0])
    assert found.variances[20] == found.prior_variances[20]
    assert found.dfs[20] == pytest.approx(min(found.prior_df, 40))
    assert not found.own[20]


def test_two_cells_have_nothing_to_borrow():
    found = moderate([1.0, 2.0, 0.0], [2, 2, 2])
    assert found.variances.tolist() == [1.0, 2.0, 0.0]
    assert found.dfs.tolist() == [2, 2, 2]
    assert found.prior_df == 0
    assert found.own.all()


@pytest.mark.parametrize(
    ("variances", "dfs", "options"),
    [
        ([1.0, 2.0], [2.0], {}),
        ([-1.0, 2.0], [2.0, 2.0], {}),
        ([math.nan, 2.0], [2.0, 2.0], {}),
        ([1.0, 2.0], [-2.0, 2.0], {}),
        ([1.0, 2.0], [2.0, 2.0], {"covariate": [1.0]}),
    ],
)
def test_unusable_input_is_refused(variances, dfs, options):
    with pytest.raises(BadInput):
        moderate(variances, dfs, **options)


def _campaigns(n, spread, prior_df, campaigns=150, cells=16):
    """Per campaign the means (true 0) and errors of 16 cells on the log scale, moderated and by themselves."""
    rng = np.random.default_rng(n)
    for _ in range(campaigns):
        true, s2 = _drawn(rng, features=cells, n=n, prior_df=prior_df, scale=spread**2)
        mean = rng.standard_normal(cells) * np.sqrt(true / n)
        found = moderate(s2, np.full(cells, n - 1.0))
        quantile = stats.t.ppf((1 + CONFIDENCE) / 2, found.dfs), stats.t.ppf((1 + CONFIDENCE) / 2, n - 1)
        yield mean, quantile[0] * np.sqrt(found.variances / n), quantile[1] * np.sqrt(s2 / n)


@pytest.mark.parametrize("spread", [0.03, 0.3])
@pytest.mark.parametrize("n", [3, 5, 7])
def test_moderated_intervals_cover_what_they_say_and_are_narrower(n, spread):
    means, moderated, alone = (np.array(part) for part in zip(*_campaigns(n, spread, 8.0), strict=True))
    # 2,400 intervals: 99.6% within three standard errors of 0.13%.
    assert (np.abs(means) < moderated).mean() >= CONFIDENCE - 0.004
    assert np.median(moderated) < {3: 0.45, 5: 0.9, 7: 1.0}[n] * np.median(alone)


def test_a_tenth_less_is_found_with_three_repetitions():
    """-10% at 3% spread of the effect, three repetitions, 16 cells: 78 to 86% when moderated, 13 to 16% alone."""
    means, moderated, alone = (np.array(part) for part in zip(*_campaigns(3, 0.03, 20.0), strict=True))
    shifted = means + math.log(0.9)
    assert (np.abs(shifted) > moderated).mean() >= 0.75
    assert (np.abs(shifted) > alone).mean() <= 0.2
    assert (np.abs(means) > moderated).mean() <= 0.008
