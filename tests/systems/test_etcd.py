"""etcd's benchmark tool: its outputs, its command lines, what its writes must prove; and the kinds of report on it."""

from __future__ import annotations

from typing import Any, cast

import pandas as pd
import pytest
from kit import FIXTURES, ROOT, Home
from records import record

from benchbook.analysis import summary
from benchbook.campaign import store as campaigns
from benchbook.campaign.design import Cell, plan
from benchbook.campaign.experiment import Measurement
from benchbook.campaign.record import Quantity
from benchbook.errors import BadInput, OutputNotParseable, SystemFailed
from benchbook.hosts.agent import Command, Ended
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.inventory import load_inventory
from benchbook.profiles import load_profile
from benchbook.published.tables import load
from benchbook.reports import quorum
from benchbook.reports.kind import RunRequest, kind_of
from benchbook.reports.quorum import MemberKill, QuorumKind, QuorumParameters, around
from benchbook.systems.etcd import one_leader
from benchbook.workloads import etcd_benchmark
from benchbook.workloads.base import Load, Ran
from benchbook.workloads.etcd_benchmark import EtcdBenchmark, EtcdSize, lost_or_unasked

PRINTED_BY = FIXTURES / "etcd"
ENDS = [Endpoint(f"127.0.83.{i}", 2379, protocol="etcd") for i in (1, 2, 3)]
PUT = ["--key-size=8", "--sequential-keys", "--val-size=256"]
REPORT = load("etcd_3_2_performance", ROOT / "data" / "published")


def printed(name: str) -> str:
    return (PRINTED_BY / f"{name}.txt").read_text()


# -- what it prints ----------------------------------------------------------------------------------------------------


LOAD = EtcdBenchmark(EtcdSize(puts=1, reads=1, puts_killed=1, time_s=2), [], 1)


def made(text: str) -> Any:
    ended = Ended("exited", 0, None, 1795370000.0, 1795370010.0)
    return LOAD.outcome([Ran("client", Command(["benchmark"], 1), ended, text, "")])


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        # 10,000 puts to the leader of three members, by fifty clients, on a machine that others used as well.
        ("put_50", {"events": 10_000, "failed": 0, "tps": 3762.195, "latency_mean_ms": 13.19745}),
        # 2,000 serializable reads by one; the 99th percentile lies among the 20 slowest.
        ("range_1", {"events": 2000, "failed": 0, "total_time_s": 0.569843706, "tps": 2000 / 0.569843706,
                     "latency_mean_ms": 0.282367, "p99_ms": 1.144245, "latency_max_ms": 10.63759}),
    ],
)  # fmt: skip
def test_a_recorded_load(name: str, figures: dict[str, float]) -> None:
    found = made(printed(name))
    values = {each: quantity.value for each, quantity in found.summary.items()}
    assert {each: values[each] for each in figures} == pytest.approx(figures, rel=1e-5)
    assert values["tps"] == pytest.approx(values["events"] / values["total_time_s"])
    assert values["latency_min_ms"] < values["p50_ms"] < values["p95_ms"] < values["p99_ms"] < values["latency_max_ms"]
    assert max(ms for ms, _ in found.histogram) == pytest.approx(values["latency_max_ms"])
    assert [found.summary[each].unit for each in ("tps", "p99_ms", "events", "total_time_s")] == ["1/s", "ms", "1", "s"]


def test_the_bar_tells_the_rate_five_times_a_second() -> None:
    text = printed("put_50")
    told = [found for line in text.replace("\r", "\n").splitlines() if (found := LOAD.rate_in(line))]
    assert [second for second, _ in told[:3]] == [0.0, 0.2, 0.4]
    assert sum(rate * etcd_benchmark.BAR_EVERY_S for _, rate in told) == pytest.approx(10_000)
    series = made(printed("put_50")).series
    # Between the first bar and the last but one; the load began as long before its end as it says.
    assert len(series) == len(told) - 2
    assert series.t.iloc[0] == pytest.approx(1795370010 - 10_000 / 3762.195 + 0.2, abs=0.001)
    done = sum(rate for _, rate in told[:-1]) * etcd_benchmark.BAR_EVERY_S
    assert series.value.sum() * etcd_benchmark.BAR_EVERY_S == pytest.approx(done)


def test_requests_that_failed_are_counted_and_named() -> None:
    """10,000 puts to three members; the leader was killed 1.2 s after the start, and started again 2 s later."""
    output = made(printed("leader_killed"))
    assert output.proof["errors"] == {
        "rpc error: code = Unavailable desc = error reading from server: EOF": 20,
        "etcdserver: request timed out, possibly due to previous leader failure": 10,
    }
    assert (output.summary["events"].value, output.summary["failed"].value) == (9970, 30)
    # The clients that were connected to it were the last to be answered.
    assert output.summary["latency_max_ms"].value == pytest.approx(2548.4, abs=0.1)


