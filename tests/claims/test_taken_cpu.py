"""CPU that others take: how much it is, what it does to figures, and that verdicts do not profit from it."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from toy_report import X, ledger, published_toy

from benchbook.analysis.results import JudgedClaim
from benchbook.campaign.validity import CpuTaken, TrialSamples, lost_share
from benchbook.claims import judge, taken_cpu
from benchbook.claims.evidence import Evidence, lost_beside
from benchbook.claims.terms import Term
from benchbook.stats.covariate import Slope, slope_within

BEFORE = Slope(-1.0, 2.0)


def cpu(host: str, t: float, **cores: float) -> list[tuple[float, str, str, str, float, str]]:
    return [(t, host, "host", f"cpu.{mode}", value, "cores") for mode, value in cores.items()]


def taken_in(*rows: tuple[float, str, str, str, float, str]) -> CpuTaken:
    """What others took from the load of the seconds 10 to 20, by these samples."""
    columns = ["t", "host", "source", "metric", "value", "unit"]
    return TrialSamples(10, 20, pd.DataFrame(rows, columns=columns), {}, {}).cpu_taken


def test_what_is_stolen_is_a_share_of_what_was_wanted_and_what_others_use_of_all_cores() -> None:
    found = taken_in(
        *cpu("a", 11, user=1.2, idle=0.4, steal=0.4),
        *cpu("a", 12, user=1.2, idle=0.4, steal=0.4),
        (11, "a", "others", "cpu", 0.6, "cores"),
        (12, "a", "others", "cpu", 0.6, "cores"),
        (12, "a", "others", "cpu.make", 0.2, "cores"),
        (12, "a", "others", "cpu.firefox", 0.4, "cores"),
        *cpu("a", 30, steal=2.0),
    )
    # Of 2 cores 1.6 were wanted, and 0.4 of them stolen.
    assert found == CpuTaken(stolen=pytest.approx(0.25), others=pytest.approx(0.3), program="firefox")
    assert found.lost == pytest.approx(0.25 + 0.3)


def test_the_machine_that_lost_most_speaks_for_the_trial() -> None:
    assert taken_in(*cpu("a", 11, user=2.0), *cpu("b", 11, user=1.0, steal=1.0)).stolen == 0.5
    assert taken_in() == CpuTaken()


def test_records_from_before_anybody_looked_say_nothing() -> None:
    assert (lost_share({}), lost_share({"stolen": 0.1}), lost_share({"stolen": 0.1, "lost": 0.3})) == (None, 0.1, 0.3)


def test_a_slope_within_cells_by_hand() -> None:
    # Two cells of six, far apart in y: x is -1 or 1 around each cell's mean, y goes -3 per x, with noise of +-0.1 that
    # is the same at both ends: Sxx = 12, noise = 12 * 0.01 / (12 - 2 - 1).
    x = np.tile([-1.0, -1, -1, 1, 1, 1], 2)
    noise = np.tile([0.1, -0.1, 0, 0.1, -0.1, 0], 2)
    frame = pd.DataFrame({"cell": np.repeat(["a", "b"], 6), "x": x + 5, "y": -3 * x + noise + np.repeat([0.0, 100], 6)})
    seen = 12 / (8 * 0.01 / 9)
    assert slope_within(frame, Slope(-1.0, 1e9)).value == pytest.approx(-3)
    assert slope_within(frame, Slope(-1.0, 1e9)).error == pytest.approx(seen**-0.5)
    drawn = slope_within(frame, Slope(0.0, seen**-0.5))
    assert (drawn.value, drawn.error) == (pytest.approx(-1.5), pytest.approx((2 * seen) ** -0.5))


def test_few_figures_or_a_covariate_that_never_changes_teach_nothing() -> None:
    few = pd.DataFrame({"cell": ["a"] * 5, "x": [0.0, 0.1, 0, 0.1, 0], "y": [0.0, -1, 0, -1, 0]})
    same = pd.DataFrame({"cell": np.repeat(["a", "b"], 10), "x": np.repeat([0.1, 0.3], 10), "y": np.arange(20.0)})
    assert slope_within(few, BEFORE) == BEFORE
    assert slope_within(same, BEFORE) == BEFORE


RISES = {"hypothesis": "increases", "table": "a", "metric": "y", "factor": "x", "levels": [1, 8], "at_least": 1.5}


def disturbed(seed: int, *, slope: float = -4.4, cv: float = 0.05, repetitions: int = 4) -> Evidence:
    """z is flat; in a quarter of the trials, in runs of three, others take 5 to 15% of the CPU."""
    rng = np.random.default_rng(seed)
    trials = repetitions * len(X)
    lost = np.repeat(rng.random(trials // 3 + 1) < 0.25, 3)[:trials] * rng.uniform(0.05, 0.15, trials)
    frame = pd.DataFrame({"x": np.tile(X, repetitions), "repetition": np.repeat(np.arange(repetitions) + 1, len(X))})
    frame["z"] = 10 * np.exp(slope * lost + cv * rng.standard_normal(trials))
    frame["y"] = frame["z"] * np.tile([10, 19, 30, 31], repetitions)
    frame[lost_beside("z")] = frame[lost_beside("y")] = lost
    return Evidence({"a": frame.assign(system="s")}, ["s"])


def judged(evidence: Evidence) -> JudgedClaim:
    return judge.judge(ledger(RISES), published_toy(), evidence, judge.JudgedSystem("s"))[0]


def blind(evidence: Evidence) -> Evidence:
    """The same without a word on what others took."""
    return Evidence({"a": evidence.frames["a"].drop(columns=[lost_beside("z"), lost_beside("y")])}, ["s"])


def width(claim: JudgedClaim) -> float:
    assert claim.interval
    low, high = claim.interval
    assert low
    assert high
    return math.log(high / low)


def test_a_truth_is_seen_more_sharply_through_what_others_took() -> None:
    truths = [disturbed(seed) for seed in range(20)]
    seen = [judged(evidence) for evidence in truths]
    assert "contradicted" not in [claim.verdict for claim in seen]
    # y is 3.1 times as high at x = 8 as at x = 1.
    assert sum(claim.interval[0] < 3.1 < claim.interval[1] for claim in seen if claim.interval) == len(seen)
    narrower = [width(claim) / width(judged(blind(evidence))) for claim, evidence in zip(seen, truths, strict=True)]
    assert np.median(narrower) < 0.8


def test_the_sentence_says_what_was_recorded() -> None:
    with_loss = disturbed(3)
    frame = with_loss.frames["a"]
    frame.loc[frame["x"] == 8, ["y", lost_beside("y")]] = [310 * math.exp(-0.44), 0.1]
    claim = judge.judge(ledger(RISES), published_toy(), with_loss, judge.JudgedSystem("s"))[0]
    assert "Corrected for CPU that other programs or virtual machines took; as recorded: " in claim.sentence


def test_steps_of_rounding_are_those_of_the_figures_as_recorded() -> None:
    """Corrected, whole numbers have sixteen digits: then three equal differences had an interval of no width."""
    evidence = disturbed(1)
    evidence.frames["a"]["y"] = evidence.frames["a"]["y"].round()
    toy = published_toy()
    found = taken_cpu.corrected(evidence, toy)
    terms = [Term("a", "y", {"x": 1})]
    mean = float(found.without.values(terms[0], "s").mean())
    # A step of w has the variance w^2 / 12 (Sheppard).
    assert judge.Arm(toy, found.without, "s").resolution(terms) == pytest.approx(1 / 12 / mean**2)


def test_nothing_is_corrected_where_nobody_took_anything() -> None:
    quiet = disturbed(1)
    for name in ("y", "z"):
        quiet.frames["a"][lost_beside(name)] = 0.0
    found = taken_cpu.corrected(quiet, published_toy())
    assert found.without is quiet
    assert not found.further


def test_two_figures_of_one_trial_teach_no_more_than_one() -> None:
    """y is a multiple of z in every trial: a trial saw its share of CPU go once."""
    both = disturbed(1)
    alone = Evidence({"a": both.frames["a"].drop(columns=["z", lost_beside("z")])}, ["s"])
    of_both, of_one = (taken_cpu.correction(found, published_toy()).slopes["a", "rates"] for found in (both, alone))
    assert (of_both.value, of_both.error) == (pytest.approx(of_one.value), pytest.approx(of_one.error))


def test_the_doubt_of_a_correction_does_not_average_out() -> None:
    toy, evidence = published_toy(), disturbed(1)
    found = taken_cpu.corrected(evidence, toy)
    claim = ledger(RISES).claims[0]
    part = found.parts(claim.parts, judge.Arm(toy, found.without, "s"))[0]
    slope = found.how.slopes["a", taken_cpu.RATES]
    lost = evidence.frames["a"].groupby("x")[lost_beside("y")].mean()
    cells = math.hypot(*(taken_cpu.CELLS_DIFFER * slope.value * lost[x] for x in (8, 1)))
    assert part.correction_error == pytest.approx(math.hypot(slope.error * (lost[8] - lost[1]), cells))
    assert part.error_of(10**6) == pytest.approx(part.correction_error, rel=1e-2)
    assert slope.value == pytest.approx(-4.4, abs=4 * slope.error)
