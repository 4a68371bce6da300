"""dm-worker killed, TiDB killed, a task paused by DM, a dump that hangs: failed with its own words, then retried."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
from begun import as_one_that_breaks, begun
from kit import LAB_SSH, OWN_PROBES, PROFILE, Home, words_of

from benchbook import paths
from benchbook.analysis import cpu_use
from benchbook.build.programs import is_built
from benchbook.campaign import run as campaign_run
from benchbook.campaign.design import Trial
from benchbook.campaign.experiment import Measurement
from benchbook.campaign.store import Campaign
from benchbook.errors import WorkloadFailed
from benchbook.hosts import lab as labs
from benchbook.hosts.command_line import quote
from benchbook.hosts.inventory import load_inventory
from benchbook.reports.dm import dm_kind
from benchbook.reports.dm.replication import DmReplication
from benchbook.reports.dm.task import TASK
from benchbook.systems.dm_config import META
from benchbook.systems.dm_server import DM
from benchbook.systems.sql import connection, queries, query

pytestmark = [pytest.mark.real, pytest.mark.slow]

REPORT, WHERE = "dm_1_0_ga", "lab_dm_test"
CHECKPOINTS = f"SELECT COUNT(*) FROM `{META}`.`{TASK}_syncer_checkpoint`"
SIZE = {"large_rows": 500, "small_rows": 20_000, "sync_rows": 500, "split_rows": 2500, "time_s": 4, "rate": 600,
        "stall_s": 20, "sample_s": 0.5}  # fmt: skip


@dataclass
class Faulty(DmReplication):
    """Breaks something once, when the first rate of a trial is reported: in the middle of its load."""

    faults: dict[str, Callable[[DmReplication], None]] = field(default_factory=dict)
    between: Callable[[], None] = lambda: None

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        def breaking(seconds: float, rate: float) -> None:
            fault = self.faults.pop(_kind(trial), None)
            if fault:
                fault(self)
            self.between()

        return super().measure(trial, breaking)


def _kind(trial: Trial) -> str:
    return f"{trial.cell.table} {trial.cell.levels.get('worker_count', '')}".strip()


@pytest.fixture(scope="module")
def dm_home(tmp_path_factory: pytest.TempPathFactory, net: str) -> Iterator[Home]:
    """A lab of three hosts, which the tests share, with the upstream's prepared data."""
    if not all(is_built(name) for name in ("dm", "tidb")):
        pytest.fail("DM and TiDB must be built first: run `make build`")
    home = Home.make(tmp_path_factory.mktemp("dm") / "home", net)
    roles = {"dm": ["dm-worker", "dm-master"], "mysql": ["mysql", "client"], "tidb": ["tidb"]}
    hosts = {name: {"address": f"{net}.{41 + i}", "roles": mine} for i, (name, mine) in enumerate(roles.items())}
    secret = {"password_file": ".lab/secrets/database"}
    systems = {"tidb": {"port": 4000, "status_port": 10080, **secret}, "mysql57": {"port": 3306, **secret}}
    home.write(f"env/hosts/{WHERE}.yaml", {"lab": True, "ssh": LAB_SSH, "hosts": hosts, "systems": systems})
    home.write("env/profiles/tiny.yaml", {**PROFILE, "dm": SIZE, "probes": list(OWN_PROBES)})
    for name, text in OWN_PROBES.items():
        home.write(f"env/probes/{name}.py", text)
    with home.in_force():
        labs.up(load_inventory(WHERE), by_hand=True)
        yield home
        labs.down(load_inventory(WHERE))


def _planned(*tables: str) -> tuple[Faulty, Campaign]:
    made, campaign = begun(
        REPORT,
        dm_kind.DmParameters(
            inventory=WHERE, profile="tiny", tables=list(tables), pool_sizes=[2], worker_counts=[8, 16]
        ),
    )
    return as_one_that_breaks(Faulty, made), campaign


@dataclass
class OnFullDisk(Faulty):
    """The disk of the target's host takes nothing more, and DM's task stands still, as it did with TiDB's log full."""

    def _full(self, *_: object) -> Any:
        (host,) = self.pipeline.target.hosts
        host.run(f"head -c 1G /dev/zero > {quote([host.path('full')])} || true")
        raise WorkloadFailed("DM's task has not moved")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_target_whose_disk_is_full_is_blamed_for_a_load_that_stands_still(dm_home: Home) -> None:
    with dm_home.in_force():
        work = paths.lab_dir() / WHERE / "tidb" / "work"
        work.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700m,mode=700", "none", str(work)], check=True)
        try:
            faulty, run = _planned("load_pool_size")
            experiment = as_one_that_breaks(OnFullDisk, faulty)
            campaign_run.run(run, experiment, lambda progress: None, tries=1)
        finally:
            subprocess.run(["umount", "--lazy", str(work)], check=True)
        (failed,) = run.failures()
    assert failed.failure is not None
    assert failed.failure.message == "no space is left on the disk of tidb: DM's task has not moved"


def _drop_table(experiment: DmReplication) -> None:
    """And write to it upstream: on a busy machine DM may have applied the whole load before the table goes."""
    target, upstream = experiment.pipeline.target, experiment.pipeline.upstream
    query(target.hosts[0], target.endpoints()[0], "DROP TABLE dm_sync.sbtest1")
    queries(upstream.hosts[0], upstream.endpoints()[0], ["DELETE FROM dm_sync.sbtest1 ORDER BY id LIMIT 1"])


