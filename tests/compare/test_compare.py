"""Two campaigns held against each other: what is called, what is refused, and by which address they are found."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from kit import FIXTURES, Home

from benchbook import cli
from benchbook.analysis import results
from benchbook.campaign import store as campaigns
from benchbook.campaign.environment import SystemDescription
from benchbook.campaign.store import Campaign
from benchbook.compare import address, cells, command, environment_facts, gate, history, view
from benchbook.compare.pair import CompareParameters, Comparison, ratios
from benchbook.compare.pair import compare as compare_as_asked
from benchbook.errors import BadInput, NotWritten

REPORT = "dtm_mysql"
SAMPLE = FIXTURES.parents[1] / "data/sample"
FIRST, SECOND = "20261121T042759706961-bc6314e4711c", "20261121T043825502985-bc6314e4711c"
SAME = {"mariadb": "mariadb"}


def compare(a: str, b: str = "", **asked: Any) -> Comparison:
    return compare_as_asked(CompareParameters(a=a, b=b, **asked))


@pytest.fixture
def runs(home: Home) -> Path:
    """Two recorded campaigns of three cells and three repetitions, asked for alike, on one machine."""
    target = home.path / "data" / "runs" / REPORT
    shutil.copytree(FIXTURES / "campaigns" / REPORT, target)
    return target


def test_ratios_are_those_of_two_folders_too(runs: Path) -> None:
    assert ratios(runs / FIRST, runs / SECOND).equals(ratios(FIRST, SECOND))


def edit(file: Path, change: Callable[[Any], None]) -> None:
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def with_noise(folder: Path, *, slow: str = "", factor: float = 1.0) -> None:
    """Every value near the mean of its cell, 1% apart by repetition; cells that end in `slow` times `factor`."""
    means = pd.DataFrame(
        {"cell": r.id.partition("-")[2], "metric": m, "value": q.value}
        for r in Campaign(folder).records() for m, q in r.summary.items()
    ).groupby(["cell", "metric"]).value.mean()  # fmt: skip
    for file in folder.glob("trials/*/record.json"):
        cell, repetition = file.parent.name.partition("-")[2], int(file.parent.name[1:3])
        scale = (0.99, 1.0, 1.01)[repetition - 1] * (factor if slow and cell.endswith(slow) else 1.0)

        def change(content: Any, cell: str = cell, scale: float = scale) -> None:
            for metric, quantity in content["summary"].items():
                quantity["value"] = float(means[cell, metric]) * scale

        edit(file, change)


def make_equal(runs: Path) -> None:
    """Both campaigns are the first, with noise."""
    with_noise(runs / FIRST)
    shutil.rmtree(runs / SECOND)
    shutil.copytree(runs / FIRST, runs / SECOND)


# -- what is called -----------------------------------------------------------------------------------------------


def test_a_campaign_against_itself_does_not_differ(runs: Path) -> None:
    found = compare(FIRST, FIRST)
    assert found.gate.differences == ()
    assert set(found.cells.ratio) == {1.0}
    assert (found.counts["slower"], found.counts["faster"], found.counts["changed"]) == (0, 0, 0)
    # Three short repetitions vary too much to rule out a loss of 5%, even against themselves.
    assert (found.verdict, found.exit_status) == ("undecided", 4)
    assert "Their B / A is 1.00." in found.undecided()


def with_two_versions(folder: Path) -> None:
    """Every trial once more on a second system, 10% faster; the level `version` says in whose place each of them is."""
    plan = json.loads((folder / "plan.json").read_text())
    for trial in list(plan["trials"]):
        other = json.loads(json.dumps(trial).replace("mariadb", "mariadb:2"))
        other["identity"] = f"{trial['identity']}2"
        trial["cell"]["levels"]["version"], other["cell"]["levels"]["version"] = "v1", "v2"
        plan["trials"].append(other)
        copy = shutil.copytree(folder / "trials" / trial["id"], folder / "trials" / other["id"])
        for at, about in ((folder / "trials" / trial["id"], trial), (copy, other)):
            record = json.loads((at / "record.json").read_text())
            faster = 1.1 if about is other else 1.0
            summary = {n: {**q, "value": q["value"] * faster} for n, q in record["summary"].items()}
            same = {key: about[key] for key in ("id", "identity")}
            cell = {key: about["cell"][key] for key in ("system", "levels")}
            (at / "record.json").write_text(json.dumps({**record, **same, **cell, "summary": summary}))
    plan["asked"]["systems"] = ["mariadb:2", "mariadb"]
    (folder / "plan.json").write_text(json.dumps(plan))
    edit(folder / "environment.json", lambda e: e["systems"].update({"mariadb:2": e["systems"]["mariadb"]}))


def test_two_versions_of_one_campaign_are_held_against_each_other(runs: Path) -> None:
    """The level that only says which of the two it is keeps no cell from its counterpart."""
    with_two_versions(runs / FIRST)
    found = compare(FIRST, subject=["system"], metric=["ops"])
    assert set(found.cells.system) == {"mariadb:2 → mariadb"}, "the first that was asked for is the baseline"
    assert list(found.cells.ratio) == pytest.approx([1 / 1.1] * 3)
    assert not any("version" in levels for levels in found.cells.levels)
    assert found.left_out == []
    assert "one campaign, in which they took turns" in found.history_note()
    mapped = compare(FIRST, FIRST, mapping=["mariadb=mariadb:2"], metric=["ops"])
    assert list(mapped.cells.ratio) == pytest.approx([1.1] * 3)


def test_two_runs_of_one_machine_pass_the_gate_and_ratios_are_those_of_the_means(runs: Path) -> None:
    found = compare(REPORT)
    assert (found.a.id, found.b.id) == (FIRST, SECOND)
    assert found.gate.open
    row = found.cells[(found.cells.table == "mysql_write_only") & (found.cells.metric == "ops")].iloc[0]
    means = [
        np.mean([r.summary["ops"].value for r in side.records() if r.table == "mysql_write_only"])
        for side in (found.a, found.b)
    ]
    assert row.ratio == pytest.approx(means[1] / means[0])
    assert row.low < row.ratio < row.high
    assert len(found.cells) == 8, "two rungs with three metrics, sysbench with two"


def test_exactly_the_cell_that_became_slower_is_called(runs: Path) -> None:
    make_equal(runs)
    with_noise(runs / SECOND, slow="no_dtm-sql_per_branch10-concurrency10", factor=0.8)
    found = compare(FIRST, SECOND, metric=["ops"], campaign_effect=0)
    assert dict(zip(found.cells.levels, found.cells.outcome, strict=True)) == {
        "mode dtm, sql_per_branch 2, concurrency 10": "equivalent",
        "mode no_dtm, sql_per_branch 10, concurrency 10": "slower",
        "workload oltp_write_only, threads 10": "equivalent",
    }
    slower = found.cells[found.cells.outcome == "slower"].iloc[0]
    assert slower.ratio == pytest.approx(0.8)
    assert (found.verdict, found.exit_status) == ("differs", 4), "of one pair nobody knows whether it is the campaign"
    assert found.sentence().endswith("Without a history this may be the campaign: --confirm runs both again.")
    assert compare(SECOND, FIRST, metric=["ops"], campaign_effect=0).exit_status == 0, "it is faster"


def test_a_cell_that_b_was_to_measure_and_has_no_figure_for_is_no_pass(runs: Path) -> None:
    make_equal(runs)
    assert compare(FIRST, SECOND, metric=["ops"], campaign_effect=0).exit_status == 0
    # A server that breaks at this level leaves no whole record of it.
    for broken in (runs / SECOND / "trials").glob("*-mode dtm-sql_per_branch2-concurrency10"):
        shutil.rmtree(broken)
    for broken in (runs / SECOND / "trials").glob("*dtm-sql_per_branch2-concurrency10"):
        if "no_dtm" not in broken.name:
            shutil.rmtree(broken)
    found = compare(FIRST, SECOND, metric=["ops"], campaign_effect=0)
    assert found.lost == ["saga, mariadb, mode dtm, sql_per_branch 2, concurrency 10, ops"]
    assert (found.verdict, found.exit_status) == ("undecided", 4)
    assert found.sentence() == (
        "Undecided in 2 cells: 2 equivalent. Of 1 more B has no figure, or a rate of 0, and was to measure them."
    )
    assert compare(SECOND, FIRST, metric=["ops"], campaign_effect=0).exit_status == 0, "what A lacks is no loss of B's"
    # Nor is what B was never to measure.
    edit(runs / SECOND / "plan.json", lambda plan: plan.update(trials=[
        trial for trial in plan["trials"] if (runs / SECOND / "trials" / trial["id"]).exists()
    ]))  # fmt: skip
    assert compare(FIRST, SECOND, metric=["ops"], campaign_effect=0).exit_status == 0


def test_a_rate_that_is_zero_in_b_is_no_pass(runs: Path) -> None:
    make_equal(runs)
    edit(
        next((runs / SECOND / "trials").glob("r02*write_only*/record.json")),
        lambda record: record["summary"]["ops"].update(value=0.0),
    )
    found = compare(FIRST, SECOND, metric=["ops"])
    assert (len(found.lost), found.verdict) == (1, "undecided")
    assert found.sentence().endswith(" Of 1 more B has no figure, or a rate of 0, and was to measure them.")


def test_an_interval_with_no_end_in_sight_is_short() -> None:
    """Two repetitions a side of which one differs by a factor: the interval ends at a number of many digits."""
    row = cells.differences(cell_frame({"c": ([1, 1e5], [2, 1e5])})).iloc[0]
    assert row.high == pytest.approx(6.545e14, rel=1e-3)
    assert view.ratio(row.ratio, row.low, row.high) == "1.000\u00a0[0.000,\u00a06.5e+14]"
    assert view.ratio(1.0, 0.9823, 999.0) == "1.000\u00a0[0.982,\u00a0999.000]"


@pytest.mark.parametrize(
    ("metric", "unit", "called"),
    [("ops", "1/s", "faster"), ("tpmc", "1/min", "faster"), ("p95_ms", "ms", "slower"), ("lag_us", "µs", "slower"),
     ("build_min", "min", "slower"), ("sql", "1", "changed"), ("size", "B/row", "changed")],
)  # fmt: skip
def test_the_unit_says_which_way_is_better(metric: str, unit: str, called: str) -> None:
    frame = cell_frame({"c": ([100, 101, 99], [130, 131, 129])}, metric=metric, unit=unit)
    assert cells.differences(frame).outcome.tolist() == [called]


def cell_frame(values: dict[str, tuple[Any, Any]], metric: str = "tps", unit: str = "1/s") -> pd.DataFrame:
    rows = [
        {"table": "t", "system": "s", "levels": name, "metric": metric, "unit": unit, "arm": arm, "value": float(value)}
        for name, arms in values.items() for arm, part in zip("ab", arms, strict=True) for value in part
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_of_a_table_with_a_row_per_component_each_component_s_own_metrics_are_held_against_each_other() -> None:
    """The result of DM 1.0-alpha: a row for MySQL, one for DM, one for TiDB; a record has mysql_tps and so on."""
    result = [("mysql_tps", "1/s"), ("mysql_events", ""), ("tidb_p95_ms", "ms"), ("jobs", "")]
    plain = [("tps", "1/s"), ("other_tps", "1/s")]
    rows = [("result", *metric) for metric in result] + [("plain", *metric) for metric in plain]
    frame = pd.DataFrame(rows, columns=["table", "metric", "unit"])
    chosen = cells._chosen(frame, {"result": ["tps", "p95_ms"], "plain": ["tps"]})
    assert frame.metric[chosen].tolist() == ["mysql_tps", "tidb_p95_ms", "tps"]


def test_a_table_without_a_metric_that_it_prints_is_compared_by_its_rates_and_times() -> None:
    recorded = {"dump_mb_s": "MB/s", "rows": "", "dump_time_s": "s"}
    assert cells.metrics_of("dump", recorded, {"dump": ["speed_mb_s"]}) == ["dump_mb_s", "dump_time_s"]


def test_what_would_decide_an_undecided_cell_falls_with_its_noise_and_with_its_distance() -> None:
    steady = cells.differences(cell_frame({"c": ([99, 103, 106], [100, 104, 97])}))
    noisy = cells.differences(cell_frame({"c": ([99, 123, 86], [100, 124, 77])}))
    middle = cells.differences(cell_frame({"c": ([97, 103] * 4, [0.975 * value for value in [97, 103] * 4])}))
    assert {*steady.outcome, *noisy.outcome, *middle.outcome} == {"undecided"}
    # cv 0.0353 and 0.2115, and a log ratio of 0.0230, which is 0.0283 from the margin's 0.0513:
    # (z_0.975 + z_0.8)^2 * 2 * cv^2 / 0.0283^2 = 24.4 and 877, and a little more for t.
    assert 24 <= steady.needed[0] <= 27
    assert 877 <= noisy.needed[0] <= 880
    # cv 0.0321 and a log ratio of 0.0253, halfway to the margin: 24.
    assert 24 <= middle.needed[0] <= 26


def test_cells_without_a_ratio_or_a_counterpart_are_named_and_left_out() -> None:
    frame = cell_frame({"both": ([1, 2, 3], [2, 3, 4]), "zero": ([0, 1, 2], [1, 2, 3]), "alone": ([1, 2], [])})
    assert cells.differences(frame).levels.tolist() == ["both"]
    assert cells.left_out(frame) == ["t, s, zero, tps: a value of zero has no ratio", "t, s, alone, tps: only in a"]


@pytest.mark.parametrize(
    ("unit", "better", "worse"), [("1/s", "not slower", "undecided"), ("ms", "undecided", "not slower"),
                                  ("1", "undecided", "undecided")])  # fmt: skip
def test_a_cell_that_may_have_gained_but_not_lost_is_not_slower(unit: str, better: str, worse: str) -> None:
    # 3% more with an error of 1.6%: clear of -5%, but neither of 0 nor of +5%.
    less, more = [100, 102, 98], [103, 105, 101]
    assert cells.differences(cell_frame({"c": (less, more)}, unit=unit)).outcome.tolist() == [better]
    assert cells.differences(cell_frame({"c": (more, less)}, unit=unit)).outcome.tolist() == [worse]


def test_one_repetition_shows_a_ratio_and_decides_nothing() -> None:
    found = cells.differences(cell_frame({"c": ([100], [50])})).iloc[0]
    assert (found.ratio, found.outcome) == (0.5, "undecided")
    assert pd.isna(found.low)
    assert pd.isna(found.needed)


@pytest.mark.slow
def test_equal_campaigns_show_any_difference_in_at_most_5_percent() -> None:
    dice = np.random.default_rng(7)
    simulations, wrong = 100, 0
    for _ in range(simulations):
        values = np.exp(dice.normal(0, 0.05, size=(6, 2, 4)))
        found = cells.differences(cell_frame({f"c{i}": (a, b) for i, (a, b) in enumerate(values)}))
        wrong += bool(found.outcome.isin(["slower", "faster", "changed"]).any())
    # Two standard errors of a share of 5% over 100 simulations are 4.4%; `bench null_comparisons` takes more.
    assert wrong / simulations <= 0.05 + 0.044


# -- what campaigns differ by -------------------------------------------------------------------------------------

REPEATS = [f"2026112{day}T000000000000-bc6314e4711c" for day in (2, 3, 4)]


@pytest.fixture
def repeated(runs: Path) -> Path:
    """FIRST and, 5% slower in every cell, SECOND; and three campaigns that repeat FIRST at 1.00, 1.03 and 0.97."""
    shutil.rmtree(runs / SECOND)
    with_noise(runs / FIRST)
    for name, factor in zip([SECOND, *REPEATS], (0.95, 1.0, 1.03, 0.97), strict=True):
        shutil.copytree(runs / FIRST, runs / name)
        for file in (runs / name).glob("trials/*/record.json"):
            edit(file, lambda record, factor=factor: [
                quantity.update(value=quantity["value"] * factor) for quantity in record["summary"].values()
            ])  # fmt: skip
    return runs


def test_a_difference_as_large_as_between_repeated_campaigns_is_undecided(repeated: Path) -> None:
    found = compare(FIRST, SECOND, metric=["ops"])
    # Logs 0, 0.0296, -0.0305: variance 0.00090 with 2 degrees of freedom; repetitions give 0.0001 / 3 of it. With the
    # prior's 10 it is (10 x 0.02^2 + 2 x (0.00090 - 0.00003)) / 12.
    assert [one.id for one in found.history.campaigns] == REPEATS
    assert [effect.variance**0.5 for effect in found.effects.values()] == pytest.approx([0.0219] * 2, abs=1e-4)
    assert found.history_note().startswith("History: 3 other campaigns repeat these two")
    assert "differs by 2.2%" in found.history_note()
    assert set(found.cells.campaigns) == {3}
    assert (found.verdict, found.exit_status) == ("undecided", 4)
    assert "3 of 3 cells are undecided" in found.undecided()
    assert "In 3 no number of repetitions would" in found.undecided()


def test_of_a_cell_measured_once_it_is_the_repetitions_that_are_too_few(repeated: Path) -> None:
    for campaign in (FIRST, SECOND):
        for trial in (repeated / campaign / "trials").glob("r0[23]-*write_only*"):
            shutil.rmtree(trial)
    said = compare(FIRST, SECOND, metric=["ops"]).undecided()
    assert "In 2 no number of repetitions would" in said
    assert said.endswith("In 1 the repetitions do not show their own spread, or it is too large: repeat more.")


def test_without_enough_repeats_it_differs_and_is_no_regression(repeated: Path) -> None:
    asked: dict[str, Any] = {"metric": ["ops"], "without": REPEATS[:2]}
    found = compare(FIRST, SECOND, campaign_effect=0, **asked)
    assert (found.verdict, found.counts["slower"], set(found.cells.campaigns)) == ("differs", 3, {0})
    assert view.in_words("slower", None, campaigns=0) == "slower (no history)"
    # Two campaigns that differ by 2% are 2.8% apart now and then; nobody knows better.
    found = compare(FIRST, SECOND, **asked)
    assert (found.verdict, set(found.cells.outcome)) == ("undecided", {"undecided"})
    assert "recorded on this inventory (1 found). Campaigns of one system are taken to differ by 2.0%" in (
        found.history_note()
    )
    with pytest.raises(BadInput, match="must be 0 or more, and below 1"):
        compare(FIRST, SECOND, campaign_effect=1.5)
    with pytest.raises(BadInput, match="no such recorded campaign"):
        compare(FIRST, SECOND, without=["nothing"])


def test_a_loss_beyond_what_repeated_campaigns_differ_by_is_a_regression(repeated: Path) -> None:
    # 0.95 x 0.85 is 0.21 in logs, 6.9 times what two campaigns differ by: the root of 2 times 2.2%.
    def slowed(record: Any) -> None:
        for quantity in record["summary"].values():
            quantity["value"] *= 0.85

    for file in (repeated / SECOND).glob("trials/*/record.json"):
        edit(file, slowed)
    found = compare(FIRST, SECOND, metric=["ops"])
    assert (found.verdict, found.exit_status, set(found.cells.campaigns)) == ("regression", 1, {3})


@pytest.mark.parametrize("other", ["environment", "inventory"])
def test_a_campaign_of_another_environment_is_no_history(repeated: Path, other: str) -> None:
    if other == "environment":
        edit(repeated / REPEATS[0] / "environment.json", host("cores", 64))
    else:
        edit(repeated / REPEATS[0] / "plan.json", lambda plan: plan["asked"].update(inventory="elsewhere"))
    assert [one.id for one in compare(FIRST, SECOND, metric=["ops"]).history.campaigns] == REPEATS[1:]


def test_repeats_of_either_side_count_and_each_side_keeps_its_level(repeated: Path) -> None:
    for name in (SECOND, *REPEATS[1:]):
        edit(repeated / name / "environment.json", system("version", "11.4.2"))
    found = compare(FIRST, SECOND, subject=["system.version"], metric=["ops"])
    strata = found.history.values.groupby("campaign").stratum.first()
    assert strata.to_dict() == dict(zip(REPEATS, "abb", strict=True))
    # 1.03 and 0.97 lie 0.0600 apart in logs: variance 0.0018 with one degree of freedom, less 0.0001 / 3.
    assert next(iter(found.effects.values())).variance == pytest.approx((10 * 0.0004 + 0.00177) / 11, abs=2e-6)


def test_the_history_is_listed(repeated: Path, says: Callable[..., tuple[int, str]]) -> None:
    edit(repeated / SECOND / "environment.json", host("cores", 64))
    status, said = says(FIRST, "--history", "--metric", "ops", "--without", REPEATS[0])
    assert status == 0
    assert said.count(" counts") == 3
    assert "differs in host.cores" in said
    assert "left out by --without" in said
    found = json.loads(says(FIRST, "--history", "--metric", "ops", "--json")[1])
    assert found["campaigns"] == [FIRST, *REPEATS]
    assert found["differ"] == {SECOND: ["host.cores"]}
    assert {effect["campaigns"] for effect in found["effects"]} == {4}


def test_the_history_counts_in_words(repeated: Path) -> None:
    # Five campaigns repeat each other; each that is left out takes one.
    of = f"campaigns of {REPORT} repeat each other on this inventory. A comparison of two of them has"
    for left, said in ((1, f"4 {of} 2 others as"), (2, f"3 {of} 1 other as")):
        assert history.listed(Campaign(repeated / FIRST), without=REPEATS[:left]).sentence().startswith(said)
    alone = history.listed(Campaign(repeated / FIRST), without=[*REPEATS, SECOND]).sentence()
    assert alone.startswith(f"No other campaign of {REPORT} on this inventory repeats {FIRST}. A comparison needs two")


# -- what is refused ----------------------------------------------------------------------------------------------


def host(key: str, value: Any) -> Callable[[Any], None]:
    def change(about: Any) -> None:
        for facts_of_host in about["hosts"].values():
            facts_of_host[key] = value

    return change


def system(key: str, value: Any) -> Callable[[Any], None]:
    return lambda about: about["systems"]["mariadb"].__setitem__(key, value)


def variable(name: str, value: str) -> Callable[[Any], None]:
    return lambda about: about["systems"]["mariadb"]["config"]["variables"].__setitem__(name, value)


ENVIRONMENTS: list[tuple[Callable[[Any], None], str, str]] = [
    (host("cpu_model", "Xeon"), "host.cpu_model", "Xeon"), (host("cores", 64), "host.cores", "64"),
    (host("memory_bytes", 2**35), "host.memory_bytes", "32.0 GiB"), (host("kernel", "6.1"), "host.kernel", "6.1"),
    (host("governor", "powersave"), "host.governor", "powersave"), (host("turbo", "on"), "host.turbo", "on"),
    (host("thp", "always"), "host.thp", "always"), (host("disk_kind", "ssd"), "host.disk_kind", "ssd"),
    (host("filesystem", "xfs"), "host.filesystem", "xfs"), (host("new_fact", 1), "host.new_fact", "1"),
    (lambda about: about["hosts"]["client"].update(boot_id="another"), "host.shared_machine", "no"),
    (system("version", "11.4.2"), "system.version", "11.4.2"),
    (variable("innodb_flush_log_at_trx_commit", "2"), "system.config.innodb_flush_log_at_trx_commit", "2"),
    (lambda about: about.update(load_generator="sysbench 1.1"), "load_generator", "sysbench 1.1"),
    (lambda about: about["systems"]["dtm"].update(version="v2"), "system.version", "v2"),
    (lambda about: about.update(findings=[]), "waived.virtual_machine", environment_facts.ABSENT),
]  # fmt: skip


def test_every_unfair_difference_is_named_with_both_values(runs: Path) -> None:
    for change, _, _ in ENVIRONMENTS:
        edit(runs / SECOND / "environment.json", change)
    found = compare(FIRST, SECOND)
    expected = {(name, value) for _, name, value in ENVIRONMENTS}
    expected.add(("waived.load_before_the_run", environment_facts.ABSENT))
    assert {(d.name, d.b) for d in found.gate.unfair} == expected
    assert all(d.a != d.b for d in found.gate.unfair)
    assert (found.verdict, found.exit_status) == ("refused", 3)
    assert set(found.called()) == {"not called"}
    assert compare(FIRST, SECOND, accept=found.gate.names).exit_status == 4
    assert compare(FIRST, SECOND, accept=["all"]).gate.open


def test_what_a_killed_run_left_and_was_ended_before_any_load_is_no_difference(runs: Path) -> None:
    ended = {"host": "client", "what": "leftover processes", "found": "ab-3cbb8bde", "wanted": "none (they were ended)"}
    edit(runs / SECOND / "environment.json", lambda about: about["findings"].append({**ended, "waived": False}))
    assert compare(FIRST, SECOND).gate.open


def _lose(campaign: Path, share: float, trials: str = "*") -> None:
    """The share of CPU that others took from every load of a campaign, or from these."""
    for path in campaign.glob(f"trials/{trials}/record.json"):
        edit(path, lambda record: record["proof"].update(lost=share))


def test_cpu_that_others_took_from_one_campaign_alone_is_a_difference(runs: Path) -> None:
    """A neighbour that computes all night makes no regression of what runs beside it."""
    _lose(runs / FIRST, 0.02)
    assert compare(FIRST, SECOND).gate.open, "nobody looked in the other one"
    _lose(runs / SECOND, 0.1)
    assert compare(FIRST, SECOND).gate.open, "eight points are within what campaigns differ by"
    _lose(runs / SECOND, 0.35)
    found = compare(FIRST, SECOND)
    (difference,) = found.gate.unfair
    assert (difference.name, difference.a, difference.b) == ("host.cpu_taken", "2%", "35%")
    assert (found.verdict, found.exit_status) == ("refused", 3)
    assert compare(FIRST, SECOND, accept=["host.cpu_taken"]).gate.open
    # Whoever accepts it each night is not refused in one in which it does not differ.
    _lose(runs / SECOND, 0.02)
    assert compare(FIRST, SECOND, accept=["host.cpu_taken"]).gate.open


def test_systems_that_took_turns_had_the_same_neighbours(runs: Path) -> None:
    """Whichever of them needed the CPU lost more to a neighbour."""
    with_two_versions(runs / FIRST)
    _lose(runs / FIRST, 0.02)
    _lose(runs / FIRST, 0.35, "*mariadb:2*")
    assert "host.cpu_taken" not in compare(FIRST, subject=["system"], metric=["ops"]).gate.names


@pytest.mark.parametrize(("key", "value"), [("time_s", 30), ("profile", "lab"), ("reset", "none"), ("table_size", 10)])
def test_what_was_asked_for_is_part_of_the_environment(runs: Path, key: str, value: Any) -> None:
    edit(runs / SECOND / "plan.json", lambda plan: plan["asked"].update({key: value}))
    assert compare(FIRST, SECOND).gate.names == [f"asked.{key}"]
    assert compare(FIRST, SECOND, accept=["asked"]).verdict == "undecided"


def with_scaled(runs: Path, *, measured: str) -> None:
    """Both plans keep scaled levels of a table that they measured and of two that they did not; B's are others."""
    for folder, here in ((runs / FIRST, 1), (runs / SECOND, 2)):
        levels = {table: {"threads": {"50": here, "100": here + 2}} for table in ("other", "another")}
        levels[measured] = {"threads": {"50": 1, "100": 3}}
        scaled = {"cores_here": 2, "cores_published": 80, "levels": levels}
        edit(folder / "plan.json", lambda plan, scaled=scaled: plan["asked"].update(scaled=scaled))


