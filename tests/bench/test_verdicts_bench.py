"""The simulations behind `bench verdicts` and `bench null_comparisons`: their truths, their noise, their counts."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from benchbook import published
from benchbook.bench import claim_family, null_comparisons_bench, repetition_noise, verdicts_bench
from benchbook.bench.claim_family import ClaimFamily
from benchbook.bench.null_comparisons_bench import NullSetting
from benchbook.bench.verdicts_bench import Setting
from benchbook.claims.evidence import PUBLISHED, as_published
from benchbook.claims.hypothesis import Arm
from benchbook.claims.ledger_check import load


@pytest.fixture(scope="module")
def family() -> ClaimFamily:
    return claim_family.of_report(published.load("tidb_v7_1_3_sysbench"))


def test_a_ledger_as_sums_gives_the_published_effects(family: ClaimFamily) -> None:
    data = published.load("tidb_v7_1_3_sysbench")
    ledger = load(data)
    assert ledger is not None
    arm = Arm(data, as_published(data), PUBLISHED)
    printed = [part for claim in ledger.claims for part in claim.parts(arm)]
    assert (len(family.claims), family.logs.size) == (16, 30)
    assert [part.what for part in family.parts] == [part.what for part in printed]
    assert family.sums @ family.logs == pytest.approx([part.mean for part in printed])
    assert set(family.truths(family.logs)) == {"holds"}


def test_a_truth_at_the_bounds_holds_or_fails_by_a_hair_s_breadth(family: ClaimFamily) -> None:
    truth = family.on_bounds(np.random.default_rng(1))
    effects = iter(family.sums @ truth)
    gaps = [min(abs(e - b) for p in parts for e in [next(effects)] for b in (p.low, p.high)) for parts in family.claims]
    assert sum(0 < gap < 1e-5 for gap in gaps) >= 8
    assert set(family.truths(truth)) == {"holds", "fails"}
    (rises, *_), row = family.claims[0], family.sums[0]
    # The first claim: point selects rise at least 1.2 times from 50 to 200 threads.
    assert rises.low == pytest.approx(math.log(1.2))
    assert family.truths(family.logs - 0.5 * (row @ family.logs) * row)[0] == "fails"


@pytest.mark.parametrize("noise", ["normal", "lognormal", "heavy tails", "bimodal"])
def test_noise_has_the_mean_and_the_spread_that_it_says(noise: str) -> None:
    found = repetition_noise.NOISE[noise](np.random.default_rng(1), np.full((20_000, 1), 0.05), 3)
    regimes = math.log(0.8) ** 2 * 0.21 if noise == "bimodal" else 0
    assert found.mean() == pytest.approx(0, abs=0.003)
    assert found.std() == pytest.approx(math.sqrt(0.05**2 + regimes), rel=0.1)


def test_drift_loses_two_percent_each_time() -> None:
    found = repetition_noise.drift(np.random.default_rng(1), np.full((20_000, 1), 0.05), 4)
    assert found.mean(axis=0) == pytest.approx(math.log(0.98) * np.arange(4), abs=0.002)


def test_one_odd_cell_leaves_the_others_as_they_are(family: ClaimFamily) -> None:
    found = Setting("drift", "one cell", 7, 0.001).deviations(family, np.random.default_rng(1))
    drifting = found[:, -1] < -0.1
    # Its rate and its latency.
    assert drifting.sum() == 2
    assert len(set(family.cells[drifting])) == 1


@pytest.mark.parametrize(
    ("kind", "groups", "compared"),
    [
        # The four changes from one version to the other; in all else they cancel, or stand on one side alone.
        (
            "starts 10%",
            2,
            ["change-point-select", "change-read-write", "change-update-index", "change-update-non-index"],
        ),
        # The order of the workloads, four steps, and what an index costs with three numbers of threads.
        ("tables 3%", 5, ["index-costs"] * 3 + ["order-at-100"] * 4),
    ],
)
def test_what_moves_together_is_in_the_comparisons_that_hold_it(kind: str, groups: int, compared: list[str]) -> None:
    setting = Setting("normal", kind, 7, 0.001)
    data = published.load(setting.report)
    family, claims = claim_family.of_report(data), load(data)
    assert claims is not None
    found = setting.deviations(family, np.random.default_rng(1))
    towards_slower = np.where(family.times[:, None], -found, found)
    together = np.corrcoef(towards_slower) > 0.99
    assert together.sum(axis=1).tolist() == [family.logs.size / groups] * family.logs.size
    ids = [claim.id for claim, parts in zip(claims.claims, family.claims, strict=True) for _ in parts]
    assert sorted(np.array(ids)[setting.counted(family)]) == compared


def test_shocks_are_as_large_as_their_kind_says(family: ClaimFamily) -> None:
    found = Setting("normal", "tables 10%", 20_000, 0.001).deviations(family, np.random.default_rng(1))
    assert found.std(axis=1) == pytest.approx(np.full(30, 0.1), rel=0.03)


def test_campaigns_whose_tables_move_together_are_counted() -> None:
    row, leanings = verdicts_bench.measured(Setting("normal", "tables 10%", 3, 0.03), campaigns=8)
    assert row["cover95_after"] > 0.7
    assert set(leanings.kind) == {"tables 10%"}


def test_a_setting_is_counted_before_and_after() -> None:
    row, leanings = verdicts_bench.measured(Setting("normal", "all cells", 3, 0.03), campaigns=8)
    assert row["found_after"] > row["found_before"] + 0.2
    assert 0.85 < row["cover95_after"] <= 1
    assert row["wrong_after"] <= 0.5
    assert len(leanings) == 2 * 16
    bins = verdicts_bench.calibration(pd.concat([leanings] * 2))
    assert bins.claims.sum() == 4 * 16
    assert (bins.given.diff().dropna() > 0).all()


def test_campaigns_that_differ_by_themselves_are_called_different_without_a_history() -> None:
    found = {
        (between, history): null_comparisons_bench.measured(NullSetting(between, True, history), comparisons=4)
        for between, history in ((0.0, 0), (0.03, 0), (0.03, 6))
    }
    assert found[0.0, 0]["different"] == found[0.03, 6]["different"] == 0
    assert found[0.03, 0]["different"] >= 0.75
    assert found[0.0, 0]["cells"] > 0.9
