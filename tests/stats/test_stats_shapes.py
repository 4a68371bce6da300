"""Shapes of curves: positions and slopes by hand, the USL recovered within its intervals."""

import math

import numpy as np
import pandas as pd
import pytest

from benchbook.errors import BadInput
from benchbook.stats.estimates import DegenerateDataWarning
from benchbook.stats.shapes import (
    curve,
    knee_position,
    normalised_curve,
    peak_position,
    rank_agreement,
    ratio_slope,
    saturation_position,
)
from benchbook.stats.usl import usl_fit, usl_throughput

LEVELS = np.array([1.0, 2, 4, 8, 16, 32])


def _repeated(levels, means, noise=(-0.01, 0.0, 0.01), **more):
    rows = [(x, y * math.exp(e)) for x, y in zip(levels, means, strict=True) for e in noise]
    return pd.DataFrame(rows, columns=["threads", "tps"]).assign(**more)


def _at(frame):
    return {"frame": frame, "x": "threads", "y": "tps"}


def test_a_curve_pools_its_spread():
    found = curve(_repeated([1, 2], [100, 200]), x="threads", y="tps")
    assert found.level.tolist() == [1, 2]
    assert found.n.tolist() == [3, 3]
    assert found.freedom == 4
    assert found.spread == pytest.approx(0.01)


def test_normalised_curves_by_hand():
    frame = pd.DataFrame({"w": ["a"] * 3 + ["b"] * 3, "threads": [1, 2, 4] * 2, "tps": [10, 18, 15, 5.0, 10, 20]})
    first = normalised_curve(frame, x="threads", y="tps", by=["w"])
    assert first["relative"].tolist() == [1, 1.8, 1.5, 1, 2, 4]
    peak = normalised_curve(frame, x="threads", y="tps", by=["w"], reference="peak")
    assert peak["relative"].tolist() == pytest.approx([10 / 18, 1, 15 / 18, 0.25, 0.5, 1])
    alone = normalised_curve(frame[frame["w"] == "a"], x="threads", y="tps")
    assert alone["relative"].tolist() == [1, 1.8, 1.5]


def test_rank_agreement_by_hand():
    # One of six pairs the other way round: (5 - 1)/6.
    found = rank_agreement([1, 2, 3, 4], [10, 20, 40, 30])
    assert found.tau == pytest.approx(2 / 3)
    assert not found.same_order
    assert rank_agreement([3.36, 2.78, 3.26, 2.48, 2.47], [3.0, 2.5, 2.9, 2.2, 2.1]).same_order
    with pytest.raises(BadInput):
        rank_agreement([1, 2], [1, 2, 3])


def test_peak_inside_the_range():
    found = peak_position(**_at(_repeated([5, 15, 20, 24], [100, 150, 170, 140])))
    assert (found.position, found.low, found.high) == (20, 20, 20)
    assert found.shares == {20.0: 1.0}


def test_a_flat_top_has_a_wide_peak_and_an_early_saturation():
    frame = _repeated([1, 2, 4, 8, 16, 32], [10, 20, 39, 60, 60.3, 60.1])
    peak, saturation = peak_position(**_at(frame)), saturation_position(**_at(frame))
    assert (peak.low, peak.high) == (8, 32)
    assert len(peak.shares) == 3
    assert (saturation.position, saturation.low, saturation.high) == (8, 8, 8)


def test_knee_by_hand():
    # Scaled to 0..1 the curve lies 0, 0.4 - 0.2 ... above the diagonal; furthest at 3: 0.9 - 0.4 = 0.5.
    found = knee_position(**_at(_repeated([1, 2, 3, 4, 5, 6], [100, 150, 190, 195, 198, 200])))
    assert (found.position, found.low, found.high) == (3, 3, 3)


def test_single_repetitions_give_a_position_without_interval():
    with pytest.warns(DegenerateDataWarning):
        found = peak_position(**_at(pd.DataFrame({"threads": [1, 2, 3], "tps": [1.0, 3, 2]})))
    assert found.position == 2
    assert not found.known
    with pytest.raises(BadInput, match="three levels"):
        peak_position(**_at(_repeated([1, 2], [1, 2])))