def test_scaled_levels_of_a_table_that_one_campaign_did_not_measure_are_no_difference(runs: Path) -> None:
    with_scaled(runs, measured="mysql_write_only")
    found = compare(FIRST, SECOND)
    assert found.gate.differences == ()
    # What the plan keeps of a table that both measured still counts.
    edit(runs / SECOND / "plan.json", lambda plan: plan["asked"]["scaled"]["levels"].update(mysql_write_only={}))
    assert {d.name for d in compare(FIRST, SECOND).gate.unfair} == {
        f"asked.scaled.levels.mysql_write_only.threads.{n}" for n in ("50", "100")
    }


def test_who_wrote_down_that_the_load_shares_the_cores_is_no_difference(runs: Path) -> None:
    """The levels themselves are compared, and so are hosts that share a machine: `shared` is only in newer plans."""
    with_scaled(runs, measured="mysql_write_only")
    edit(runs / SECOND / "plan.json", lambda plan: plan["asked"]["scaled"].update(shared=True))
    assert compare(FIRST, SECOND).gate.differences == ()


def test_the_campaigns_of_the_sample_compare() -> None:
    """The first that a newcomer tries: nothing that the two differ in keeps their cells from being judged."""
    older, newer = sorted((SAMPLE / "tidb_v7_1_3_sysbench").iterdir())
    found = compare(str(older), str(newer))
    # Two and three repetitions of two seconds: nothing is decided, and that is what is said.
    assert (found.gate.open, found.verdict, len(found.cells)) == (True, "undecided", 12)


