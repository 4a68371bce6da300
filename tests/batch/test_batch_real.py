"""Two reports on two labs of one machine, as a batch of real runs, one of whose workers is killed in mid-trial."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest
from fault_campaign import home as round_home
from kit import OFFERED, PATIENCE_S, PROFILE, REPORT, Home, inventory, until, words_of

from benchbook.campaign.store import Campaign

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(1500)]

POSTGRES = "pgcat_pgbench"
LABS = {"lab_one": 40, "lab_two": 50}
# Of each report one system at one level; what the other report's parameters would make of it is left out.
PLAN: dict[str, Any] = {
    "reports": [REPORT, POSTGRES],
    "inventories": list(LABS),
    "profiles": ["tiny"],
    "parameters": {
        "threads": [[1]],
        "systems": [["mariadb"], ["postgresql"]],
        "workloads": [["oltp_point_select"], ["select_only"]],
    },
    "exclude": [
        {"report": REPORT, "parameters": {"systems": ["postgresql"]}},
        {"report": REPORT, "parameters": {"workloads": ["select_only"]}},
        {"report": POSTGRES, "parameters": {"systems": ["mariadb"]}},
        {"report": POSTGRES, "parameters": {"workloads": ["oltp_point_select"]}},
    ],
}
TRIALS = {REPORT: ["r01-mariadb-oltp_point_select-threads1", "r02-mariadb-oltp_point_select-threads1"],
          POSTGRES: ["r01-postgresql-select_only-threads1-postgresql",
                     "r02-postgresql-select_only-threads1-postgresql"]}  # fmt: skip
SIZE: dict[str, Any] = {
    **PROFILE,
    "sysbench": {**PROFILE["sysbench"], "rate": OFFERED},
    "loads": {"pgbench": {"scale": 1, "time_s": 2, "rate": OFFERED}},
}
# What a serial run's campaign holds beside the records, and a record's folder.
FILES = {"environment.json", "executed.ipynb", "plan.json", "results.json", "trials"}
RECORD = {"output.txt", "record.json", "series.parquet"}


@pytest.fixture
def labs_home(tmp_path: Path, net: str) -> Home:
    """A checkout with two labs that never were up, each of one server and one client."""
    home = Home.make(tmp_path / "home", net)
    for name in (REPORT, POSTGRES):
        notebook = home.path / "notebooks" / f"{name}.ipynb"
        notebook.write_text(round_home.without_figures(notebook.read_text()))
    home.write("env/profiles/tiny.yaml", SIZE)
    for name, first in LABS.items():
        hosts = {
            "executor": {"address": f"{net}.{first}", "roles": ["client"]},
            "db1": {"address": f"{net}.{first + 1}", "roles": ["tidb", "mysql", "postgresql", "pgbouncer"]},
        }
        systems = {**inventory(net)["systems"]}
        systems["postgresql"] = {"user": "postgres", "password_file": ".lab/secrets/database"}
        home.write(f"env/hosts/{name}.yaml", {**inventory(net), "hosts": hosts, "systems": systems})
    return home


@pytest.fixture
def batch(labs_home: Home) -> Iterator[subprocess.Popen[str]]:
    """`benchbook batch`, ended as by Ctrl-C where the test breaks off."""
    started = labs_home.start("batch", str(labs_home.write("plan.yaml", PLAN)))
    yield started
    if started.poll() is None:
        os.killpg(started.pid, signal.SIGINT)
        print(started.communicate()[0], *logs(labs_home))


def logs(home: Home) -> list[str]:
    """What each cell said, by its number."""
    return [log.read_text() for log in sorted(home.path.glob("data/runs/batches/*/*.log"))]


def kill_the_worker_of(batch: subprocess.Popen[str], lab: str) -> None:
    """The process guard of the cell that runs there is a child of its worker."""
    family = psutil.Process(batch.pid).children(recursive=True)
    (guard,) = [
        p for p in family if "process_guard.py" in (line := " ".join(words_of(p))) and f"--inventory {lab} " in line
    ]
    guard.parent().kill()


def campaigns(home: Home) -> dict[tuple[str, str], Campaign]:
    """By report and inventory; a second one of the same fails the test."""
    every = [Campaign(plan.parent) for plan in (home.path / "data" / "runs").glob("*/*/plan.json")]
    found = {(campaign.report, campaign.inventory): campaign for campaign in every}
    assert len(found) == len(every)
    return found


def test_two_reports_on_two_labs_and_a_worker_that_is_killed(labs_home: Home, batch: subprocess.Popen[str]) -> None:
    def in_mid_trial() -> bool:
        """A load runs in the first lab, whose cell has recorded a trial."""
        assert batch.poll() is None, batch.communicate()[0]
        # To look for files costs less than to look at every process.
        recorded = list(labs_home.path.glob(f"data/runs/{REPORT}/*/trials/*/record.json"))
        return bool(recorded) and bool(labs_home.processes("lab_one", "sysbench", " run ", "--config-file="))

    until(in_mid_trial, "a cell is in mid-trial", within_s=5 * PATIENCE_S)
    kill_the_worker_of(batch, "lab_one")
    said, _ = batch.communicate(timeout=6 * PATIENCE_S)
    assert batch.returncode == 0, "\n".join([said, *logs(labs_home)])
    # As by Ctrl-C, and then once more.
    assert [log.count("interrupted; what was recorded stays") for log in logs(labs_home)] == [1, 0, 0, 0]
    found = campaigns(labs_home)
    assert set(found) == {(report, lab) for report in (REPORT, POSTGRES) for lab in LABS}
    for campaign in found.values():
        is_whole(campaign)
    for report in TRIALS:
        is_alike([found[report, lab] for lab in LABS])
    for lab in LABS:
        take_turns([found[report, lab] for report in TRIALS])
    assert not labs_home.processes()


def is_whole(campaign: Campaign) -> None:
    """Every trial of the plan has one record, none was tried in vain, and nothing else lies there."""
    assert sorted(record.id for record in campaign.records()) == TRIALS[campaign.report]
    assert sorted(trial.id for trial in campaign.trials) == TRIALS[campaign.report]
    assert {path.name for path in (campaign.folder / "trials").iterdir()} == set(TRIALS[campaign.report])
    assert {path.name for path in campaign.folder.iterdir()} >= FILES
    assert not list(campaign.folder.glob("failed/*")), campaign.failures()
    assert not list(campaign.folder.glob("disturbed/*"))


def is_alike(both: Sequence[Campaign]) -> None:
    """Versions, files, and the words and columns of records are the same, killed or not."""
    one, other = ({record.id: record for record in campaign.records()} for campaign in both)
    for name, mine in one.items():
        yours = other[name]
        assert mine.summary.keys() == yours.summary.keys()
        assert {path.name for path in (both[0].folder / "trials" / name).iterdir()} == RECORD
        here, there = sampled(both[0], name), sampled(both[1], name)
        # On starved cores a probe of a load this short may come to one look, and one source may have no rates there.
        assert "host" in here.keys() & there.keys()
        few = set.union(*(seldom_looked(campaign, name) for campaign in both))
        for source in here.keys() & there.keys():
            one_has_less = here[source] <= there[source] or there[source] <= here[source]
            assert here[source] == there[source] or (source in few and one_has_less), source
    versions = [{name: about.version for name, about in c.environment().systems.items()} for c in both]
    assert versions[0] == versions[1] != {}


def sampled(campaign: Campaign, trial: str) -> dict[str, set[tuple[str, ...]]]:
    """What was sampled, by source, beside the programs of others, who come and go, and a clock that was set."""
    series = campaign.series(trial).query("source != 'others' and metric != 'clock.step_s'")
    return {
        str(source): set(part[["metric", "unit"]].astype(str).itertuples(index=False, name=None))
        for source, part in series.groupby("source", observed=True)
    }


def seldom_looked(campaign: Campaign, trial: str) -> set[str]:
    """Probes that looked less than three times on a host: two make a rate, and one across a server's start is none."""
    looks = campaign.series(trial).query("metric == 'heartbeat.late_s'").groupby(["source", "host"], observed=True)
    return {str(source) for (source, _), count in looks.size().items() if count < 3}


def take_turns(there: Sequence[Campaign]) -> None:
    """No load on an inventory began before the one before it had ended."""
    loads = sorted((record.started, record.ended) for campaign in there for record in campaign.records())
    assert len(loads) == len(there) * 2
    assert all(ended < began for (_, ended), (began, _) in pairwise(loads))