def test_what_breaks_is_recorded_in_dms_own_words_and_the_next_run_is_whole(dm_home: Home) -> None:
    def kill(*words: str) -> Callable[[Any], None]:
        def fault(_: DmReplication) -> None:
            victims = [p for p in dm_home.processes(*words) if "agent.py" not in " ".join(words_of(p))]
            assert victims, words
            for victim in victims:
                victim.kill()

        return fault

    experiment, run = _planned("load_pool_size", "sync_worker_count")
    experiment.faults = {
        "load_pool_size": kill("/tidb-server", "unistore"),
        "sync_worker_count 8": kill("/dm-worker", "-config"),
        "sync_worker_count 16": _drop_table,
    }
    campaign_run.run(run, experiment, lambda progress: None, tries=1)

    assert experiment.faults == {}, "every fault was made"
    assert run.records() == []
    said = {
        f"{r.table} {r.levels.get('worker_count', '')}".strip(): r.failure.message for r in run.failures() if r.failure
    }
    assert "DM paused the task in unit Load" in said["load_pool_size"]
    assert "signal 9" in said["sync_worker_count 8"]
    assert "dm-worker" in said["sync_worker_count 8"]
    assert "grpc request error" in said["sync_worker_count 8"]
    assert "DM paused the task in unit Sync" in said["sync_worker_count 16"]
    assert "1146" in said["sync_worker_count 16"]
    assert "sbtest1" in said["sync_worker_count 16"]
    kept = sorted((dm_home.path / ".lab").glob("*/mysql/work/mysql57/datasets/*"))
    assert len(kept) == 1, "the upstream's data stay"

    campaign_run.run(run, experiment, lambda progress: None, tries=1)

    assert run.missing() == []
    for record in run.records():
        assert record.proof["same"]
        assert len(record.proof["tables"]) == 4
        assert all(t["source_rows"] == t["target_rows"] > 0 for t in record.proof["tables"])
        # Twice as often as DM is scraped, 0.5 s; a machine that is full may miss a tick.
        for use in cpu_use.of_record(record, run.series(record.id)):
            assert use.samples >= (record.ended - record.started) / 0.75, (record.id, use)
        assert all(check.ok for check in dm_kind.DmKind().record_checks(record)), dm_kind.DmKind().record_checks(record)
        series = run.series(record.id)
        assert set(series[series.source == "mine"].host) == {"dm", "mysql", "tidb"}
        doors = series[(series.source == "doors") & (series.metric == "port")]
        assert set(zip(doors.host, doors.value, strict=True)) == {("mysql", 3306.0), ("tidb", 4000.0)}
    assert sorted((dm_home.path / ".lab").glob("*/mysql/work/mysql57/datasets/*")) == kept
    assert not [*(dm_home.path / ".lab").glob("*/dm/work/dm/*")], "relay log, dumps and metadata are removed"
    assert not dm_home.processes("dm-worker")
    assert not dm_home.processes("tidb-server")
    password = (dm_home.path / ".lab" / "secrets" / "database").read_text().strip()
    texts = [f.read_text(errors="replace") for f in run.folder.rglob("*") if f.suffix in (".json", ".txt")]
    assert texts
    assert not any(password in text for text in texts)


def test_a_checkpoint_that_dm_writes_as_it_stops_does_not_outlive_its_trial(
    dm_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was there when the next task began: no dump, no load, and "relay log pos ... is too big"."""
    experiment, run = _planned("sync_worker_count")
    stop = DM.stop

    def late(self: DM) -> None:
        """As on a busy machine: after the rows of DM's own tables are gone, if they go before it has stopped."""
        target = experiment.pipeline.target
        over = time.monotonic() + 3
        while time.monotonic() < over and query(target.hosts[0], target.endpoints()[0], CHECKPOINTS) != [(0,)]:
            time.sleep(0.05)
        stop(self)

    experiment.between = lambda: monkeypatch.setattr(DM, "stop", late)
    campaign_run.run(run, experiment, lambda progress: None, tries=1)

    assert [failed.failure for failed in run.failures()] == []
    assert len(run.records()) == 2


@dataclass
class Locked(DmReplication):
    """Another session writes to a table of the upstream, and does not end, as long as `lock` is set."""

    lock: bool = True

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        with ExitStack() as stack:
            if self.lock:
                link = stack.enter_context(
                    connection(self.pipeline.upstream.hosts[0], self.pipeline.upstream.endpoints()[0])
                )
                link.cursor().execute(f"LOCK TABLES `{self.databases.of(trial.cell.table)}`.sbtest1 WRITE")
            return super().measure(trial, on_rate)


def test_a_dump_that_hangs_is_a_failed_trial_and_leaves_nothing(dm_home: Home) -> None:
    home = dm_home
    home.write("env/profiles/tiny.yaml", {**PROFILE, "dm": {**SIZE, "stall_s": 2}})
    faulty, run = _planned("load_pool_size")
    experiment = as_one_that_breaks(Locked, faulty)
    campaign_run.run(run, experiment, lambda progress: None, tries=1)

    (failed,) = run.failures()
    assert failed.failure
    assert "DM's task has not moved for 2 s: unit Dump, stage Running" in failed.failure.message
    assert not home.processes("mydumper")

    experiment.lock = False
    campaign_run.run(run, experiment, lambda progress: None, tries=1)

    (record,) = run.records()
    assert record.proof["same"]