def test_a_refusal_is_short_and_says_which_flag_would_do(runs: Path) -> None:
    with_scaled(runs, measured="mysql_write_only")
    edit(runs / SECOND / "plan.json", lambda plan: plan["asked"]["scaled"].update(levels={}, cores_published=40))
    said = compare(FIRST, SECOND).sentence()
    assert said.startswith("Refused: the environments differ in asked.scaled (3 facts), so none of the 8 cells")
    assert said.endswith("add --accept asked.scaled, or --subject asked.scaled if that is what you compare.")
    assert compare(FIRST, SECOND, accept=["asked.scaled"]).gate.open
    edit(runs / SECOND / "environment.json", host("cores", 64))
    edit(runs / SECOND / "environment.json", host("kernel", "6.1"))
    said = compare(FIRST, SECOND).sentence()
    assert "differ in asked.scaled (3 facts), host.cores, host.kernel, so none" in said
    assert "add --accept asked.scaled --accept host.cores --accept host.kernel, or --subject NAME if" in said
    for number in range(5):
        edit(runs / SECOND / "environment.json", host(f"fact{number}", 1))
    said = compare(FIRST, SECOND).sentence()
    assert "host.fact3 and 2 more, so none" in said
    assert "add --accept all, or --subject NAME if" in said


def test_an_option_of_the_load_is_part_of_the_environment(runs: Path) -> None:
    for file in (runs / SECOND).glob("trials/*/record.json"):
        edit(file, lambda record: record.update(command=record["command"] + " --rand-type=pareto"))
    assert compare(FIRST, SECOND).gate.names == ["load.rand-type"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("\"host='192.0.2.{0}' port='643{0}' dbname='x'\"", []),
        ("host=db{0} port=643{0}", []),
        ("-h db{0}.example.com -p 643{0} -P 16", []),
        ("--endpoints=etcd-{0}.etcd:2379,[fd00::{0}]:2379", []),
        ("-p tikv.pd=pd-{0}.pd:2379 -p readproportion=0.{0}", ["load.p.readproportion"]),
        ("--nsInclude=a.{0} --nsInclude=b", ["load.nsInclude"]),
        ("--at 10:00:0{0} x{0}:1", ["load.arguments", "load.at"]),
    ],
)
def test_where_a_load_goes_is_no_option_of_it(runs: Path, words: str, named: list[str]) -> None:
    """Words of pgbench, redis-benchmark, etcd's benchmark, go-ycsb and mongorestore."""
    for campaign, number in ((FIRST, 1), (SECOND, 2)):
        for file in (runs / campaign).glob("trials/*/record.json"):
            edit(file, lambda record, n=number: record.update(command=f"{record['command']} {words.format(n)}"))
    assert compare(FIRST, SECOND).gate.names == named


