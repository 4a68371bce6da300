"""Each hypothesis on a toy report: true evidence reproduces it, false evidence contradicts it."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from toy_report import evidence, ledger, published_toy

from benchbook.claims import judge
from benchbook.claims.evidence import Evidence
from benchbook.published.report_file import TableDesign
from benchbook.published.tables import Published

FLAT, RISE, SATURATED, PEAK = [100.0] * 4, [100.0, 160, 240, 350], [100.0, 190, 300, 306], [100.0, 150, 200, 120]
HALF = [y / 2 for y in SATURATED]


def y(values: list[float], other: list[float] = HALF) -> dict[str, dict[str, list[float]]]:
    return {"a": {"y": values, "z": FLAT}, "b": {"y": other, "z": RISE}}


ALONG = {"table": "a", "metric": "y", "factor": "x"}
OVER = {"table": "b", "metric": "y", "over": {"table": "a"}, "factor": "x"}
RATIO = {"hypothesis": "ratio", "table": "a", "metric": "y", "rows": {"x": 8}, "over": {"rows": {"x": 1}},
         "tolerance": 0.2}  # fmt: skip
ORDER = {"hypothesis": "order", "figures": [
    {"table": "a", "metric": "y", "rows": {"x": 8}}, {"table": "a", "metric": "y", "rows": {"x": 1}},
    {"table": "b", "metric": "y", "rows": {"x": 1}}]}  # fmt: skip
DOMINATES = {"hypothesis": "dominates", "figure": {"table": "a", "metric": "y"},
             "above": [{"table": "b", "metric": "y"}], "factor": "x"}  # fmt: skip
CASES: list[Any] = [
    ({"hypothesis": "increases", "at_least": 1.2, **ALONG}, y(RISE), [y(FLAT), y(RISE[::-1])], 3.5),
    ({"hypothesis": "increases", **ALONG}, y(RISE), [y(RISE[::-1])], 3.5),
    ({"hypothesis": "decreases", "at_least": 1.2, **ALONG}, y(RISE[::-1]), [y(FLAT), y(RISE)], 1 / 3.5),
    ({"hypothesis": "flat", "tolerance": 0.2, **ALONG}, y(FLAT), [y(RISE), y(PEAK)], 1.0),
    ({"hypothesis": "decreases", "at_least": 1.1, **OVER}, y(RISE, [50.0, 70, 90, 110]),
     [y(RISE, [50.0, 50, 50, 300])], 110 / 350 / (50 / 100)),
    ({"hypothesis": "saturates_at", "at": 4, "tolerance": 0.15, **ALONG}, y(SATURATED), [y(RISE), y(FLAT)], None),
    ({"hypothesis": "saturates_at", "at": 2, "until": 4, "falls": True, "tolerance": 0.15, **ALONG},
     y([100.0, 200, 200, 120]), [y([100.0, 200, 200, 260]), y([100.0, 200, 120, 100])], None),
    ({"hypothesis": "peak_at", "at": 4, "inside": True, **ALONG}, y(PEAK), [y(RISE), y([100.0, 100, 80, 100])], None),
    ({"hypothesis": "peak_at", "at": 4, "tolerance": 0.1, **ALONG}, y(SATURATED), [y(RISE)], None),
    (RATIO, y(SATURATED), [y(FLAT), y([100.0, 200, 400, 800])], 3.06),
    (ORDER, y(SATURATED), [y(RISE[::-1]), y(SATURATED, [400.0] * 4)], None),
    (DOMINATES, y(RISE), [y(RISE, [50.0, 80, 400, 100])], None),
    ({**DOMINATES, "at_least": 1.5}, y(RISE), [y(RISE, [80.0, 130, 190, 280])], None),
    ({"hypothesis": "correlates", "tables": ["a", "b"], "x": "y", "y": "z"},
     {"a": {"y": RISE, "z": RISE}, "b": {"y": HALF, "z": HALF}}, [{"a": {"y": RISE, "z": RISE[::-1]}}], None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("claim", "true", "false", "effect"), CASES, ids=lambda v: v.get("hypothesis", "") if isinstance(v, dict) else ""
)
def test_truth_is_told_from_its_opposite(
    judged: Callable[..., Any], claim: dict[str, Any], true: Any, false: list[Any], effect: float | None
) -> None:
    found = [judged(claim, true, seed=seed) for seed in range(2)]
    assert [f.here for f in found].count("holds") == 2, [f.sentence for f in found]
    for opposite in false:
        against = [judged(claim, opposite, seed=seed) for seed in range(2)]
        assert [f.here for f in against].count("fails") == 2, [f.sentence for f in against]
    if effect is not None:
        assert np.mean([f.effect for f in found]) == pytest.approx(effect, rel=0.05)


def test_what_a_repetition_shares_cancels(judged: Callable[..., Any]) -> None:
    # Repetitions differ by 20%, cells within one by 0.1%: only a comparison within repetitions sees 3.5 that sharply.
    found = judged({"hypothesis": "increases", **ALONG}, y(RISE), cv=0.001)
    low, high = found.interval
    assert 3.49 < low < 3.5 < high < 3.51 or low == pytest.approx(high, rel=0.01)
    assert (found.n, found.unit, found.region) == (5, "times", (1.0, None))


def test_a_published_ratio_is_taken_from_the_table(judged: Callable[..., Any]) -> None:
    found = judged(RATIO, y(FLAT))
    assert found.published == pytest.approx(306 / 100)
    assert found.region == pytest.approx((3.06 * 0.8, 3.06 / 0.8))


def test_arithmetic_over_columns_and_levels(judged: Callable[..., Any]) -> None:
    claim = {"hypothesis": "flat", "tolerance": 0.1, **ALONG, "metric": "y / x"}
    assert judged(claim, y([100.0, 200, 400, 800])).here == "holds"
    assert judged(claim, y(FLAT)).here == "fails"


def test_one_repetition_is_inconclusive_and_says_so(judged: Callable[..., Any]) -> None:
    found = judged(RATIO, y(SATURATED), repetitions=1)
    assert (found.here, found.n, found.interval, found.p_value) == ("open", 1, None, None)
    assert "one repetition, which cannot judge" in found.sentence
    assert "lab profile" in found.decide


def test_what_was_not_measured_is_not_run_and_named(judged: Callable[..., Any]) -> None:
    found = judged(RATIO, {"b": {"y": FLAT, "z": FLAT}})
    assert (found.verdict, found.sentence) == (
        "not run", "Not run: no trial of table a was measured.",
    )  # fmt: skip
    assert found.effect is None
    zero = judged(RATIO, y([0.0, 0, 0, 0]))
    assert "measured as 0" in zero.sentence
    assert zero.decide == "repetitions in which it is above 0, as longer loads may bring"


def test_a_rise_over_a_level_that_was_not_measured_is_not_run(toy: Published) -> None:
    """Only its ends are compared, but the claim is about all levels between them."""
    found = evidence(y(RISE))
    frame = found.frames["a"]
    found.frames["a"] = frame[frame.x != 4]
    (claim,) = judge.judge(ledger({"hypothesis": "increases", **ALONG}), toy, found, judge.JudgedSystem("s"))
    assert (claim.verdict, claim.sentence) == ("not run", "Not run: y of a at x 4 was not measured.")


def test_what_a_claim_is_about_need_not_be_run(judged: Callable[..., Any], toy: Published) -> None:
    condition = {"systems": ["s"], "why": "it has no threads", "needs": "another system"}
    found = judged({**RATIO, "not_run": [condition]}, y(SATURATED))
    assert (found.verdict, found.here, found.speaks, found.reason) == (
        "not run",
        "holds",
        "nothing",
        "it has no threads",
    )
    assert judged({**RATIO, "not_run": [{**condition, "systems": ["t"]}]}, y(SATURATED)).here == "holds"


@pytest.mark.parametrize(
    ("condition", "asked", "applies"),
    [({}, {}, True), ({"asked": ["rate"]}, {"rate": 0}, False), ({"asked": ["rate"]}, {"rate": 1500}, True),
     ({"profiles": ["smoke"]}, {"profile": "lab"}, False), ({"profiles": ["smoke"], "asked": ["rate"]},
      {"profile": "smoke", "rate": 0}, False),
     ({"below": {"time_s": 30}}, {"time_s": 2}, True), ({"below": {"time_s": 30}}, {"time_s": 30}, False),
     ({"below": {"time_s": 30}}, {}, False)],
)  # fmt: skip
def test_all_of_a_condition_must_hold(
    one: Callable[..., Any], condition: dict[str, Any], asked: dict[str, Any], applies: bool
) -> None:
    claim = one({**RATIO, "not_run": [{**condition, "why": "w"}]})
    assert claim.not_run[0].applies("s", asked) is applies


def test_a_repetition_that_lacks_a_cell_does_not_count(toy: Published, one: Callable[..., Any]) -> None:
    found = evidence(y(SATURATED))
    frame = found.frames["a"]
    found.frames["a"] = frame[~((frame.repetition == 2) & (frame.x == 8))]
    assert judge.judge(ledger(RATIO), toy, found, judge.JudgedSystem("s"))[0].n == 4


def test_sentences_name_the_system_and_what_stands_in(toy: Published) -> None:
    system = judge.JudgedSystem("s", "MariaDB", ["MariaDB stands in for MySQL 5.7"])
    (found,) = judge.judge(ledger(RATIO), toy, evidence(y(FLAT), cv=1e-9), system)
    assert found.sentence == (
        "On MariaDB: throughput at x 8 over that at x 1, 1x, 95% interval 1x to 1x over 5 repetitions."
        " The claim needs 2.45x to 3.82x (published: 3.06x): it fails here. It says nothing of the report:"
        " how busy the servers' CPU was at x 8 is not known. MariaDB stands in for MySQL 5.7."
    )


def test_many_looks_share_the_error_rate(toy: Published) -> None:
    found = [
        judge.judge(ledger(RATIO), toy, evidence(y(SATURATED)), judge.JudgedSystem("s"), shares=n)[0] for n in (1, 5)
    ]
    assert [claim.confidence for claim in found] == pytest.approx([0.95, 0.99])


@pytest.mark.parametrize("looks", [1, 2])
def test_a_p_value_below_5_percent_is_a_verdict_however_often_was_looked(toy: Published, looks: int) -> None:
    """Else a page says "p = 0.03, adjusted for all claims" of a claim that it leaves open."""
    noisy = [evidence(y(SATURATED), cv=0.12, repetitions=3, seed=seed) for seed in range(40)]
    found = [judge.judge(ledger(RATIO), toy, one, judge.JudgedSystem("s"), shares=looks)[0] for one in noisy]
    assert {claim.here for claim in found} == {"holds", "open"}
    assert all((claim.p_value < 0.05) == (claim.here == "holds") for claim in found if claim.p_value)


TOGETHER = {"hypothesis": "correlates", "tables": ["a", "b"], "x": "y", "y": "z"}


def test_what_ranks_alike_in_every_repetition_can_contradict_a_correlation(judged: Callable[..., Any]) -> None:
    against = {"a": {"y": RISE, "z": RISE[::-1]}, "b": {"y": HALF, "z": HALF[::-1]}}
    assert judged(TOGETHER, against, cv=0.01).here == "fails"


def test_ranks_that_agree_three_times_by_chance_are_no_certainty(toy: Published) -> None:
    """Four points, of whose six pairs four rank alike: tau 1/3 each time, and three random taus are often equal.

    A swap of one pair moves tau by 1/3: its variance is at least (1/3)^2 / 12 = 1/108, the error of a mean of three is
    1/18 and t is 6 with 2 degrees of freedom, whose two tails hold 1 - 6 / sqrt(6^2 + 2).
    """
    claim = {"hypothesis": "correlates", "tables": ["a"], "x": "y", "y": "z"}
    ranks = evidence({"a": {"y": RISE, "z": RISE}}, repetitions=3)
    frame = ranks.frames["a"].assign(z=[1.0, 4, 2, 3] * 3, y=[1.0, 2, 3, 4] * 3)
    (found,) = judge.judge(ledger(claim), toy, Evidence({"a": frame}, ["s"]), judge.JudgedSystem("s"))
    assert (found.effect, found.n) == (pytest.approx(1 / 3), 3)
    assert found.p_value == pytest.approx(1 - 6 / math.sqrt(38))


def test_ranks_of_two_repetitions_make_one_figure_and_three_are_asked_for(judged: Callable[..., Any]) -> None:
    found = judged(TOGETHER, {"a": {"y": RISE, "z": RISE}, "b": {"y": HALF, "z": HALF}}, repetitions=2)
    assert "in fewer than three repetitions, which cannot judge" in found.sentence
    assert found.decide.startswith("more repetitions: three are the least")


def test_a_repetition_of_a_few_points_takes_no_pair_away_from_a_correlation(toy: Published) -> None:
    measured = evidence({"a": {"y": RISE, "z": RISE}, "b": {"y": HALF, "z": HALF}})
    last = {name: frame[frame.repetition == 5].assign(repetition=6) for name, frame in measured.frames.items()}
    frames = {name: pd.concat([frame, last[name] if name == "a" else last[name][:0]])
              for name, frame in measured.frames.items()}  # fmt: skip
    (found,) = judge.judge(ledger(TOGETHER), toy, Evidence(frames, ["s"]), judge.JudgedSystem("s"))
    assert found.n == 5, "four of the eight points rank too little"


def test_a_claim_about_two_systems_is_judged_once(toy: Published) -> None:
    first, second = evidence(y(RISE)).frames["a"], evidence(y(FLAT), seed=1).frames["a"]
    both = Evidence({"a": pd.concat([first, second.assign(system="t")])}, ["s", "t"])
    figure = {"table": "a", "metric": "y", "rows": {"x": 8}}
    claim = {"hypothesis": "dominates", "figure": figure | {"system": "s"}, "above": [figure | {"system": "t"}],
             "at_least": 2}  # fmt: skip
    found = [judge.judge(ledger(claim, RATIO), toy, both, judge.JudgedSystem(name)) for name in ("s", "t")]
    assert [[claim.id for claim in claims] for claims in found] == [["c0", "c1"], ["c1"]]
    # 350 / 100, each times its system's own block effect in a repetition.
    assert found[0][0].region == pytest.approx((2, None))
    assert found[0][0].n == 5


def _designed(**options: list[str]) -> Published:
    designs = [TableDesign(name=id, table=id, workload="oltp_insert", options=said) for id, said in options.items()]
    return Published(cast(Any, SimpleNamespace(design=designs)), published_toy().tables)


@pytest.mark.parametrize(
    ("options", "claim", "testable"),
    [
        ({"a": [], "b": []}, OVER | {"hypothesis": "flat", "tolerance": 0.2}, False),
        ({"a": [], "b": ["--skip-trx"]}, OVER | {"hypothesis": "flat", "tolerance": 0.2}, True),
        ({"a": [], "b": []}, DOMINATES, False),
        ({"a": [], "b": []}, RATIO, True),
        ({"a": [], "b": []}, {**RATIO, "rows": {"x": 8}, "over": {"table": "b", "rows": {"x": 1}}}, True),
    ],
)
def test_two_tables_that_are_run_by_the_same_command_show_nothing_of_what_sets_them_apart(
    options: dict[str, list[str]], claim: dict[str, Any], testable: bool
) -> None:
    """The figures of one are not those of the other, for whatever the report changed between them is not run."""
    known = ledger(claim)
    (found,) = judge.judge(known, _designed(**options), evidence(y(SATURATED)), judge.JudgedSystem("s"))
    assert (found.reason == "what it compares runs alike here (a and b)") == (not testable)
    assert (found.verdict == "not run") == (not testable)
