"""A campaign as an RO-Crate: what the profiles require is there, and the zip holds the campaign."""

from __future__ import annotations

import io
import json
import os
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from kit import FIXTURES, Home
from rich.console import Console

import benchbook
from benchbook import crate
from benchbook.campaign import design
from benchbook.campaign import store as campaigns
from benchbook.campaign.record import Failure
from benchbook.campaign.store import Campaign
from benchbook.errors import BadInput

TIDB = "tidb_v7_1_3_sysbench"
LATEST = "20261122T091115497316-d03bde2ab846"


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zip of a recorded campaign with its results, opened into a folder."""
    home = Home.make(tmp_path_factory.mktemp("archive") / "home")
    target = home.path / "data" / "runs" / TIDB / LATEST
    shutil.copytree(FIXTURES / "replays" / TIDB / LATEST, target)
    with_a_search(target)
    measured_by(target, "0.0.9 (commit 123456789abc)")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHBOOK_HOME", str(home.path))
        benchbook.open_campaign(LATEST).finish()
        noted = {"cells": [], "metadata": {"papermill": {"parameters": {"profile": "smoke", "seed": 1, "systems": []}}}}
        (target / "executed.ipynb").write_text(json.dumps({**noted, "nbformat": 4, "nbformat_minor": 5}))
        path = crate.archive(TIDB, "", crate.LICENSE, Console(quiet=True))
    assert path == home.path / "site" / TIDB / LATEST / "crate.zip"
    folder = path.parent / "opened"
    zipfile.ZipFile(path).extractall(folder)
    return folder


def measured_by(campaign: Path, kit: str) -> None:
    """Say in a recorded campaign which checkout measured it."""
    said = json.loads((campaign / "environment.json").read_text())
    runs = [{**run, "kit": kit} for run in said.get("runs", [])] or [{"began": 0, "ended": 1, "kit": kit}]
    (campaign / "environment.json").write_text(json.dumps({**said, "runs": runs}))


def with_a_search(campaign: Path) -> None:
    """A search for the knee in its folder: its own loads once more, as those of the search."""
    plan = json.loads((campaign / "plan.json").read_text())
    asked, trials = {**plan["asked"], "slo": {"p99_ms": 10}}, Campaign(campaign).trials
    cells = [trial.cell for trial in trials]
    search = campaigns.begin_at(
        campaign / "knee" / "0123456789ab", TIDB, asked, design.plan(cells[:1], 1, seed=1, asked=asked), seed=1
    )
    shutil.copy(campaign / "environment.json", search.folder)
    (trial,) = search.trials
    load = shutil.copytree(campaign / "trials" / trial.id, search.folder / "trials" / trial.id)
    said = json.loads((load / "record.json").read_text())
    (load / "record.json").write_text(json.dumps({**said, "identity": trial.identity, "campaign": search.id}))


@pytest.fixture(scope="module")
def entities(packed: Path) -> dict[str, dict[str, Any]]:
    said = json.loads((packed / "ro-crate-metadata.json").read_text())
    return {entity["@id"]: entity for entity in said["@graph"]}


@pytest.mark.parametrize("license", ["foo", "Apache-2.0", "ftp://a/b", "https://", "http://a b", "file:///etc/passwd"])
def test_a_licence_is_an_address(runs: Path, license: str) -> None:
    with pytest.raises(BadInput, match=r"^license: is no address .*Fix: give its address, such as https://spdx\.org/"):
        crate.archive(TIDB, "", license, Console(quiet=True))
    assert not (runs.parents[1] / "site").exists()


def test_no_zip_takes_the_place_of_a_pipe_or_a_device(runs: Path, tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    with pytest.raises(BadInput, match="out: is no file"):
        crate.archive(TIDB, str(pipe), crate.LICENSE, Console(quiet=True))
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("content", "said"),
    [("{", r" \(got .+\)"), ("[]", r" \(got .+\)"), ('{"metadata": null}', ": .* it's missing a key: cells")],
)
def test_an_executed_notebook_that_is_none_is_named(runs: Path, content: str, said: str) -> None:
    (runs / TIDB / LATEST / "executed.ipynb").write_text(content)
    fix = rf"draw it anew: benchbook site {LATEST}"
    with pytest.raises(BadInput, match=rf"executed\.ipynb: the file: is not a notebook{said}\. Fix: {fix}"):
        crate.archive(TIDB, "", crate.LICENSE, Console(quiet=True))


@pytest.mark.parametrize("folder", ["trials", "disturbed"])
def test_a_series_that_is_cut_off_is_refused(runs: Path, home: Home, tmp_path: Path, folder: str) -> None:
    """It was packed, and only who imported the zip found out."""
    trial = next((home.path / "data" / "runs" / TIDB / LATEST / "trials").iterdir())
    if folder != "trials":
        said = json.loads((trial / "record.json").read_text())
        trial = shutil.copytree(trial, trial.parent.parent / folder / f"{trial.name}.1")
        changed = {"id": trial.name, "status": "disturbed", "disturbed": ["stopped"]}
        (trial / "record.json").write_text(json.dumps({**said, **changed}))
    series = trial / "series.parquet"
    series.write_bytes(series.read_bytes()[:1000])
    target = tmp_path / "crate.zip"
    with pytest.raises(BadInput, match=r"series\.parquet: cannot be read") as caught:
        crate.archive(LATEST, str(target), crate.LICENSE, Console(quiet=True))
    assert caught.value.value == trial.name
    assert list(tmp_path.glob("*.zip")) == []


def test_a_campaign_that_is_not_finished_is_packed_and_said(runs: Path, tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), width=300)
    planned = len(Campaign(runs / TIDB / LATEST).trials)
    crate.archive(TIDB, str(tmp_path / "whole.zip"), crate.LICENSE, console)
    assert "not finished" not in console.file.getvalue()  # type: ignore[attr-defined]
    shutil.rmtree(next((runs / TIDB / LATEST / "trials").glob("r*")))
    crate.archive(TIDB, str(tmp_path / "part.zip"), crate.LICENSE, console)
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert f"not finished: {LATEST} has {planned - 1} of {planned} trials" in said


def test_what_left_no_result_is_in_it_with_its_reason(runs: Path, tmp_path: Path) -> None:
    """Two failed attempts at a trial that was measured in the end, and two measurements that were disturbed."""
    campaign = runs / TIDB / LATEST
    done = Campaign(campaign).records()[0]
    keep = Campaign(campaign).keep
    for number in (1, 2):
        why = Failure(kind="WorkloadFailed", message=f"FATAL {number}")
        keep(done.model_copy(update={"status": "failed", "failure": why, "summary": {}}), pd.DataFrame(), "")
        said = [f"stopped {number}", "a clock jump"]
        keep(done.model_copy(update={"status": "disturbed", "disturbed": said}), pd.DataFrame(), "")
    packed = crate.archive(TIDB, str(tmp_path / "x.zip"), crate.LICENSE, Console(quiet=True))
    with zipfile.ZipFile(packed) as held:
        names = set(held.namelist())
        found = {one["@id"]: one for one in json.loads(held.read("ro-crate-metadata.json"))["@graph"]}
    for status, reasons in (("failed", ["FATAL {}"]), ("disturbed", ["stopped {}", "a clock jump"])):
        for number in (1, 2):
            assert f"{status}/{done.id}.{number}/record.json" in names
            action = found[f"#action-{status}-{done.id}.{number}"]
            assert action["error"] == "; ".join(reasons).format(number)
            assert action["actionStatus"] == "http://schema.org/FailedActionStatus"
    assert "executed notebook" not in found["./"]["description"]


def kinds(entity: dict[str, Any]) -> set[str]:
    found = entity["@type"]
    return {found} if isinstance(found, str) else set(found)


def ids(value: Any) -> set[str]:
    return {one["@id"] for one in (value if isinstance(value, list) else [value])}


def test_it_holds_the_campaign(packed: Path) -> None:
    recorded, home = FIXTURES / "replays" / TIDB / LATEST, packed.parents[3]
    for path in (path.relative_to(recorded) for path in recorded.rglob("*") if path.is_file()):
        assert (packed / path).read_bytes() == (home / "data" / "runs" / TIDB / LATEST / path).read_bytes()
    for name in ("results.json", "executed.ipynb", f"{TIDB}.ipynb", "published/report.yaml", "plan.json"):
        assert (packed / name).is_file(), name


def test_it_holds_the_search_for_the_knee(packed: Path, entities: dict[str, dict[str, Any]]) -> None:
    """With its plan, its environment, and an action for its load."""
    search = packed / "knee" / "0123456789ab"
    (load,) = [path.name for path in (search / "trials").iterdir()]
    assert {path.name for path in (search / "trials" / load).iterdir()} == {
        "record.json",
        "series.parquet",
        "output.txt",
    }
    action = entities[f"#action-knee-0123456789ab-trials-{load}"]
    assert ids(action["object"]) == {"knee/0123456789ab/plan.json"}
    assert entities["knee/0123456789ab/plan.json"]["name"].startswith(
        "the search for the highest rate with a p99 of 10 ms"
    )
    assert (search / "plan.json").is_file()
    assert (search / "environment.json").is_file()


def test_the_root_says_what_the_profiles_require(entities: dict[str, dict[str, Any]]) -> None:
    """Workflow Run Crate 0.5 and Workflow RO-Crate 1.0: conformsTo, mainEntity, license, name, description, date."""
    root = entities["./"]
    assert ids(root["conformsTo"]) == {
        "https://w3id.org/ro/wfrun/process/0.5", "https://w3id.org/ro/wfrun/workflow/0.5",
        "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
    }  # fmt: skip
    assert root["name"]
    assert root["description"]
    assert root["datePublished"]
    assert root["license"]
    workflow = entities[root["mainEntity"]["@id"]]
    assert kinds(workflow) >= {"File", "SoftwareSourceCode", "ComputationalWorkflow"}
    assert entities[workflow["programmingLanguage"]["@id"]]["name"] == "Jupyter Notebook"


def test_the_notebook_ran_with_these_values_and_left_these_files(entities: dict[str, dict[str, Any]]) -> None:
    workflow = entities["./"]["mainEntity"]["@id"]
    (run,) = [one for one in entities.values() if "CreateAction" in kinds(one) and ids(one["instrument"]) == {workflow}]
    values = [entities[each] for each in ids(run["object"]) if "PropertyValue" in kinds(entities[each])]
    assert {one["name"]: one["value"] for one in values} == {"profile": "smoke", "seed": 1}
    for one in values:
        parameter = entities[one["exampleOfWork"]["@id"]]
        assert kinds(parameter) == {"FormalParameter"}
        assert parameter["name"] == one["name"]
        assert parameter["@id"] in ids(entities[workflow]["input"])
    assert {"plan.json", "published/"} <= ids(run["object"])
    assert {"results.json", "executed.ipynb", "environment.json"} <= ids(run["result"])
    assert run["startTime"] < run["endTime"]
    assert run["actionStatus"] == "http://schema.org/CompletedActionStatus"


def test_every_trial_is_an_action_of_the_load_generator(packed: Path, entities: dict[str, dict[str, Any]]) -> None:
    tool = entities["#program-load"]
    assert (tool["name"], tool["softwareVersion"][:2]) == ("sysbench", "1.")
    actions = [
        one for one in entities.values() if "CreateAction" in kinds(one) and ids(one["instrument"]) == {tool["@id"]}
    ]
    loads = [*(packed / "trials").iterdir(), *packed.glob("knee/*/trials/*")]
    assert {one for action in actions for one in ids(action["result"])} == {
        f"{path.relative_to(packed)}/" for path in loads
    }
    for action in actions:
        (result,) = ids(action["result"])
        record = json.loads((packed / result / "record.json").read_text())
        assert action["description"] == record["command"]
        assert "Dataset" in kinds(entities[result])


def test_every_reference_leads_somewhere(packed: Path, entities: dict[str, dict[str, Any]]) -> None:
    def references(value: Any) -> set[str]:
        if isinstance(value, list):
            return {one for each in value for one in references(each)}
        return {value["@id"]} if isinstance(value, dict) and set(value) == {"@id"} else set()

    wanted = {one for entity in entities.values() for value in entity.values() for one in references(value)}
    assert {one for one in wanted - entities.keys() if not one.startswith("http")} == set()
    parts = {name for name, one in entities.items() if kinds(one) & {"File", "Dataset"} and name != "./"}
    assert all((packed / name).exists() for name in parts)