def test_a_version_of_four_numbers_and_a_further_host_are_told() -> None:
    """As ClickHouse numbers its versions, and libpq takes several hosts."""
    told = [
        environment_facts._system(SystemDescription(version=version), "a", environment_facts.NO_NAMES)
        for version in ("23.8.2.7", "24.3.1.2")
    ]
    assert [each["system.version", "a"] for each in told] == ["23.8.2.7", "24.3.1.2"]
    assert environment_facts._plain("host=a,b port=1") == "host=<address>,<address> port=<address>"


def test_an_option_of_one_table_alone_is_told_with_it(runs: Path) -> None:
    """Only the first cell was looked at: what the others were run with could differ without a word."""
    first, *_, last = dict.fromkeys(record.table for record in Campaign(runs / FIRST).records())
    for record in Campaign(runs / SECOND).records():
        file = runs / SECOND / "trials" / record.id / "record.json"
        if record.table == last:
            edit(file, lambda record: record.update(command=record["command"] + " --rand-type=pareto"))
    (found,) = compare(FIRST, SECOND).gate.unfair
    assert first != last
    assert (found.name, found.where) == ("load.rand-type", f"{last} oltp_write_only")
    assert (found.a, found.b) == ("–", "pareto")


def test_what_cannot_matter_is_no_difference(runs: Path) -> None:
    moved = {"hostname": "b", "disk_free_bytes": 1, "load_1min": 0.1, "now": 1, "boot_id": "b", "address": "192.0.2.1"}
    for key, value in moved.items():
        edit(runs / SECOND / "environment.json", host(key, value))
    edit(runs / SECOND / "environment.json", variable("datadir", "/somewhere/else"))
    edit(runs / SECOND / "environment.json", variable("tmpdir", "/mnt/tmp"))
    # A MySQL names itself anew with each new data directory, and counts what it has written since.
    for campaign, server in ((FIRST, "dafba856-e89a-11f1-a56c-02fc00000001:1-4"), (SECOND, "9f0ffc4d:1-9")):
        for name in ("gtid_executed", "gtid_purged", "gtid_owned"):
            edit(runs / campaign / "environment.json", variable(name, server))
    edit(runs / SECOND / "plan.json", lambda plan: plan["asked"].update(hosts={}, inventory="mine", seed=2))
    assert compare(FIRST, SECOND).gate.differences == ()


