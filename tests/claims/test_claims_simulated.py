"""How often verdicts, intervals and leanings are right when the truth is known; n, spread and shape of noise vary."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from toy_report import ledger, published_toy

from benchbook.claims import judge, spreads, together
from benchbook.claims.decide import decide, leaning
from benchbook.claims.evidence import Evidence
from benchbook.claims.figure_spreads import RepeatedFigures
from benchbook.claims.hypothesis import Arm
from benchbook.claims.parts import Part, Spread, at_least, interval, probability_inside, within
from benchbook.claims.terms import Term
from benchbook.published.tables import Field, Published
from benchbook.stats.estimates import Array

CLAIMS = 16
EDGE, TRUE = math.log(1.2), math.log(1.6)
TERMS = (Term("a", "y", {}), Term("a", "y", {}))
Noise = Callable[[np.random.Generator, tuple[int, ...]], Array]


def _lognormal(rng: np.random.Generator, size: tuple[int, ...]) -> Array:
    """Skewed on the log scale as well, with mean 0 and variance 1."""
    skewed = np.exp(0.5 * rng.standard_normal(size))
    return (skewed - math.exp(0.125)) / math.sqrt(math.exp(0.25) * (math.exp(0.25) - 1))


def _bimodal(rng: np.random.Generator, size: tuple[int, ...]) -> Array:
    """70% in one regime, 30% in another, three standard deviations of a regime apart."""
    slow = (rng.random(size) < 0.3) - 0.3
    return (3 * slow + rng.standard_normal(size)) / math.sqrt(9 * 0.21 + 1)


def _drift(rng: np.random.Generator, size: tuple[int, ...]) -> Array:
    """Each repetition half a standard deviation below the one before, in every cell alike."""
    return rng.standard_normal(size) - 0.5 * np.arange(size[-1])


NOISE: dict[str, Noise] = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "lognormal": _lognormal,
    "bimodal": _bimodal,
    "heavy tails": lambda rng, size: rng.standard_t(3, size) / math.sqrt(3),
    "drift": _drift,
}


def campaign(rng: np.random.Generator, noise: Noise, n: int, cv: float, truth: float) -> list[Part]:
    """Effects of one campaign: cells of unlike spread (0.7 to 1.4 of `cv`), each compared with one of its like."""
    spread = cv * np.exp(rng.uniform(-0.35, 0.35, (CLAIMS, 1)))
    effects = truth + spread * (noise(rng, (CLAIMS, n)) - noise(rng, (CLAIMS, n)))
    return [Part(f"part {i}", row, *at_least(1.2), terms=TERMS) for i, row in enumerate(effects)]


def never(*_: object) -> Any:
    """These parts are not known to be made of figures: each has the spread of its own effects, and of its like."""
    raise AssertionError


UNASKED = RepeatedFigures(never, lambda _: False, lambda _: "s")


def borrowed(parts: list[Part], published: Published) -> list[Part]:
    return [part for (part,) in spreads.moderated([[part] for part in parts], published, UNASKED)]


def table(noise: str, n: int, cv: float, campaigns: int, *, moderate: bool) -> dict[str, float]:
    """Coverage of 95% and 99.7% intervals, their factor each way, campaigns with a false verdict, true claims found."""
    rng, published, rows = np.random.default_rng(n), published_toy(), []
    for _ in range(campaigns):
        at_edge, true = (campaign(rng, NOISE[noise], n, cv, truth) for truth in (EDGE, TRUE))
        if moderate:
            at_edge, true = borrowed(at_edge, published), borrowed(true, published)
        bounds = [interval(part, 0.003) for part in at_edge]
        rows.append(
            {
                "cover 95": np.mean([low <= EDGE <= high for low, high in (interval(p, 0.05) for p in at_edge)]),
                "cover 99.7": np.mean([low <= EDGE <= high for low, high in bounds]),
                "factor": math.exp(np.median([(high - low) / 2 for low, high in bounds])),
                "false": any(d.verdict != "inconclusive" for d in decide([[part] for part in at_edge])),
                "found": np.mean([d.verdict == "reproduced" for d in decide([[part] for part in true])]),
            }
        )
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


@pytest.mark.parametrize("noise", ["normal", "lognormal", "drift"])
def test_borrowed_spreads_cover_and_find_what_own_ones_leave_open(noise: str) -> None:
    before, after = (table(noise, 3, 0.1, 40, moderate=moderate) for moderate in (False, True))
    assert after["cover 99.7"] >= 0.985
    assert after["false"] <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 40)
    assert after["factor"] < 1.5 < before["factor"] / 1.5
    assert after["found"] > before["found"] + 0.2


def test_of_claims_given_a_leaning_as_many_hold() -> None:
    # Truths spread evenly and wide, as the flat prior has them; three repetitions, some claims of several parts.
    rng, published = np.random.default_rng(7), published_toy()
    given, held = [], []
    for _ in range(60):
        truth = rng.uniform(-0.6, 0.6, (CLAIMS, 3))
        values = truth[:, :, None] + 0.1 * rng.standard_normal((CLAIMS, 3, 3))
        regions = [at_least(1.0), within(0.25), at_least(1.2)]
        claims = [
            [Part("p", row[k], *region, terms=TERMS) for k, region in enumerate(regions[: 1 + i % 3])]
            for i, row in enumerate(values)
        ]
        found = spreads.moderated(claims, published, UNASKED)
        given += [leaning(parts) for parts in found]
        held += [all(p.inside(t[k]) for k, p in enumerate(parts)) for parts, t in zip(found, truth, strict=True)]
    bins = pd.DataFrame({"given": given, "held": held}).groupby(pd.cut(given, np.linspace(0, 1, 11)), observed=True)
    for _, bin in bins:
        room = 3 * math.sqrt(max(bin.given.mean() * (1 - bin.given.mean()), 0.01) / len(bin)) + 0.03
        assert bin.held.mean() == pytest.approx(bin.given.mean(), abs=room), bin.describe()


def test_a_leaning_by_hand() -> None:
    # Mean 0.1, standard error 0.1, 4 degrees of freedom: P(effect > 0) = P(t4 < 1) = 0.8130; two such parts: 0.6610.
    part = Part("p", np.full(4, 0.1), 0.0, borrowed=Spread(0.04, 4))
    assert probability_inside(part) == pytest.approx(0.8130, abs=1e-4)
    assert leaning([part, part]) == pytest.approx(0.8130**2, abs=1e-4)
    assert math.isnan(leaning([part, Part("q", np.array([0.1]), 0.0)]))


def settings(rng: np.random.Generator, rise: float, n: int) -> Evidence:
    """Eleven settings whose two metrics share 3% of noise in each trial and have 1% of their own."""
    rows = []
    for repetition in range(1, n + 1):
        shared = 0.03 * rng.standard_normal(11)
        y, z = (np.exp(rise * np.arange(11) + shared + 0.01 * rng.standard_normal(11)) for _ in "yz")
        rows.append(pd.DataFrame({"x": range(11), "y": y, "z": z, "system": "s", "repetition": repetition}))
    return Evidence({"a": pd.concat(rows)}, ["s"])


@pytest.mark.parametrize("n", [3, 5])
def test_noise_that_two_metrics_share_is_no_correlation(n: int) -> None:
    claim = {"hypothesis": "correlates", "tables": ["a"], "x": "y", "y": "z"}
    rng, toy, found = np.random.default_rng(n), published_toy(), ledger(claim)
    verdicts = {
        rise: [
            judge.judge(found, toy, settings(rng, rise, n), judge.JudgedSystem("s"))[0].verdict for _ in range(count)
        ]
        for rise, count in ((0.0, 60), (0.1, 10))
    }
    assert verdicts[0.0].count("reproduced") / 60 <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 60)
    assert verdicts[0.1].count("reproduced") >= 9


def test_taus_that_share_a_repetition_are_not_taken_for_independent() -> None:
    # Two metrics that rise alike over eleven settings, whose noise in a trial is the same: three repetitions.
    rng, toy, truth = np.random.default_rng(4), published_toy(), 0.34
    claim = ledger({"hypothesis": "correlates", "tables": ["a"], "x": "y", "y": "z"}).claims[0]
    missed = []
    for _ in range(300):
        logs = np.linspace(-1, 1, 11)[:, None] + 0.7 * rng.standard_normal((11, 3))
        rows = [{"x": x, "repetition": r, "y": math.exp(v)} for x, row in enumerate(logs) for r, v in enumerate(row)]
        frame = pd.DataFrame(rows).assign(system="s", z=lambda f: f.y)
        (part,) = claim.parts(Arm(toy, Evidence({"a": frame}, ["s"]), "s"))
        low, high = interval(part, 0.05)
        missed.append(not low <= truth <= high)
    assert np.mean(missed) <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 300)


def test_taus_by_hand() -> None:
    # Three repetitions; each pair of them has one tau both ways: 0.2, 0.4, 0.9, whose mean is 0.5.
    taus = np.array([[math.nan, 0.2, 0.4], [0.2, math.nan, 0.9], [0.4, 0.9, math.nan]])
    # Without the first there is 0.9: 3 x 0.5 - 2 x 0.9; without the second 0.4, without the third 0.2.
    assert together._by_repetition(taus) == pytest.approx([-0.3, 0.7, 1.1])
    assert together._by_repetition(taus[:2, :2]) == pytest.approx([0.2])


def bucketed(rng: np.random.Generator, ratio: float) -> dict[str, Any]:
    step = math.log(1e8) / 1023
    levels = {x: 5.0 * (ratio if x == 8 else 1.0) * math.exp(rng.uniform(0, step)) for x in (1, 2, 4, 8)}
    return {x: round(0.001 * math.exp(math.ceil(math.log(v / 0.001) / step) * step), 2) for x, v in levels.items()}


def test_latencies_in_buckets_decide_nothing_within_a_bucket() -> None:
    # The true ratio lies on the bound of the claim, repetitions vary less than a bucket is wide: all print alike.
    toy = published_toy()
    for frame_table in toy.tables.values():
        fields = cast(dict[str, Field], frame_table.fields)
        fields["y"] = replace(fields["y"], unit="ms")
    claim = {"hypothesis": "ratio", "table": "a", "metric": "y", "rows": {"x": 8}, "over": {"rows": {"x": 1}},
             "tolerance": 0.2}  # fmt: skip
    rng, wrong = np.random.default_rng(3), 0
    for _ in range(100):
        values = bucketed(rng, 3.06 * 0.8)
        frame = pd.DataFrame({"x": list(values), "y": list(values.values())})
        found = Evidence({"a": pd.concat([frame.assign(system="s", repetition=r) for r in (1, 2, 3)])}, ["s"])
        (judged,) = judge.judge(ledger(claim), toy, found, judge.JudgedSystem("s"))
        assert cast(float, judged.p_value) > 0
        wrong += judged.verdict != "inconclusive"
    assert wrong <= 5
