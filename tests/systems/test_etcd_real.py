"""Three real members of etcd and its own benchmark tool, in a lab of their own, for one life."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kit import Home

from benchbook.campaign.design import Cell, Trial
from benchbook.campaign.experiment import Measurement
from benchbook.errors import SystemFailed
from benchbook.hosts.inventory import Inventory
from benchbook.profiles import load_profile
from benchbook.reports.quorum import QuorumTrials
from benchbook.systems.etcd import Etcd
from benchbook.workloads.etcd_benchmark import EtcdBenchmark, EtcdSize

pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.fixture
def etcd_lab(start_lab: Callable[..., Inventory], net: str) -> Inventory:
    """Three members and a client."""
    hosts = {f"member{i}": {"address": f"{net}.8{i}", "roles": ["etcd"]} for i in (1, 2, 3)}
    hosts["client"] = {"address": f"{net}.89", "roles": ["client"]}
    return start_lab("lab_quorum", hosts)


def trial(workload: str, threads: int) -> Trial:
    levels: dict[str, str | int | float] = {"workload": workload, "threads": threads}
    table = "write" if workload.startswith("put") else "read"
    return Trial(id=workload, identity="x", cell=Cell(table=table, system="etcd", levels=levels), repetition=1, order=0)


def test_loads_are_proved_at_a_quorum_and_a_lost_member_costs_no_write(etcd_lab: Inventory, lab_home: Home) -> None:
    size = EtcdSize(puts=200, reads=300, puts_killed=15_000, together=5, time_s=1)
    load = EtcdBenchmark(size, ["--key-size=8", "--sequential-keys", "--val-size=256"], 1)
    trials = QuorumTrials(etcd_lab, load_profile("tiny"), ["etcd"], load, time_s=1, rate=0)
    with trials.running() as environment:
        assert environment.load_generator == "benchmark of etcd 3.5.11, its server and its own benchmark tool"
        about = trials.begin([trial("put_all", 4)], lambda said: None)["etcd"]
        assert about.version == "3.5.11"
        assert about.config["variables"]["leader"] in etcd_lab.with_role("etcd")
        is_measured(run(trials, "put_all", 4), puts=1000)
        is_measured(run(trials, "range_serializable", 1), puts=0)
        survives(run(trials, "put_leader_killed", 8))
        is_no_failure_only_where_it_is_meant(trials, lab_home)
    assert lab_home.processes("--initial-cluster-token") == []


def run(trials: QuorumTrials, workload: str, threads: int) -> Measurement:
    return trials.measure(trial(workload, threads), lambda second, rate: None)


def is_measured(found: Measurement, puts: int) -> None:
    said = {"acknowledged": puts, "failed": 0, "found": puts, "members": 3}
    assert found.proof["quorum"] == said
    assert found.summary["events"].value == sum(count for _, count in found.histogram) == (puts or 300)
    assert found.summary["latency_min_ms"].value <= found.summary["p50_ms"].value <= found.summary["p99_ms"].value
    assert "failed_probes" not in found.proof
    assert {"host", "etcd"} <= set(found.series.source)
    assert set(found.series[found.series.source == "etcd"].host) == {"member1", "member2", "member3"}


def survives(found: Measurement) -> None:
    """Nobody writes until there is another leader, then others do; all that was acknowledged is there."""
    proved = found.proof["quorum"]
    assert proved["acknowledged"] <= proved["found"] <= proved["acknowledged"] + proved["failed"]
    assert proved["acknowledged"] + proved["failed"] == 15_000
    # The member may be back before the load has ended.
    assert proved["members"] in (2, 3)
    assert found.proof["back"] == {"revision": found.proof["back"]["revision"], "members": 3}
    member = found.proof["member"]
    assert found.started < member["killed"] < member["returned"]
    assert found.summary["tps_before"].value > 0
    assert found.summary["tps_after"].value > 0
    assert found.summary["stalled_s"].value > 0


def is_no_failure_only_where_it_is_meant(trials: QuorumTrials, home: Home) -> None:
    """Killed by somebody else in mid-load: the member is named, not the load generator."""
    system = trials._systems["etcd"]
    assert isinstance(system, Etcd)

    def kill(second: float, rate: float) -> None:
        for process in home.processes("--name=member2"):
            process.kill()

    with pytest.raises(SystemFailed, match=r"etcd on member2 has died \(signal 9\)"):
        trials.measure(trial("put_leader", 4), kill)
    trials.begin([trial("put_leader", 1)], lambda said: None)
    assert len(system.members()) == 3
    assert system.agree()[1] == 3