def test_a_setting_of_the_command_line_is_the_setting_that_the_server_tells(runs: Path) -> None:
    """A changed setting stood there twice, as system.config and system.command: neither name alone was enough."""

    def changed(about: Any) -> None:
        config = about["systems"]["mariadb"]["config"]
        config["command"] += " --innodb-flush-log-at-trx-commit=2"
        config["variables"]["innodb_flush_log_at_trx_commit"] = "2"

    edit(runs / SECOND / "environment.json", changed)
    found = compare(FIRST, SECOND, subject=["system.config"])
    assert {d.name: d.standing for d in found.gate.differences} == {
        "system.config.innodb_flush_log_at_trx_commit": "subject"
    }


def test_a_setting_of_one_part_hides_none_of_another_part_of_that_name(runs: Path) -> None:
    """An option was dropped where any part told a setting of its name, and of two such parts the last one counted."""
    for folder, queue in ((FIRST, "1"), (SECOND, "2")):

        def changed(about: Any, queue: str = queue) -> None:
            config = about["systems"]["mariadb"]["config"]
            config["command"] += f" --queue={queue}"
            config.update(leader={"queue": queue}, worker={"queue": "9"})

        edit(runs / folder / "environment.json", changed)
    assert compare(FIRST, SECOND).gate.names == ["system.command.queue", "system.config.leader.queue"]


