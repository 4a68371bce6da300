"""What is broken in one campaign costs that one: it is named in a line, and every other one is read as before."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from kit import FIXTURES, Home
from rich.console import Console

from benchbook import cli, notebook_run, paths, pipeline
from benchbook.analysis import summary
from benchbook.campaign import store as campaigns
from benchbook.campaign.design import Cell, digest, plan
from benchbook.campaign.record import RecordBroken
from benchbook.campaign.store import Campaign, PlanBroken
from benchbook.compare import address, history
from benchbook.errors import BadInput
from benchbook.overview.lists import campaigns_of

REPORT = "dtm_mysql"
FIRST, SECOND = "20261121T042759706961-bc6314e4711c", "20261121T043825502985-bc6314e4711c"
BROKEN = "20261201T000000000000-bc6314e4711c"


@pytest.fixture
def runs(home: Home) -> Path:
    """Two recorded campaigns, and one after them that is a copy of the second."""
    target = home.path / "data" / "runs" / REPORT
    shutil.copytree(FIXTURES / "campaigns" / REPORT, target)
    shutil.copytree(target / SECOND, target / BROKEN)
    campaigns.leave_out.cache_clear()
    return target


def _no_json(folder: Path) -> str:
    (folder / "plan.json").write_text("{")
    return "plan.json: not a campaign's plan: "


def _other_text(folder: Path) -> str:
    (folder / "plan.json").write_bytes('{"report": "ü"}'.encode("utf-16"))
    return "plan.json: not a campaign's plan: "


def _nested(folder: Path) -> str:
    (folder / "plan.json").write_text("[" * 5000)
    return "plan.json: not a campaign's plan: "


def _no_plan(folder: Path) -> str:
    (folder / "plan.json").write_text("[]")
    return "plan.json: not a campaign's plan: "


def _a_folder(folder: Path) -> str:
    (folder / "plan.json").unlink()
    (folder / "plan.json").mkdir()
    return "plan.json: not a campaign's plan: "


def _half_a_trial(folder: Path) -> str:
    content = json.loads((folder / "plan.json").read_text())
    del content["trials"][3]["identity"]
    (folder / "plan.json").write_text(json.dumps(content))
    return "plan.json: not a campaign's plan: trials.3.identity: Field required"


def _environment(folder: Path) -> str:
    (folder / "environment.json").write_text('{"hosts": 1}')
    return "environment.json: not a campaign's environment"


def _record(folder: Path) -> str:
    next(folder.glob("trials/*/record.json")).write_text('{"version": 2}')
    return "record.json: not a record of version 1"


@pytest.mark.parametrize(
    "spoil", [_no_json, _other_text, _nested, _no_plan, _a_folder, _half_a_trial, _environment, _record]
)
def test_what_is_broken_in_one_campaign_blocks_no_other(
    runs: Path, spoil: Callable[[Path], str], capsys: pytest.CaptureFixture[str]
) -> None:
    why = spoil(runs / BROKEN)
    assert campaigns.latest(REPORT).id == SECOND
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"left out: {runs / BROKEN}")
    assert why in line
    assert pipeline.judge_claims(REPORT, "", Console(file=StringIO())) == 0
    second = Campaign(runs / SECOND)
    assert [other.campaign.id for other in history.others(second)] == [FIRST]
    assert [one.id for one in address.pair(FIRST, SECOND)] == [FIRST, SECOND]
    assert summary.load_left(second) == ""
    assert "left out" not in capsys.readouterr().err, "once is enough"


def test_a_renamed_campaign_keeps_its_place_in_time(runs: Path) -> None:
    """The baseline of a comparison would else be what is held against it, and its verdict reversed."""
    shutil.rmtree(runs / BROKEN)
    (runs / FIRST).rename(runs / "zz-before-the-upgrade")
    assert [one.id for one in address.pair(REPORT)] == ["zz-before-the-upgrade", SECOND]
    assert campaigns.latest(REPORT).id == SECOND
    assert [one.id for one in campaigns_of([REPORT])] == [SECOND, "zz-before-the-upgrade"]
    listing = history.listed(Campaign(runs / SECOND))
    assert [one.id for one in listing.history.campaigns] == ["zz-before-the-upgrade", SECOND]


def test_a_copy_beside_its_campaign_counts_once(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(runs / BROKEN)
    shutil.copytree(runs / FIRST, runs / "a-backup")
    assert [folder.name for folder in campaigns.recorded(REPORT)] == [FIRST, SECOND]
    assert capsys.readouterr().err == f"left out: {runs / 'a-backup'}: a copy of {FIRST}, which counts once\n"
    assert [other.campaign.id for other in history.others(Campaign(runs / SECOND))] == [FIRST]
    shutil.rmtree(runs / FIRST)
    assert [folder.name for folder in campaigns.recorded(REPORT)] == ["a-backup", SECOND]


def test_a_campaign_of_half_written_records_alone_has_recorded_nothing(runs: Path) -> None:
    """What a run leaves that was killed while it wrote its first record."""
    for trial in (runs / BROKEN / "trials").iterdir():
        trial.rename(trial.with_name(f"{trial.name}.partial"))
    assert campaigns.latest(REPORT).id == address.find(REPORT).id == SECOND
    assert [folder.name for folder in campaigns.recorded(REPORT)] == [FIRST, SECOND]
    with pytest.raises(BadInput, match="nothing has been recorded in this campaign") as caught:
        address.find(str(runs / BROKEN))
    assert BROKEN not in str(caught.value.fix)


def test_the_broken_one_itself_is_refused_by_its_name(runs: Path) -> None:
    why = _no_json(runs / BROKEN)
    with pytest.raises(PlanBroken, match=rf"{BROKEN}/{why}.*Fix: restore it"):
        campaigns.latest(REPORT, BROKEN)
    with pytest.raises(BadInput, match=rf"{BROKEN}/plan\.json: a: not a campaign's plan"):
        address.pair(BROKEN, FIRST)
    with pytest.raises(BadInput, match=r"use one of .*its plan\.json cannot be read, 9 records"):
        address.pair("nothing", FIRST)


def test_a_report_that_has_nothing_else_says_so(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in runs.iterdir():
        _no_json(folder)
    with pytest.raises(BadInput, match=r"no recorded campaign to replay can be read\. Fix: restore one"):
        campaigns.latest(REPORT)
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_a_broken_plan_of_one_report_leaves_the_claims_of_the_others(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _no_json(runs / BROKEN)
    shutil.copytree(runs / BROKEN, runs.parent / "dm_1_0_ga" / BROKEN)
    names, which = cli._recorded(None)
    assert (names, which) == (["dm_1_0_ga", REPORT], "")
    statuses = cli._each(names, lambda name: pipeline.judge_claims(name, "", Console(file=StringIO())))
    assert statuses == [BadInput.exit_status, 0]


def test_a_broken_plan_that_asked_for_the_same_is_left_and_a_new_campaign_begun(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [Cell(table="t", system="x", levels={"threads": 2})]
    first = campaigns.start_or_continue("r", {}, plan(cells, 2, seed=1, asked={}), seed=1)
    why = _no_json(first.folder)
    second = campaigns.start_or_continue("r", {}, plan(cells, 2, seed=1, asked={}), seed=1)
    assert second.id != first.id
    assert why in capsys.readouterr().err
    assert campaigns.start_or_continue("r", {}, plan(cells, 2, seed=1, asked={}), seed=1).id == second.id


def test_a_broken_record_of_the_campaign_itself_is_not_passed_over(runs: Path) -> None:
    _record(runs / BROKEN)
    with pytest.raises(RecordBroken, match=BROKEN):
        Campaign(runs / BROKEN).missing()


# -- the files of many trials -------------------------------------------------------------------------------------


def test_what_is_missing_is_what_was_planned_and_has_no_record(runs: Path) -> None:
    before = Campaign(runs / SECOND)
    assert len(before.records()) == len(before.trials) == 9
    shutil.rmtree(runs / SECOND / "trials" / before.trials[4].id)

    found = Campaign(runs / SECOND)
    assert [trial.id for trial in found.missing()] == [before.trials[4].id]
    assert found.done() == {trial.id for trial in before.trials} - {before.trials[4].id}
    assert [r.id for r in found.records()] == [t.id for t in before.trials if t != before.trials[4]]
    assert campaigns.latest(REPORT, SECOND).failures() == []


def test_the_identity_of_a_trial_is_the_digest_of_all_that_was_asked() -> None:
    asked = {"z": [1, 2.5, None], "a": {"ü": "“", "b": True}, "hosts": {}}
    cell = Cell(table="t", system="x", levels={"workload": "ü", "threads": 2, "share": 0.1})
    one, two = plan([cell], 2, seed=1, asked=asked)
    assert [one.identity, two.identity] == [digest([cell.model_dump(), n, asked]) for n in (1, 2)]


# -- executed notebooks -------------------------------------------------------------------------------------------


def test_two_runs_of_one_report_at_once_each_keep_their_own_notebook(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    report, said = "r", Console(file=StringIO())
    runs = paths.runs_dir(report)
    for name in ("one", "two"):
        (runs / name).mkdir(parents=True)
    ended: dict[str, notebook_run.Executed] = {}

    def papermill(_: str, parameters: dict[str, str], target: Path) -> None:
        name, progress = parameters["campaign"], Path(os.environ[notebook_run.PROGRESS_FILE])
        target.write_text(name)
        if name == "one":
            ended["two"] = notebook_run.execute(report, {"campaign": "two"}, said)
        with progress.open("a") as out:
            out.write(json.dumps({"campaign": name}) + "\n")

    monkeypatch.setattr(notebook_run, "run_cells", papermill)
    monkeypatch.setattr(notebook_run, "_end_kernels", lambda: None)
    ended["one"] = notebook_run.execute(report, {"campaign": "one"}, said)
    assert {name: done.notebook.read_text() for name, done in ended.items()} == {"one": "one", "two": "two"}
    assert {name: done.notebook for name, done in ended.items()} == {
        name: runs / name / "executed.ipynb" for name in ("one", "two")
    }


def test_a_run_without_a_campaign_keeps_its_notebook_and_the_last_ten_stay(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notebook_run, "run_cells", lambda _, parameters, target: target.write_text(parameters["n"]))
    monkeypatch.setattr(notebook_run, "_end_kernels", lambda: None)
    done = [notebook_run.execute("r", {"n": str(n)}, Console(file=StringIO())) for n in range(12)]
    assert {one.notebook.parent for one in done} == {paths.runs_dir("r") / "executed"}
    assert [one.notebook.read_text() for one in done if one.notebook.exists()] == [str(n) for n in range(1, 12)]
    assert campaigns.recorded("r") == []
