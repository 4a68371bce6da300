"""The notebooks: complete, thin, without outputs, and strict about their parameters."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
import papermill
import pytest
from kit import OFFERED, PATIENCE_S, ROOT, Home

import benchbook
from benchbook import parameters, pipeline
from benchbook.campaign.store import Campaign
from benchbook.compare import NOTEBOOK
from benchbook.compare.report_history import NOTEBOOK as HISTORY
from benchbook.compare.report_history import HistoryParameters
from benchbook.compare.view import CompareParameters
from benchbook.errors import BadInput
from benchbook.hosts.inventory import Inventory
from benchbook.report import TrialsFailed
from benchbook.reports.kind import kind_of
from benchbook.reports.load.load_kind import LoadParameters
from benchbook.user_input.strict_yaml import yaml_text

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# Run by tests and by hand, and no report of anybody.
EXPLORE = "explore"
REPORTS = [path.stem for path in NOTEBOOKS if path.stem not in (NOTEBOOK, EXPLORE, HISTORY)]
by_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code(path: Path) -> list[Any]:
    return [cell for cell in nbformat.read(str(path), as_version=4).cells if cell.cell_type == "code"]


def test_every_notebook_is_in_a_run_list() -> None:
    """Reports: `make report`. Comparison, history: `--page`, tests of their own. Explore: test_own_analyses.py."""
    assert sorted([*pipeline.reports(), NOTEBOOK, EXPLORE, HISTORY]) == [path.stem for path in NOTEBOOKS]
    assert pipeline.reports() == REPORTS


# Of what a user may ask for, what leaves most tables of a report out.
NARROW: dict[str, dict[str, Any]] = {
    "ddt_full_scale": {"engines": ["mongodump"]},
    "dm_1_0_ga": {"tables": ["dump"]},
    "dtm_mysql": {"rungs": ["no_dtm:2"], "fail": 0.0, "sysbench": False},
    "etcd_3_2_performance": {"workloads": ["range_serializable"], "killed": []},
    "tidb_v7_1_3_sysbench": {"workloads": ["oltp_insert"], "threads": [1]},
}


@pytest.mark.parametrize(("report", "asked"), [*((name, {}) for name in REPORTS), *NARROW.items()])
def test_a_campaign_without_a_measured_trial_ends_with_its_failures_and_results(
    report: str, asked: dict[str, Any], tmp_path: Path
) -> None:
    """Every load has failed: there is nothing to analyse, and which and why is what the page is for."""
    home = Home.make(tmp_path / "home")
    shutil.copytree(ROOT / "env" / "hosts", home.path / "env" / "hosts", dirs_exist_ok=True)
    with home.in_force():
        planned = benchbook.open_report(report, **asked).campaign
        opened = benchbook.open_report(report, replay=True, campaign=planned.id)
        with pytest.raises(TrialsFailed, match=f"{len(planned.trials)} of {len(planned.trials)} trials") as told:
            opened.run()
        # Whether there are more than those it names.
        assert ("…" in str(told.value)) == (len(planned.trials) > 5)
    assert (planned.folder / "results.json").is_file()


@by_notebook
def test_no_output_is_committed(path: Path) -> None:
    assert [(c.outputs, c.execution_count) for c in code(path)] == [([], None)] * len(code(path))


@by_notebook
def test_one_cell_holds_every_parameter_and_its_default_is_valid(path: Path) -> None:
    tagged = [cell for cell in code(path) if "parameters" in cell.metadata.get("tags", [])]
    assert len(tagged) == 1
    given = parameters.defaults(path.stem)
    if path.stem == EXPLORE:
        return
    own = {NOTEBOOK: CompareParameters, HISTORY: HistoryParameters}
    model = own[path.stem] if path.stem in own else kind_of(path.stem).Parameters
    assert set(given) <= set(model.model_fields)
    opened = next(cell.source for cell in code(path) if "open_" in cell.source and "=" in cell.source)
    assert [name for name in given if f"{name}={name}" not in opened] == []
    checked = parameters.check(model, path.stem, given)
    assert path.stem in own or checked.profile == "smoke"


@by_notebook
def test_no_cell_takes_the_name_of_a_parameter(path: Path) -> None:
    """After a run the cell that opens the report would read what an analysis has put in its place."""
    others = [cell.source for cell in code(path) if "parameters" not in cell.metadata.get("tags", [])]
    nodes = [node for source in others for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)]
    stored = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
    assert not stored & set(parameters.defaults(path.stem))


# -- parameters ---------------------------------------------------------------------------------------------------

NAME = "tidb_v7_1_3_sysbench"


@by_notebook
def test_papermill_knows_every_parameter(path: Path) -> None:
    """It reads none from a line with a second equals sign, and warns of it in every run."""
    (source,) = [cell.source for cell in code(path) if "parameters" in cell.metadata.get("tags", [])]
    assert set(papermill.inspect_notebook(str(path))) == {line.partition(":")[0] for line in source.splitlines()}


def test_a_report_has_the_parameters_of_its_notebook_and_those_that_are_given() -> None:
    opened = benchbook.open_report(NAME, threads=[3]).parameters
    assert isinstance(opened, LoadParameters)
    assert (opened.threads, opened.profile, opened.names()) == ([3], "smoke", ["tidb"])


@pytest.mark.parametrize(
    ("name", "value"),
    [("threads", [0]), ("threads", "50"), ("threads", [1.5]), ("repetitions", -1), ("repetitions", "3"), ("seed", True),
     ("time_s", 86_401), ("replay", "yes"), ("systems", "tidb"), ("systems", '["tidb"'), ("threads", "[0]"),
     ("profile", 3)],
)  # fmt: skip
def test_a_value_of_another_kind_is_refused(name: str, value: Any) -> None:
    with pytest.raises(BadInput) as caught:
        parameters.check(LoadParameters, NAME, {"inventory": "x", name: value})
    assert str(caught.value.key).split(".")[0] == name
    assert caught.value.fix


def test_a_campaign_without_a_replay_is_no_run() -> None:
    given = {**parameters.defaults(NAME), "campaign": "20261122T091115497316-d03bde2ab846"}
    with pytest.raises(BadInput, match=rf"{NAME}\.ipynb: campaign: it names a recorded .*Fix: give replay = True"):
        parameters.check(LoadParameters, NAME, given)
    assert parameters.check(LoadParameters, NAME, {**given, "replay": True}).campaign == given["campaign"]


def test_a_list_may_come_as_text_as_papermill_passes_it_on() -> None:
    given = {"inventory": "x", "systems": '["tidb","mariadb"]', "threads": "[2, 3]", "workloads": []}
    found = parameters.check(LoadParameters, NAME, given)
    assert (found.systems, found.threads, found.workloads) == (["tidb", "mariadb"], [2, 3], [])


@pytest.mark.parametrize(
    ("source", "tags", "said"),
    [
        ("a = 1", [], "no cell is tagged `parameters`"),
        ("a = open('x')", ["parameters"], r"a: a parameter must be written out, it is not run \(got .open\('x'\)"),
    ],
)
def test_a_notebook_whose_parameters_cannot_be_read(home: Home, source: str, tags: list[str], said: str) -> None:
    cell = nbformat.v4.new_code_cell(source, metadata={"tags": tags})
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    written = nbformat.v4.new_notebook(cells=[cell], metadata=kernel)
    nbformat.write(written, home.path / "notebooks" / f"{NAME}.ipynb")
    with pytest.raises(BadInput, match=said):
        parameters.defaults(NAME)


@pytest.mark.slow
@pytest.mark.real
def test_papermill_s_own_command_line_restages_two_systems(lab_home: Home, lab: Inventory) -> None:
    before = set(lab_home.campaigns())
    given = {"profile": "tiny", "inventory": lab.name, "systems": '["tidb","mariadb"]', "repetitions": "1",
             "workloads": '["oltp_point_select"]', "threads": "[2]", "rate": str(OFFERED),
             # A campaign of its own, also where this test runs again.
             "seed": str(time.time_ns() % 1_000_000)}  # fmt: skip
    words = [word for name, value in given.items() for word in ("-p", name, value)]
    done = subprocess.run(
        [sys.executable, "-m", "papermill", lab_home.path / "notebooks" / f"{NAME}.ipynb", lab_home.path / "out.ipynb",
         *words],
        cwd=lab_home.path, env=lab_home.environment, text=True, capture_output=True, check=False,
        timeout=PATIENCE_S * 3,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (campaign,) = (Campaign(folder) for folder in set(lab_home.campaigns()) - before)
    assert sorted(record.system for record in campaign.records()) == ["mariadb", "tidb"]
    assert campaign.failures() == []


def test_a_share_may_be_written_with_an_exponent() -> None:
    """Readers of YAML 1.1 take 1e-3 for text: a batch passed it on so, and its cell was refused."""
    known = parameters.defaults("dtm_mysql")
    model = kind_of("dtm_mysql").Parameters
    assert parameters.check(model, "dtm_mysql", {**known, "fail": yaml_text("1e-3")}).fail == 0.001
    with pytest.raises(BadInput, match=r"fail: Input should be a valid number \(got 'some'\)"):
        parameters.check(model, "dtm_mysql", {**known, "fail": "some"})