@pytest.mark.parametrize(
    "address", ["192.0.{}.{}:20160", "tikv-{1}.peer.ns{0}.svc:20160", "tikv-{0}{1}:20160", "[fd00:{}::{}]:20160"]
)
def test_parts_of_a_cluster_are_the_same_at_other_addresses(runs: Path, address: str) -> None:
    """As TiDB's information_schema.cluster_info and cluster_config tell them."""

    def cluster(folder: str, net: int, level: str) -> None:
        stores = [address.format(net, number) for number in (1, 2)]
        settings = {f"tikv {store}": {"log.level": "info", "server.addr": store} for store in stores}
        settings[f"tikv {stores[0]}"]["log.level"] = level
        parts = [{"type": "tikv", "instance": store} for store in stores]
        told = {"cluster_info": parts, "cluster_config": settings}
        edit(runs / folder / "environment.json", lambda about: about["systems"]["mariadb"]["config"].update(told))

    cluster(FIRST, 2, "info")
    cluster(SECOND, 3, "info")
    assert compare(FIRST, SECOND).gate.differences == ()
    cluster(SECOND, 3, "warn")
    (found,) = compare(FIRST, SECOND).gate.unfair
    assert (found.name, found.a, found.b) == (
        "system.config.cluster_config.tikv <address>.log.level", "info", "info / warn",
    )  # fmt: skip


