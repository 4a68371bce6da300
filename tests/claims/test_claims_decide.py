"""Verdicts from parts: by hand, and by how often they are wrong when the truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from toy_report import evidence, ledger

from benchbook.claims import judge, section, words
from benchbook.claims.decide import decide
from benchbook.claims.parts import Part, at_least, interval, p_inside, p_outside, within
from benchbook.published.tables import Published

LOGS = np.log([1.9, 2.0, 2.1])


def part(effects: object, region: tuple[float, float] = (0.0, math.inf), **more: object) -> Part:
    return Part("a against b", np.asarray(effects, dtype=float), *region, **more)  # type: ignore[arg-type]


def test_interval_and_p_values_are_those_of_a_t_test_on_logs() -> None:
    against = stats.ttest_1samp(LOGS, math.log(1.5), alternative="greater")
    assert p_inside(part(LOGS, at_least(1.5))) == pytest.approx(against.pvalue)
    assert p_outside(part(LOGS, at_least(1.5))) == pytest.approx(1 - against.pvalue)
    expected = stats.ttest_1samp(LOGS, 0.0).confidence_interval(0.99)
    assert interval(part(LOGS), 0.01) == pytest.approx((expected.low, expected.high))


def test_equivalence_needs_both_one_sided_tests() -> None:
    low, high = within(0.2, of=2.0)
    assert (math.exp(low), math.exp(high)) == pytest.approx((1.6, 2.5))
    below = stats.ttest_1samp(LOGS, low, alternative="greater").pvalue
    above = stats.ttest_1samp(LOGS, high, alternative="less").pvalue
    assert p_inside(part(LOGS, (low, high))) == pytest.approx(max(below, above))


def test_one_claim_by_hand() -> None:
    # Logs of 1.9, 2.0, 2.1: mean 0.692313, sd 0.050047, so t = 0.692313 / (0.050047 / sqrt 3) = 23.960 on 2 degrees.
    (found,) = decide([[part(LOGS)]])
    assert found.verdict == "reproduced"
    assert found.p_value == pytest.approx(2 * stats.t.sf(23.960, 2), rel=1e-3)
    (found,) = decide([[part(-LOGS)]])
    assert found.verdict == "contradicted"


def test_an_interval_decides_alone_what_the_verdict_says() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        claims = [[part(mean + 0.05 * rng.standard_normal(4), within(0.1))] for mean in rng.uniform(-0.3, 0.3, 6)]
        for found in decide(claims):
            low, high = interval(found.part, found.alpha)
            inside, outside = (
                found.part.low < low and high < found.part.high,
                high < found.part.low or low > found.part.high,
            )
            expected = "reproduced" if inside else "contradicted" if outside else "inconclusive"
            assert found.verdict == expected


def test_holm_steps_down_over_the_claims_of_a_ledger() -> None:
    # One-sided p of 0.02, 0.0015 and 0.01 on 4 degrees of freedom: three times the least, twice the next, and the last
    # twice as well, so that its 95% interval lies in its region.
    shapes = np.array([-1, -0.5, 0, 0.5, 1]) / np.std([-1, -0.5, 0, 0.5, 1], ddof=1)
    effects = [shapes + stats.t.isf(p, 4) / math.sqrt(5) for p in (0.02, 0.0015, 0.01, 0.026)]
    third, first, second = decide([[part(e)] for e in effects[:3]])
    assert (first.p_value, second.p_value, third.p_value) == pytest.approx((0.0045, 0.02, 0.04))
    assert (first.alpha, second.alpha, third.alpha) == pytest.approx((0.1 / 3, 0.05, 0.05))
    assert {first.verdict, second.verdict, third.verdict} == {"reproduced"}
    assert decide([[part(effects[3])]])[0].verdict == "inconclusive"


def test_an_open_claim_names_the_comparison_that_speaks_against_it() -> None:
    """Shown by its ends, 1.45x where it needs 1.1x, a claim leant against, and nothing said why."""
    ends = part(np.log([1.1, 1.45, 1.45**2 / 1.1]), at_least(1.1), main=True)
    drop = part(np.log([0.75, 0.81, 0.81**2 / 0.75]), at_least(0.9))
    (found,) = decide([[ends, drop]])
    assert (found.verdict, found.part) == ("inconclusive", ends)
    assert found.leaning < 0.3
    said = words.sentence(found, "s", [ends, drop])
    assert "a against b, 1.45x (+45%)" in said
    assert "Against it speaks: a against b, 0.81x (-19%), where the claim needs more than 0.9x." in said
    (found,) = decide([[ends]])
    assert "Against it speaks" not in words.sentence(found, "s", [ends])


def test_every_part_must_hold_and_one_is_enough_to_contradict() -> None:
    good, open_ = part(LOGS, main=True), part([-0.1, 0.0, 0.12])
    assert decide([[good, good]])[0].verdict == "reproduced"
    undecided = decide([[good, open_]])[0]
    assert (undecided.verdict, undecided.part) == ("inconclusive", open_)
    broken = part(-LOGS)
    against = decide([[good, broken]])[0]
    assert (against.verdict, against.part) == ("contradicted", broken)
    assert against.p_value == pytest.approx(2 * 2 * p_outside(broken)), "two parts: Bonferroni"


def test_one_repetition_cannot_judge_and_does_not_count_for_the_others() -> None:
    alone, tested = decide([[part([0.7])], [part(LOGS)]])
    assert alone.verdict == "inconclusive"
    assert math.isnan(alone.p_value)
    assert tested.alpha == 0.05


def test_figures_that_repeat_exactly_are_decided_by_where_they_lie() -> None:
    same = [math.log(2.0)] * 3
    assert decide([[part(same, at_least(1.5))]])[0].verdict == "reproduced"
    assert decide([[part(same, at_least(2.5))]])[0].verdict == "contradicted"
    assert decide([[part(same, (math.log(2.0), math.inf))]])[0].verdict == "inconclusive"


def test_repetitions_needed_are_those_whose_interval_clears_the_bound() -> None:
    effects = np.array([-0.2, 0.3, 0.2])  # mean 0.1, sd 0.26458
    (found,) = decide([[part(effects)]])
    reach = [stats.t.ppf(0.975, n - 1) * 0.26458 / math.sqrt(n) for n in (found.needed - 1, found.needed)]
    assert found.verdict == "inconclusive"
    assert reach[0] >= 0.1 > reach[1]
    assert decide([[part([-1.0, 1.0, 0.01])]])[0].needed is None, "more than a hundred"


@pytest.mark.parametrize("repetitions", [3, 5])
def test_a_ledger_of_claims_that_do_not_hold_is_reproduced_in_at_most_five_percent(repetitions: int) -> None:
    # Every claim lies on the edge of its region, where a mistake is most likely; half of them share their noise.
    rng = np.random.default_rng(repetitions)
    wrong = sum("reproduced" in [d.verdict for d in decide(_edge_ledger(rng, repetitions))] for _ in range(1500))
    assert wrong / 1500 <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 1500)


@pytest.mark.parametrize("repetitions", [3, 5])
def test_a_ledger_of_claims_that_hold_is_contradicted_in_at_most_five_percent(repetitions: int) -> None:
    rng = np.random.default_rng(10 + repetitions)
    wrong = sum("contradicted" in [d.verdict for d in decide(_edge_ledger(rng, repetitions))] for _ in range(1500))
    assert wrong / 1500 <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 1500)


def _edge_ledger(rng: np.random.Generator, n: int) -> list[list[Part]]:
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
    for _ in range(100):
        flat = [part(0.03 * math.sqrt(2) * rng.standard_normal(5), at_least(1.2)) for _ in range(8)]
        rise = [part(math.log(1.6) + 0.03 * math.sqrt(2) * rng.standard_normal(5), at_least(1.2)) for _ in range(8)]
        verdicts = [d.verdict for d in decide([[p] for p in (*flat, *rise)])]
        decided["flat"] += verdicts[:8].count("contradicted")
        decided["rising"] += verdicts[8:].count("reproduced")
    assert decided["flat"] >= 0.9 * 800
    assert decided["rising"] >= 0.9 * 800


def test_what_is_judged_says_the_error_rate_of_its_ledger(toy: Published) -> None:
    rises = {"hypothesis": "increases", "table": "a", "metric": "y", "factor": "x"}
    strict = ledger(rises, {**rises, "table": "b"}).model_copy(update={"alpha": 0.005})
    found = judge.judge(strict, toy, evidence({"a": {"y": [100, 190, 300, 306]}}), judge.JudgedSystem("s"))
    assert {claim.verdict for claim in found} == {"reproduced", "not testable here"}
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
    assert words.number(value) == said