def test_what_is_missing_is_named_and_what_failed_altogether_is_told() -> None:
    with pytest.raises(OutputNotParseable, match="not the output of etcd's benchmark"):
        made("bench with linearizable range\n")
    failed = "\nError distribution:\n  [7]\tEOF\n  [9]\tetcdserver: request timed out\n"
    assert LOAD.failure(failed) == "etcdserver: request timed out (9 requests); EOF (7 requests)"
    assert LOAD.failure(printed("put_50")) is None


@pytest.mark.parametrize(("tps", "ms", "ok", "said"), [(185_758, 2.2, False, "408.7"), (44_341, 22.0, True, "975.5")])
def test_clients_that_wait_for_the_tool_are_seen(tps: float, ms: float, ok: bool, said: str) -> None:
    """The published figures: 185,758/s x 2.2 ms are 409 of 1,000 clients, 44,341/s x 22 ms are 976."""
    values = {"tps": tps, "latency_mean_ms": ms, "events": 100_000, "failed": 0}
    summary = {name: Quantity(value=value, unit="1") for name, value in values.items()}
    found = EtcdBenchmark.record_checks(record(levels={"workload": "put_all", "threads": 1000}, summary=summary))
    assert (found[0].ok, found[0].found) == (ok, f"{said} of 1000 threads busy")
    assert [check.ok for check in found[1:]] == [True, False]


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
    """Killed at 1.1 s, back at 2.3 s: means of 3, 5 and 2 whole intervals; two in a row had next to nothing."""
    before, without, after = (90.0, 110.0, 100.0), (0.0, 9.0, 80.0, 71.0, 40.0), (70.0, 96.0)
    rates = [*zip((0.4, 0.6, 0.8), before, strict=True), (1.2, 40.0)]
    rates += [*zip((1.4, 1.6, 1.8, 2.0, 2.2), without, strict=True), (2.4, 5.0), *zip((2.6, 2.8), after, strict=True)]
    found = around(rates, 1.1, 2.3, 0.2)
    assert {name: (round(each.value, 9), each.unit) for name, each in found.items()} == {
        "tps_before": (100.0, "1/s"), "tps_without": (40.0, "1/s"), "tps_after": (83.0, "1/s"), "stalled_s": (0.4, "s"),
    }  # fmt: skip


def test_a_load_that_ended_while_the_member_was_away_has_no_rate_after() -> None:
    assert set(around([(0.2, 50.0), (0.8, 50.0)], 0.3, 9.0, 0.2)) == {"tps_before", "tps_without", "stalled_s"}


def test_the_end_of_a_load_that_waits_for_its_last_answers_is_neither_a_stall_nor_a_rate_of_the_members() -> None:
    """As measured: nothing for 0.6 s after the kill at 1.1 s, back at 1.5 s, and from 2.4 s on nothing more to send."""
    rates = [(0.5, 100.0), (1.0, 100.0), (1.2, 0.0), (1.4, 0.0), (1.6, 0.0), (1.8, 60.0), (2.0, 0.0), (2.2, 80.0)]
    found = around([*rates, *((t, 0.0) for t in (2.4, 2.6, 2.8, 3.0))], 1.1, 1.5, 0.2)
    # 60, 0 and 80: what stops in between and goes on is a rate of the members.
    assert found["tps_after"].value == pytest.approx(140 / 3)
    assert found["stalled_s"].value == pytest.approx(0.6)
    # One that began while the member was away and never ended is the members' own.
    dead = around([*rates[:3], *((t, 0.0) for t in (1.4, 1.6, 1.8, 2.0))], 1.1, 1.5, 0.2)
    assert (dead["tps_after"].value, dead["stalled_s"].value) == (0.0, pytest.approx(1.0))


class Victim:
    """A member's host, whose clock says this when it is asked."""

    name = "m2"

    def now(self) -> float:
        return 1795370003.75