def test_a_declared_version_brings_its_settings_but_not_other_values(runs: Path) -> None:
    def upgrade(about: Any) -> None:
        about["systems"]["mariadb"]["version"] = "11.4.2"
        about["systems"]["mariadb"]["config"]["variables"].update(new_in_11="ON", sync_binlog="0")

    edit(runs / SECOND / "environment.json", upgrade)
    found = compare(FIRST, SECOND, subject=["system.version"])
    standing = {d.name: d.standing for d in found.gate.differences}
    assert standing == {"system.version": "subject", environment_facts.VARIABLE_SET: "subject",
                        "system.config.sync_binlog": "unfair"}  # fmt: skip
    both = compare(FIRST, SECOND, subject=["system.version"], accept=["system.config.sync_binlog"])
    assert both.verdict == "undecided"


def test_systems_of_two_names_are_compared_when_they_are_mapped(runs: Path) -> None:
    def rename(content: Any) -> None:
        content.update(system="percona")

    def other_system(about: Any) -> None:
        about["systems"]["percona"] = about["systems"].pop("mariadb") | {"title": "Percona"}

    for file in (runs / SECOND).glob("trials/*/record.json"):
        edit(file, rename)
    edit(runs / SECOND / "plan.json", lambda plan: [t["cell"].update(system="percona") for t in plan["trials"]])
    edit(runs / SECOND / "environment.json", other_system)
    with pytest.raises(BadInput, match=r"no system in common.*mariadb=percona"):
        compare(FIRST, SECOND)
    found = compare(FIRST, SECOND, mapping=["mariadb=percona"])
    assert {d.name: d.standing for d in found.gate.differences} == {"system.name": "subject"}
    assert set(found.cells.system) == {"mariadb → percona"}


def test_campaigns_of_two_reports_are_told_so_and_no_choice_of_systems_is_proposed(runs: Path) -> None:
    """Their systems had two names, and the `--map` that was proposed ended in "no cell in common"."""
    other = FIXTURES / "replays" / "ddt_full_scale"
    shutil.copytree(other, runs.parent / other.name)
    with pytest.raises(BadInput) as caught:
        compare(SECOND, "ddt_full_scale")
    assert caught.value.key == "b"
    assert "campaigns of different reports, which have no table in common" in str(caught.value)
    assert f"of ddt_full_scale, against {SECOND} of {REPORT}" in str(caught.value)
    assert "=" not in (caught.value.fix or "=")


