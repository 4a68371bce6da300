"""The history of a report: levels of its cells over campaigns, what changed, and what had changed there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from kit import FIXTURES, Home
from rich.console import Console

from benchbook.campaign.store import Campaign, recorded
from benchbook.compare import cells, command, history_view
from benchbook.compare import report_history as cell_history
from benchbook.compare.cells import CELL
from benchbook.compare.report_history import HistoryParameters, report_history
from benchbook.errors import BadInput

TIDB = "tidb_v7_1_3_sysbench"
LATEST = "20261122T091115497316-d03bde2ab846"
ASKED = HistoryParameters(report=TIDB)
OLD, NEW = "5.10.0-made-up", "6.12.0-made-up"
COUNT, CHANGED = 12, 7


def test_points_are_means_over_repetitions_with_intervals() -> None:
    rows = [
        ("oltp", "s", f"threads {threads}", "tps", "1/s", name, tps)
        for name, values in {"a": [100], "b": [90, 110, 0]}.items()
        for threads in (4, 8)
        for tps in values
    ]
    found = cell_history.points(pd.DataFrame(rows, columns=[*CELL, "campaign", "value"]))
    # Cell by cell, and by campaigns; zeros have no logarithm.
    keys = found[["levels", "metric", "campaign", "n"]].values.tolist()
    assert keys == [["threads 4", "tps", "a", 1], ["threads 4", "tps", "b", 2], ["threads 8", "tps", "a", 1],
                    ["threads 8", "tps", "b", 2]]  # fmt: skip
    one, two = found.iloc[0], found.iloc[1]
    assert (one["mean"], np.isnan(one.low), np.isnan(one.variance)) == (100, True, True)
    # Standard deviation 14.142, its error 10, Student's 12.706 at one degree of freedom.
    assert (two["mean"], two.low, two.high) == pytest.approx((100, 100 - 127.06, 100 + 127.06), abs=0.01)
    assert two.log == pytest.approx((np.log(90) + np.log(110)) / 2)
    assert two.variance == pytest.approx(np.log(110 / 90) ** 2 / 2)


@pytest.mark.parametrize(
    ("report", "table", "some"),
    [
        # Printed are tps, qps, ... of MySQL, DM and TiDB; recorded are mysql_tps, dm_qps, ...
        ("dm_1_0_alpha", "result", {"mysql_tps", "dm_qps", "tidb_p95_ms"}),
        # Printed is a speed; recorded are how long it took, and its speed under another name.
        ("dm_1_0_ga", "dump", {"dump_time_s", "dump_mb_s"}),
    ],
)
def test_what_is_recorded_under_other_names_than_printed_is_compared_and_has_a_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: str, table: str, some: set[str]
) -> None:
    home = Home.make(tmp_path / "home")
    shutil.copytree(FIXTURES / "replays" / report, home.path / "data" / "runs" / report)
    monkeypatch.setenv("BENCHBOOK_HOME", str(home.path))
    campaign = Campaign(recorded(report)[0])
    compared = cells.values(campaign, {record.system: record.system for record in campaign.records()})
    assert some <= set(compared[compared["table"] == table].metric)
    found = report_history(HistoryParameters(report=report)).points
    assert sorted(found[CELL].values.tolist()) == sorted(compared[CELL].values.tolist())


def test_changes_name_the_campaigns_around_them_and_say_which_way() -> None:
    names = [f"c{number:02d}" for number in range(20)]
    wave = np.tile([1.001, 0.999], 10)
    step = np.where(np.arange(20) < 8, 1.0, 1.2)
    cells = {("tps", "1/s"): wave * step, ("p95_ms", "ms"): wave * step, ("rows", "1"): wave * step, ("x", "1/s"): wave}
    points = pd.DataFrame([
        {"table": "t", "system": "s", "levels": "", "metric": metric, "unit": unit, "campaign": name, "log": np.log(v),
         "n": 1, "variance": np.nan}
        for (metric, unit), values in cells.items() for name, v in zip(names, values, strict=True)
    ])  # fmt: skip
    found = cell_history.changes(points)
    assert found[["metric", "before", "campaign", "called"]].values.tolist() == [
        ["tps", "c07", "c08", "faster"], ["p95_ms", "c07", "c08", "slower"], ["rows", "c07", "c08", "changed"],
    ]  # fmt: skip
    assert found.ratio.tolist() == pytest.approx([1.2] * 3, rel=1e-3)


@pytest.fixture(scope="module")
def recorded_home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Copies of a recorded campaign: from the eighth on, tps is 20% lower and the kernel another one."""
    home = Home.make(tmp_path_factory.mktemp("history") / "home")
    dice = np.random.default_rng(1)
    for number in range(COUNT):
        target = home.path / "data" / "runs" / TIDB / f"20261122T0911154{number:05d}-d03bde2ab846"
        shutil.copytree(FIXTURES / "replays" / TIDB / LATEST, target)
        _change(target, float(np.exp(dice.normal(0, 0.01))) * (0.8 if number >= CHANGED else 1.0))
        _kernel(target / "environment.json", NEW if number >= CHANGED else OLD)
    return home