class Members:
    """A quorum that notes what was asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def lose(self, host: Victim) -> float:
        self.asked.append(f"lose {host.name}")
        return 1795370001.5

    def regain(self) -> None:
        self.asked.append("regain")

    def agree(self) -> tuple[int, int]:
        return 9, 3


def test_a_member_is_killed_after_a_second_and_comes_back_after_two_more() -> None:
    members, told = Members(), []
    killing = MemberKill(
        cast("Any", members), cast("Any", Victim()), lambda second, rate: told.append((second, members.asked[:]))
    )
    for fifth in range(18):
        killing.seen(fifth * 0.2, 100.0)
    assert [second for second, _ in told] == [fifth * 0.2 for fifth in range(18)]
    assert {len(asked): second for second, asked in reversed(told)} == {0: 0.0, 1: 1.0, 2: pytest.approx(3.0)}
    killing.restart()
    assert members.asked == ["lose m2", "regain"]
    assert (killing.killed, killing.returned) == (1795370001.5, 1795370003.75)


def test_a_member_s_death_stands_among_the_rates_of_the_client_whoever_s_clock_is_wrong() -> None:
    """The victim's clock is 100 s ahead of the client's: by that it died at 101.1 s and was back at 102.3 s.

    When it was back was told by the driver's clock, so that a laptop's that was wrong gave other rates without it.
    """
    rates = [(0.5, 100.0), (1.0, 100.0), (1.5, 20.0), (2.0, 30.0), (2.6, 70.0), (2.8, 90.0)]
    series = pd.DataFrame(rates, columns=["t", "value"]).assign(source="etcd_benchmark", metric="tps")
    proof = {"quorum": {"acknowledged": 7, "found": 8}}
    measured = Measurement("benchmark", "client", 0.0, 3.0, 0, {}, [], series, "", proof)
    killing = MemberKill(cast("Any", Members()), cast("Any", Victim()), lambda second, rate: None)
    killing.killed, killing.returned = 101.1, 102.3
    found = quorum._told(measured, killing, ahead_s=100.0)
    figures = {name: each.value for name, each in found.summary.items()}
    assert {name: figures[name] for name in ("tps_before", "tps_without", "tps_after")} == {
        "tps_before": 100.0, "tps_without": 25.0, "tps_after": 80.0,
    }  # fmt: skip
    assert (figures["killed_s"], figures["away_s"]) == (pytest.approx(1.1), pytest.approx(1.2))
    # `lost` is what a record calls the share of CPU that others took, and was written over this.
    assert "lost" not in found.proof
    assert found.proof["member"] == {"name": "m2", "killed": pytest.approx(1.1), "returned": pytest.approx(2.3)}


@pytest.mark.parametrize(("ended", "mean_mb"), [(103.0, 110.0), (100.9, 60.0)])
def test_memory_is_that_under_the_load_and_not_before_it(ended: float, mean_mb: float) -> None:
    """Two members have 60 MB before the load, then 80, 90, 130 and 140; a load of a second may be over by then."""
    seen = [(99.5, 60.0), (99.5, 60.0), (101.0, 80.0), (101.0, 90.0), (102.0, 130.0), (102.0, 140.0)]
    seen = [each for each in seen if each[0] < ended]
    series = pd.DataFrame([(t, mb * 1e6) for t, mb in seen], columns=["t", "value"]).assign(
        source="etcd", metric=quorum.RESIDENT
    )
    measured = Measurement("benchmark", "client", 100.0, ended, 0, {}, [], series, "", {})
    assert quorum._with_memory(measured).summary["rss_mb"].value == mean_mb


def test_a_member_that_was_not_killed_is_not_brought_back() -> None:
    members = Members()
    killing = MemberKill(cast("Any", members), cast("Any", "m2"), lambda second, rate: None)
    killing.seen(0.8, 100.0)
    killing.restart()
    assert (members.asked, killing.killed) == ([], 0.0)


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
        RunRequest(kind, REPORT, parameters(system="mariadb"), profile, load_inventory("lab_tidb")).experiment()


def test_a_workload_of_a_table_is_asked_for_by_its_own_name() -> None:
    """Frames and figures call it so; it was refused, with `use some of write, write, read, read`."""
    cells = QuorumKind().cells(REPORT, parameters(workloads=["range_serializable"], threads=[1]))
    assert [(cell.table, cell.levels) for cell in cells] == [("read", {"workload": "range_serializable", "threads": 1})]
    assert len(QuorumKind().cells(REPORT, parameters(workloads=["read"], threads=[1]))) == 2
    fix = "there are: write, put_leader, put_all, read, range_linearizable, range_serializable$"
    with pytest.raises(BadInput, match=fix):
        QuorumKind().cells(REPORT, parameters(workloads=["range"]))


def test_every_workload_of_a_design_is_checked() -> None:
    first, *others = REPORT.report.design
    strange = first.model_copy(update={"workload": "/bin/sh"})
    report = REPORT.report.model_copy(update={"design": [strange, *others]})
    changed = type(REPORT)(report, REPORT.tables)
    with pytest.raises(BadInput, match="does not know this workload"):
        RunRequest(QuorumKind(), changed, parameters(), load_profile("smoke"), load_inventory("lab_etcd")).experiment()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"time_s": 2, "tables": 4}, ["2 s per load"]),
        (
            {"time_s": 2, "puts": 500, "reads": 1000, "together": 10},
            ["500 puts or 1,000 reads per load", "10 times as many with several clients"],
        ),
        ({"time_s": 2, "requests": 20_000}, ["20,000 requests per load"]),
        ({"puts": 500, "reads": 1000, "together": 1}, ["500 puts or 1,000 reads per load"]),
    ],
)
def test_a_page_says_how_many_requests_a_load_has_where_the_tool_counts_them(
    home: Home, asked: dict[str, Any], said: list[str]
) -> None:
    """`time_s` is what such a load takes at about, and was printed as what it took."""
    cell = Cell(table="write", system="etcd", levels={"workload": "put_leader", "threads": 1})
    campaign = campaigns.start_or_continue(REPORT.report.name, asked, plan([cell], 1, seed=1, asked=asked), seed=1)
    found = summary.of_campaign(REPORT, campaign).load
    assert found == [*said, "1 repetition"]