# -- addresses ----------------------------------------------------------------------------------------------------


def test_addresses(runs: Path) -> None:
    for text in (FIRST, f"{REPORT}~1", str(runs / FIRST), f"data/runs/{REPORT}/{FIRST}"):
        assert address.find(text).id == FIRST
    assert address.find(REPORT).id == SECOND


def test_a_report_with_one_campaign_cannot_be_compared(runs: Path) -> None:
    shutil.rmtree(runs / FIRST)
    with pytest.raises(BadInput) as caught:
        compare(REPORT)
    fix = f"Fix: record another: benchbook report {REPORT}"
    assert str(caught.value) == f"a: only one campaign of {REPORT} is recorded, and a comparison needs two. {fix}"


def test_a_report_of_which_nothing_is_recorded_is_told_how_to(runs: Path) -> None:
    with pytest.raises(BadInput) as caught:
        compare("etcd_3_2_performance")
    said = "a: nothing has been recorded of etcd_3_2_performance. Fix: run it first: benchbook report "
    assert str(caught.value) == f"{said}etcd_3_2_performance, or name what is recorded: {REPORT}"


@pytest.mark.parametrize("wrong", ["nothing", f"{REPORT}~2", "", "../.."])
def test_a_bad_address_lists_what_there_is(runs: Path, wrong: str) -> None:
    with pytest.raises(BadInput) as caught:
        compare(wrong)
    said = str(caught.value)
    assert re.match(
        rf"a: no such recorded campaign( \(got '{re.escape(wrong)}'\))?\. Fix: (did you mean \S+\? )?use", said
    )
    assert f"{SECOND} ({REPORT}, smoke, 9 records); {FIRST}" in said
    assert "\n" not in said


def test_one_campaign_alone_is_no_pair(runs: Path) -> None:
    with pytest.raises(BadInput, match="a comparison needs two campaigns"):
        compare(FIRST)


def test_nothing_recorded(home: Home) -> None:
    with pytest.raises(BadInput, match=r"nothing has been recorded yet \(got 'x'\)\. Fix: run a report first: "):
        compare("x", "y")


@pytest.mark.parametrize(
    ("said", "key"),
    [({"accept": ["host.cpu"]}, "accept"), ({"subject": ["all"]}, "subject"), ({"metric": ["tpm"]}, "metric"),
     ({"mapping": ["mariadb"]}, "map"), ({"mapping": ["mariadb=x"]}, "map"), ({"margin": 5}, "margin")],
)  # fmt: skip
def test_a_wrong_option_is_one_paragraph(runs: Path, said: dict[str, Any], key: str) -> None:
    with pytest.raises(BadInput) as caught:
        compare(REPORT, **said)
    assert caught.value.key == key
    assert caught.value.fix


def test_a_broken_record_is_bad_input_and_no_regression(
    runs: Path, says: Callable[..., tuple[int, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """It ended with 1, which is a regression, and in three lines with the address of somebody's documentation."""
    file = next((runs / FIRST).glob("trials/*/record.json"))
    file.write_text('{"version": 3,')
    status, _ = says(FIRST, SECOND)
    assert status == 2
    flat = " ".join(capsys.readouterr().out.split())
    assert "not a record of version 1: Invalid JSON" in flat
    assert "remove the trial's folder and run the report again" in flat
    assert "http" not in flat


def test_a_page_that_cannot_be_written_is_no_regression(
    runs: Path, says: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise NotWritten("site/index.html cannot be written")

    monkeypatch.setattr(command, "_page", full)
    assert says(REPORT, "--page")[0] == 2


def test_a_broken_plan_is_bad_input(runs: Path) -> None:
    (runs / FIRST / "plan.json").write_text("{")
    with pytest.raises(BadInput, match=r"plan\.json: a: not a campaign's plan"):
        compare(str(runs / FIRST), SECOND)


# -- the command and the notebook ---------------------------------------------------------------------------------


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["benchbook", "compare", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        heard = capsys.readouterr()
        print(heard.err)  # what pytest shows of a run that ended otherwise than it should
        return int(ended.value.code or 0), heard.out

    return run


def test_the_command_ends_with_its_verdict(runs: Path, says: Callable[..., tuple[int, str]]) -> None:
    status, said = says(REPORT)
    assert (status, "Undecided in 8 cells" in said) == (4, True)
    assert "8 of 8 cells are undecided" in said
    edit(runs / SECOND / "environment.json", host("cores", 64))
    status, said = says(REPORT, "--json")
    found = json.loads(said)
    assert (status, found["verdict"], found["exit_status"]) == (3, "refused", 3)
    assert {d["name"] for d in found["differences"]} == {"host.cores"}
    assert len(found["cells"]) == 8
    assert says(REPORT, "--accept", "host")[0] == 4


@pytest.mark.slow
def test_the_notebook_becomes_a_page(runs: Path, home: Home, says: Callable[..., tuple[int, str]]) -> None:
    edit(runs / SECOND / "environment.json", host("cores", 64))
    status, _ = says(REPORT, "--page", "--metric", "ops")
    assert status == 3
    (page,) = (home.path / "site").glob("compare_*.html")
    text = page.read_text()
    assert "host.cores" in text
    assert "Refused: the environments differ in host.cores" in text
    assert 'alt="Ratios B / A of 3 cells' in text
    assert results.read(page.with_suffix(".json")).cells[0]["metric"] == "ops"


def test_gate_and_campaigns_take_the_same_pair(runs: Path) -> None:
    a, b = campaigns.latest(REPORT, FIRST), campaigns.latest(REPORT, SECOND)
    assert gate.check(a, b, SAME).open
