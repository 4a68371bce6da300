"""etcd's benchmark tool: its outputs, its command lines, what its writes must prove; and the kinds of report on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from kit import ROOT

from benchbook.errors import BadInput, SystemFailed
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.inventory import load_inventory
from benchbook.profiles import load_profile
from benchbook.published.tables import load
from benchbook.reports.kinds import kind_of
from benchbook.reports.quorum.lost_member import around
from benchbook.reports.quorum.quorum_kind import QuorumKind, QuorumParameters
from benchbook.systems.etcd_api import one_leader
from benchbook.workloads.etcd_benchmark import EtcdBenchmark, EtcdSize, lost_or_unasked
from benchbook.workloads.generator import Load, generator

FIXTURES = Path(__file__).parent / "fixtures" / "etcd"
ENDS = [Endpoint(f"127.0.83.{i}", 2379, protocol="etcd") for i in (1, 2, 3)]
PUT = ["--key-size=8", "--sequential-keys", "--val-size=256"]
REPORT = load("etcd_3_2_performance", ROOT / "data" / "published")


def printed(name: str) -> str:
    return (FIXTURES / f"{name}.txt").read_text()


# -- how it is asked ---------------------------------------------------------------------------------------------------


def command(workload: str, threads: int, rate: int = 0) -> str:
    load = EtcdBenchmark(EtcdSize(puts=1000, reads=3000, puts_killed=20000, time_s=2), PUT, 1)
    load.programs["client"] = "benchmark"
    host = cast("Any", type("Client", (), {"name": "client"}))
    return load.command(host, ENDS, Load({"workload": workload}, threads, 2, rate)).typed


ALL = "127.0.83.1:2379,127.0.83.2:2379,127.0.83.3:2379"
FIRST = "--endpoints=127.0.83.1:2379 --target-leader"
WRITES = "--precise put --key-size=8 --sequential-keys --val-size=256"


@pytest.mark.parametrize(
    ("workload", "threads", "said"),
    [
        # As printed, with the tool's full precision and as many requests as the profile says.
        ("put_leader", 1, f"{FIRST} --conns=1 --clients=1 {WRITES} --total=1000"),
        ("put_all", 50, f"--endpoints={ALL} --conns=5 --clients=50 {WRITES} --total=10000"),
        (
            "range_serializable",
            1000,
            f"--endpoints={ALL} --conns=100 --clients=1000 --precise range YOUR_KEY --consistency=s --total=30000",
        ),
        ("put_follower_killed", 50, f"{FIRST} --conns=5 --clients=50 {WRITES} --total=20000"),
    ],
)
def test_the_command_line_is_the_published_one(workload: str, threads: int, said: str) -> None:
    assert command(workload, threads) == f"benchmark {said}"


def test_an_offered_rate() -> None:
    assert command("range_linearizable", 1, rate=500).endswith("--total=3000 --rate=500")


# -- its proof ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "acknowledged", "failed", "said"),
    [
        (100, 100, 0, ""),
        (0, 0, 0, ""),
        # A put that failed may have been written all the same.
        (103, 100, 5, ""),
        (99, 100, 5, "1 of 100 acknowledged writes are not there"),
        (106, 100, 5, "106 writes are there after 100 acknowledged and 5 failed ones"),
        (1, 0, 0, "1 writes are there after 0 acknowledged and 0 failed ones"),
    ],
)
def test_what_a_quorum_must_hold(found: int, acknowledged: int, failed: int, said: str) -> None:
    assert lost_or_unasked(found, acknowledged, failed) == said


def test_members_that_name_two_leaders_or_none_have_none() -> None:
    assert one_leader([{"leader": "7"}, {"leader": "7"}]) == "7"
    with pytest.raises(SystemFailed, match="name 2 leaders"):
        one_leader([{"leader": "7"}, {"leader": "8"}])
    with pytest.raises(SystemFailed, match="name 0 leaders"):
        one_leader([{}, {"leader": "0"}])


# -- a member that is killed -------------------------------------------------------------------------------------------


def test_the_rate_around_the_death_of_a_member() -> None:
    """Killed at 1.1 s: three intervals before, one that it falls into, two without service, two after."""
    rates = [(0.4, 90.0), (0.6, 110.0), (0.8, 100.0), (1.2, 40.0), (1.4, 0.0), (1.6, 9.0), (1.8, 80.0), (2.0, 71.0)]
    found = around(rates, 1.1, 0.2)
    assert {name: (round(each.value, 9), each.unit) for name, each in found.items()} == {
        "tps_before": (100.0, "1/s"), "tps_after": (40.0, "1/s"), "stalled_s": (0.4, "s"),
    }  # fmt: skip


def test_a_load_that_ended_at_once_has_no_rate_after() -> None:
    assert [each.value for each in around([(0.2, 50.0)], 0.3, 0.2).values()] == [50.0, 0.0, 0.0]


# -- the kind of report ------------------------------------------------------------------------------------------------


def parameters(**changes: Any) -> QuorumParameters:
    return QuorumParameters(profile="smoke", inventory="lab_etcd", **changes)


def levels(asked: QuorumParameters) -> list[tuple[object, ...]]:
    return [(c.table, c.levels["workload"], c.levels["threads"]) for c in QuorumKind().cells(REPORT, asked)]


def test_a_cell_per_published_row_and_one_per_member_that_is_killed() -> None:
    published = [
        ("write", "put_leader", 1), ("write", "put_leader", 1000), ("write", "put_all", 1000),
        ("read", "range_linearizable", 1), ("read", "range_linearizable", 1000),
        ("read", "range_serializable", 1), ("read", "range_serializable", 1000),
    ]  # fmt: skip
    assert levels(parameters()) == published
    killed = [("write", "put_leader_killed", 1000), ("write", "put_follower_killed", 1000)]
    assert levels(parameters(killed=["leader", "follower"])) == [*published, *killed]
    assert levels(parameters(killed=["leader"], workloads=["read"])) == published[3:]


def test_a_system_that_a_lost_member_ends_is_refused() -> None:
    kind, profile = kind_of("etcd_3_2_performance"), load_profile("smoke")
    with pytest.raises(BadInput, match="is no system of members that decide by quorum"):
        kind.experiment(REPORT, parameters(system="mariadb"), profile, load_inventory("lab_tidb"))


def test_every_workload_of_a_design_is_checked() -> None:
    first, *others = REPORT.report.design
    strange = first.model_copy(
        update={"factors": {"workload": ["put_leader", "/bin/sh"], "threads": [1]}, "pairs": None}
    )
    report = REPORT.report.model_copy(update={"design": [strange, *others]})
    changed = type(REPORT)(report, REPORT.tables)
    with pytest.raises(BadInput, match="does not know this workload"):
        QuorumKind().experiment(changed, parameters(), load_profile("smoke"), load_inventory("lab_etcd"))


@pytest.mark.parametrize("name", ["smoke", "lab", "paper"])
def test_every_profile_has_a_size_for_it(name: str) -> None:
    assert generator("etcd_benchmark").size_in(load_profile(name)).puts_killed > 1000