def _change(campaign: Path, factor: float) -> None:
    for path in campaign.glob("trials/*/record.json"):
        said = json.loads(path.read_text())
        said["summary"]["tps"]["value"] *= factor
        path.write_text(json.dumps(said))


def _kernel(path: Path, kernel: str) -> None:
    said = json.loads(path.read_text())
    for host in said["hosts"].values():
        host["kernel"] = kernel
    path.write_text(json.dumps(said))


@pytest.fixture
def campaigns(recorded_home: Home, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("BENCHBOOK_HOME", str(recorded_home.path))
    return [folder.name for folder in recorded(TIDB)]


def test_what_changed_and_who(campaigns: list[str]) -> None:
    found = report_history(ASKED)
    assert found.campaigns.campaign.tolist() == campaigns
    tps = found.changes[found.changes.metric == "tps"]
    assert len(tps) == found.points[found.points.metric == "tps"].groupby(CELL).ngroups > 0
    assert set(tps.campaign) == {campaigns[CHANGED]}
    assert set(tps.before) == {campaigns[CHANGED - 1]}
    assert set(tps.called) == {"slower"}
    assert tps.ratio.between(0.77, 0.83).all()
    assert len(tps) == len(found.changes), "what did not change is told to have changed"
    kernels = found.differences[found.differences.fact == "host.kernel"]
    assert set(zip(kernels.was, kernels.became, strict=True)) == {(OLD, NEW)}
    assert set(found.differences.fact) == {"host.kernel"}


def test_only_campaigns_of_the_same_environment_repeat_each_other(campaigns: list[str]) -> None:
    listing = report_history(ASKED).repeats
    assert [one.id for one in listing.history.campaigns] == campaigns[CHANGED:]


def test_it_is_shown(campaigns: list[str]) -> None:
    found = report_history(ASKED)
    shown = {view: repr(view(found)) for view in (history_view.summary, history_view.changes, history_view.who_changed)}
    assert f"{COUNT} campaigns of {TIDB}" in shown[history_view.summary]
    assert campaigns[CHANGED] in shown[history_view.summary]
    assert "host.kernel" in shown[history_view.summary]
    assert "slower" in shown[history_view.changes]
    assert OLD in shown[history_view.who_changed]
    assert NEW in shown[history_view.who_changed]
    (tps, *others) = [part for part in history_view.figures(found).parts if "img" in str(part.data)]
    assert f"0.8 from {campaigns[CHANGED]}" in str(tps.data).replace("0.80", "0.8")
    assert all("No level changed" in str(part.data) for part in others)


def test_the_command_says_it_to_people_and_programs(campaigns: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run_history(ASKED, Console(width=400), as_json=False, page=False) == 0
    said = capsys.readouterr().out
    assert "the level changed at 1 of them" in said
    assert f"host.kernel: {OLD} -> {NEW}" in said
    command.run_history(ASKED, Console(width=400), as_json=True, page=False)
    found = json.loads(capsys.readouterr().out)
    assert found["campaigns"] == campaigns
    assert {change["campaign"] for change in found["changes"]} == {campaigns[CHANGED]}


def test_too_few_campaigns_tell_of_no_level(runs: Path) -> None:
    found = report_history(ASKED)
    assert found.too_few
    said = "Too few campaigns to tell whether a level changed: 2, and it takes 5."
    for view in (history_view.changes, history_view.who_changed):
        assert said in view(found).data
    pictures = [str(part.data) for part in history_view.figures(found).parts]
    assert all(said in each and "No level changed" not in each for each in pictures)


def test_names_that_are_none(campaigns: list[str], home: Home) -> None:
    with pytest.raises(BadInput, match=r"nothing has been recorded of this report.*benchbook report"):
        report_history(ASKED)
    with pytest.raises(BadInput, match=r"there is no such report \(got 'nosuch'\)\. Fix: there are: .*dm_1_0_ga"):
        report_history(HistoryParameters(report="nosuch"))


@pytest.mark.parametrize(("name", "value"), [("inventory", "x"), ("profile", "x"), ("metric", ["x"])])
def test_what_no_campaign_has_is_refused(campaigns: list[str], name: str, value: object) -> None:
    with pytest.raises(BadInput, match=f"there is no such {name}"):
        report_history(ASKED.model_copy(update={name: value}))
