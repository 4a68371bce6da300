"""Verdicts from parts: by hand, and by how often they are wrong when the truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from toy_report import evidence, ledger

from benchbook.claims import judge, section, verdict_text
from benchbook.claims.contrasts import Contrast, at_least, within
from benchbook.claims.decisions import decide
from benchbook.published.tables import Published

LOGS = np.log([1.9, 2.0, 2.1])


def part(effects: object, region: tuple[float, float] = (0.0, math.inf), **more: object) -> Contrast:
    return Contrast("a against b", np.asarray(effects, dtype=float), *region, **more)  # type: ignore[arg-type]


def test_interval_and_p_values_are_those_of_a_t_test_on_logs() -> None:
    against = stats.ttest_1samp(LOGS, math.log(1.5), alternative="greater")
    assert part(LOGS, at_least(1.5)).p_inside() == pytest.approx(against.pvalue)
    assert part(LOGS, at_least(1.5)).p_outside() == pytest.approx(1 - against.pvalue)
    expected = stats.ttest_1samp(LOGS, 0.0).confidence_interval(0.99)
    assert part(LOGS).interval(0.01) == pytest.approx((expected.low, expected.high))


def test_equivalence_needs_both_one_sided_tests() -> None:
    low, high = within(0.2, of=math.log(2))
    assert (math.exp(low), math.exp(high)) == pytest.approx((1.6, 2.5))
    below = stats.ttest_1samp(LOGS, low, alternative="greater").pvalue
    above = stats.ttest_1samp(LOGS, high, alternative="less").pvalue
    assert part(LOGS, (low, high)).p_inside() == pytest.approx(max(below, above))


def test_one_claim_by_hand() -> None:
    # Logs of 1.9, 2.0, 2.1: mean 0.692313, sd 0.050047, so t = 0.692313 / (0.050047 / sqrt 3) = 23.960 on 2 degrees.
    (found,) = decide([[part(LOGS)]])
    assert found.here == "holds"
    assert found.p_value == pytest.approx(2 * stats.t.sf(23.960, 2), rel=1e-3)
    (found,) = decide([[part(-LOGS)]])
    assert found.here == "fails"


def test_an_interval_decides_alone_what_the_verdict_says() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        claims = [[part(mean + 0.05 * rng.standard_normal(4), within(0.1))] for mean in rng.uniform(-0.3, 0.3, 6)]
        for found in decide(claims):
            low, high = found.shown.interval(found.alpha)
            inside, outside = (
                found.shown.low < low and high < found.shown.high,
                high < found.shown.low or low > found.shown.high,
            )
            expected = "holds" if inside else "fails" if outside else "open"
            assert found.here == expected


def test_holm_steps_down_over_the_claims_of_a_ledger() -> None:
    # One-sided p of 0.02, 0.0015 and 0.01 on 4 degrees of freedom: three times the least, twice the next, and the last
    # twice as well, so that its 95% interval lies in its region.
    shapes = np.array([-1, -0.5, 0, 0.5, 1]) / np.std([-1, -0.5, 0, 0.5, 1], ddof=1)
    effects = [shapes + stats.t.isf(p, 4) / math.sqrt(5) for p in (0.02, 0.0015, 0.01, 0.026)]
    third, first, second = decide([[part(e)] for e in effects[:3]])
    assert (first.p_value, second.p_value, third.p_value) == pytest.approx((0.0045, 0.02, 0.04))
    assert (first.alpha, second.alpha, third.alpha) == pytest.approx((0.1 / 3, 0.05, 0.05))
    assert {first.here, second.here, third.here} == {"holds"}
    assert decide([[part(effects[3])]])[0].here == "open"


def test_every_part_must_hold_and_one_is_enough_to_contradict() -> None:
    good, open_ = part(LOGS), part([-0.1, 0.0, 0.12])
    assert decide([[good, good]])[0].here == "holds"
    undecided = decide([[good, open_]])[0]
    assert (undecided.here, undecided.shown) == ("open", open_)
    broken = part(-LOGS)
    against = decide([[good, broken]])[0]
    assert (against.here, against.shown) == ("fails", broken)
    assert against.p_value == pytest.approx(2 * 2 * broken.p_outside()), "two parts: Bonferroni"


def test_one_repetition_cannot_judge_and_does_not_count_for_the_others() -> None:
    alone, tested = decide([[part([0.7])], [part(LOGS)]])
    assert alone.here == "open"
    assert math.isnan(alone.p_value)
    assert tested.alpha == 0.05


def test_figures_that_repeat_exactly_are_decided_by_where_they_lie() -> None:
    same = [math.log(2.0)] * 3
    assert decide([[part(same, at_least(1.5))]])[0].here == "holds"
    assert decide([[part(same, at_least(2.5))]])[0].here == "fails"
    assert decide([[part(same, (math.log(2.0), math.inf))]])[0].here == "open"


def test_repetitions_needed_are_those_whose_interval_clears_the_bound() -> None:
    effects = np.array([-0.2, 0.3, 0.2])  # mean 0.1, sd 0.26458
    (found,) = decide([[part(effects)]])
    reach = [stats.t.ppf(0.975, n - 1) * 0.26458 / math.sqrt(n) for n in (found.needed - 1, found.needed)]
    assert found.here == "open"
    assert reach[0] >= 0.1 > reach[1]
    assert decide([[part([-1.0, 1.0, 0.01])]])[0].needed is None, "more than a hundred"


@pytest.mark.parametrize("repetitions", [3, 5])
def test_a_ledger_of_claims_that_do_not_hold_is_reproduced_in_at_most_five_percent(repetitions: int) -> None:
    # Every claim lies on the edge of its region, where a mistake is most likely; half of them share their noise.
    rng = np.random.default_rng(repetitions)
    wrong = sum("holds" in [d.here for d in decide(_edge_ledger(rng, repetitions))] for _ in range(200))
    assert wrong / 200 <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize("repetitions", [3, 5])
def test_a_ledger_of_claims_that_hold_is_contradicted_in_at_most_five_percent(repetitions: int) -> None:
    rng = np.random.default_rng(10 + repetitions)
    wrong = sum("fails" in [d.here for d in decide(_edge_ledger(rng, repetitions))] for _ in range(200))
    assert wrong / 200 <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 200)


def _edge_ledger(rng: np.random.Generator, n: int) -> list[list[Contrast]]:
    shared = rng.standard_normal(n)
    noise = [0.05 * (own + 0.7 * shared) for own in rng.standard_normal((10, n))]
    wide = within(0.2)
    return [
        *([part(e + math.log(1.2), at_least(1.2))] for e in noise[:4]),
        [part(noise[4] + wide[0], wide)], [part(noise[5] + wide[1], wide)],
        [part(noise[6]), part(noise[7] + 1)], [part(noise[8]), part(noise[9])],
    ]  # fmt: skip


def test_at_lab_a_flat_curve_contradicts_a_rise_and_a_rising_one_reproduces_it() -> None:
    # Five repetitions, 3% between them, sixteen claims: the ledger of the sysbench report on a saturated machine.
    rng = np.random.default_rng(5)
    decided = {"flat": 0, "rising": 0}
    for _ in range(30):
        flat = [part(0.03 * math.sqrt(2) * rng.standard_normal(5), at_least(1.2)) for _ in range(8)]
        rise = [part(math.log(1.6) + 0.03 * math.sqrt(2) * rng.standard_normal(5), at_least(1.2)) for _ in range(8)]
        verdicts = [d.here for d in decide([[p] for p in (*flat, *rise)])]
        decided["flat"] += verdicts[:8].count("fails")
        decided["rising"] += verdicts[8:].count("holds")
    assert decided["flat"] >= 0.9 * 240
    assert decided["rising"] >= 0.9 * 240


def test_what_is_judged_says_the_error_rate_of_its_ledger(toy: Published) -> None:
    rises = {"hypothesis": "increases", "table": "a", "metric": "y", "factor": "x"}
    strict = ledger(rises, {**rises, "table": "b"}).model_copy(update={"alpha": 0.005})
    found = judge.judge(strict, toy, evidence({"a": {"y": [100, 190, 300, 306]}}), judge.JudgedSystem("s"))
    assert [claim.here for claim in found] == ["holds", None]
    assert [claim.alpha for claim in found] == [0.005, 0.005]
    assert section.error_rate(found) == "0.5%"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (999.4, "999"),
        (999.7, "1,000"),
        (1000, "1,000"),
        (1000.1, "over 1,000"),
        (0.0001, "under 0.001"),
        (-0.25, "-0.25"),
    ],
)
def test_numbers_have_three_digits_and_no_exponent(value: float, said: str) -> None:
    assert verdict_text.number(value) == said