def test_the_interval_of_a_peak_covers():
    rng, truth, hits = np.random.default_rng(1), [90, 98, 100, 97, 92], 0
    for i in range(400):
        frame = _repeated([1, 2, 3, 4, 5], truth * np.exp(0.02 * rng.standard_normal(5)), noise=0.02 * np.ones(1))
        rows = [_repeated([1, 2, 3, 4, 5], truth, noise=[e]) for e in (0, 0, 0)]
        frame = pd.concat(rows)
        frame["tps"] *= np.exp(0.02 * rng.standard_normal(len(frame)))
        found = peak_position(**_at(frame), resamples=300, seed=i)
        hits += found.low <= 3 <= found.high
    assert hits / 400 >= 0.95


def test_ratio_slope_by_hand():
    # 0.8, 0.72, 0.648: a tenth less with each doubling.
    base = _repeated([100, 200, 400], [1000, 1800, 3000], arm="plain")
    top = _repeated([100, 200, 400], [800, 1296, 1944], arm="indexed")
    found = ratio_slope(**_at(pd.concat([top, base])), arm="arm", arms=("indexed", "plain"))
    assert found.estimate == pytest.approx(0.9)
    # Spread 0.01, weights 1/(1/3 + 1/3) = 1.5, doublings -1, 0, 1: error 0.01/sqrt(3) on 12 degrees of freedom.
    assert math.log(found.high / 0.9) == pytest.approx(2.1788 * 0.01 / math.sqrt(3), rel=1e-3)
    with pytest.raises(BadInput, match="same two or more levels"):
        ratio_slope(**_at(pd.concat([top[:6], base])), arm="arm", arms=("indexed", "plain"))


def test_usl_by_hand():
    # 1000 * 4 / (1 + 0.1 * 3 + 0.01 * 12) = 4000 / 1.42.
    assert usl_throughput(np.array([4.0]), lam=1000, sigma=0.1, kappa=0.01)[0] == pytest.approx(4000 / 1.42)


def test_usl_of_noiseless_data_is_exact():
    found = usl_fit(LEVELS, usl_throughput(LEVELS, lam=1000, sigma=0.05, kappa=0.002))
    assert found.lam.estimate == pytest.approx(1000)
    assert found.sigma.estimate == pytest.approx(0.05)
    assert found.kappa.estimate == pytest.approx(0.002)
    assert found.peak.estimate == pytest.approx(math.sqrt(0.95 / 0.002))
    assert found.relative_error < 1e-6
    assert found.throughput([8.0])[0] == pytest.approx(
        usl_throughput(np.array([8.0]), lam=1000, sigma=0.05, kappa=0.002)[0]
    )


@pytest.mark.parametrize(("sigma", "kappa"), [(0.03, 0.0005), (0.1, 0.0), (0.0, 0.001)])
@pytest.mark.parametrize(("levels", "repetitions"), [(LEVELS, 3), (np.array([50.0, 100, 200, 400]), 3)])
def test_usl_parameters_lie_within_their_intervals(levels, repetitions, sigma, kappa):
    rng, x = np.random.default_rng(41), np.repeat(levels, repetitions)
    truth = usl_throughput(x, lam=1000, sigma=sigma, kappa=kappa)
    fits = [usl_fit(x, truth * np.exp(0.03 * rng.standard_normal(x.size))) for _ in range(500)]
    assert np.mean([fit.lam.contains(1000) for fit in fits]) >= 0.92
    assert np.mean([fit.sigma.contains(sigma) for fit in fits]) >= 0.92
    assert np.mean([fit.kappa.contains(kappa) for fit in fits]) >= 0.92
    peak = math.sqrt((1 - sigma) / kappa) if kappa else math.inf
    assert np.mean([fit.peak.contains(peak) for fit in fits]) >= 0.92
    assert np.median([fit.relative_error for fit in fits]) == pytest.approx(0.03, rel=0.15)


def test_linear_scaling_has_no_peak():
    found = usl_fit(LEVELS, 100 * LEVELS)
    assert found.sigma.estimate == pytest.approx(0, abs=1e-6)
    assert found.peak.high == math.inf


def test_a_flat_curve_is_full_contention():
    found = usl_fit([50, 100, 200, 400] * 2, [1000, 1001, 999, 1000, 1002, 998, 1000, 1000])
    assert found.sigma.estimate > 0.9
    assert found.sigma.high == 1


def test_usl_needs_levels():
    with pytest.raises(BadInput, match="three or more levels"):
        usl_fit([1, 1, 2, 2], [1, 1, 2, 2])
