"""One load from several client hosts: what each gets, what becomes of their outputs, and of a client that dies."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace
from functools import partial

import pytest
from kit import FIXTURES, INVENTORY, REPORT, Home, until
from records import record

from benchbook import published
from benchbook.analysis import checks
from benchbook.analysis.cpu_use import HostUse
from benchbook.campaign import design
from benchbook.campaign.design import Trial
from benchbook.campaign.environment import Environment
from benchbook.errors import ConnectionLost, WorkloadFailed
from benchbook.hosts.agent import Command, Ended, Job
from benchbook.hosts.host import Host
from benchbook.hosts.host_models import HostFacts
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.session import Session
from benchbook.profiles import load_profile
from benchbook.reports.kind import RunRequest
from benchbook.reports.load.load_kind import LoadKind, LoadParameters
from benchbook.reports.load.load_trials import LoadTrials
from benchbook.workloads.base import Ran
from benchbook.workloads.clients import DistributedLoad, _Summed, shares
from benchbook.workloads.generator_output import rate_in
from benchbook.workloads.sysbench_output import (
    ALL,
    ONE_OF_SEVERAL,
    Output,
    clients_proof,
    load_series,
    merged,
    parse,
)

PRINTED = (FIXTURES / "sysbench" / "read_write.txt").read_text()
ONE = parse(PRINTED)
WAITS = "import time; time.sleep(61)"


@pytest.mark.parametrize(
    ("total", "clients", "expected"),
    [(400, 3, [134, 133, 133]), (4, 4, [1, 1, 1, 1]), (7, 1, [7]), (0, 2, [0, 0])],
)
def test_threads_are_shared_out_evenly(total: int, clients: int, expected: list[int]) -> None:
    assert shares(total, clients) == expected


def test_a_second_is_told_once_every_client_has_told_it() -> None:
    seen: list[tuple[float, float]] = []
    summed = _Summed(lambda second, rate: seen.append((second, rate)), 2)
    first, second = summed.of("a"), summed.of("b")
    first(1, 10), first(2, 20), second(1, 5)
    assert seen == [(1, 15)]
    second(2, 6)
    assert seen == [(1, 15), (2, 26)]


def second(t: int, tps: float, p95: float) -> tuple[float, dict[str, float]]:
    return t, {"threads": 4, "tps": tps, "qps": 2 * tps, "latency_ms": p95, "errors": 0.0, "reconnects": 0.0}


def outputs() -> list[Output]:
    """90 events of 1 ms on one client, 10 of 50 ms on the other."""
    quick = {**ONE.summary, "events": 90, "transactions": 90, "tps": 9.0, "total_time_s": 10.0, "latency_sum_ms": 90,
             "latency_min_ms": 1, "latency_max_ms": 1, "latency_mean_ms": 1, "p95_ms": 1}  # fmt: skip
    slow = {**quick, "events": 10, "transactions": 10, "tps": 0.8, "total_time_s": 12.5, "latency_sum_ms": 500,
            "latency_min_ms": 50, "latency_max_ms": 50, "latency_mean_ms": 50, "p95_ms": 50}  # fmt: skip
    return [
        Output(4, quick, [second(1, 9, 1), second(2, 9, 1)], [(1.0, 90)]),
        Output(3, slow, [second(1, 1, 50), second(2, 0.5, 50), second(3, 0.5, 50)], [(50.0, 10)]),
    ]


def test_outputs_are_added_and_percentiles_read_off_the_added_histograms() -> None:
    whole = merged(outputs())
    assert whole.threads == 7
    assert whole.histogram == [(1.0, 90), (50.0, 10)]
    expected = {"events": 100, "tps": 9.8, "total_time_s": 12.5, "latency_mean_ms": 5.9, "latency_min_ms": 1,
                "latency_max_ms": 50, "p95_ms": 50}  # fmt: skip
    assert {name: whole.summary[name] for name in expected} == pytest.approx(expected)
    # The average of the two p95 would have been 25.5 ms, which no transaction took.
    assert set(whole.summary) == set(ONE.summary)
    told = [(t, each["tps"], each["threads"], each["latency_ms"]) for t, each in whole.seconds]
    assert told == [(1, 10, 8, 50), (2, 9.5, 8, 50)]
    assert merged([ONE]) is ONE


def test_clients_that_print_another_percentile_have_it_read_off_their_histograms() -> None:
    """Of 90 events of 1 ms and 10 of 50 ms the 90th percentile is 1 ms."""
    parts = [replace(each, summary={**each.summary, "p90_ms": 7.0}) for each in outputs()]
    assert (merged(parts).summary["p90_ms"], merged(parts).summary["p95_ms"]) == (1.0, 50.0)


def ran(client: str, ended: float) -> Ran:
    return Ran(client, Command(["sysbench"], 1), Ended("exited", 0, None, 1000.0, ended), "", "")


def test_the_series_has_the_load_and_each_client_and_the_record_how_far_apart_they_began() -> None:
    both, parts = [ran("a", 1010.0), ran("b", 1012.75)], outputs()
    rows = load_series(both, parts, merged(parts))
    tps = rows[rows.metric == "tps"]
    assert list(tps[tps.source == "sysbench"].value) == [10, 9.5]
    assert set(tps[tps.source == "sysbench"].host) == {ALL}
    assert list(tps[(tps.source == ONE_OF_SEVERAL) & (tps.host == "b")].value) == [1, 0.5, 0.5]
    # 1010 - 10 s and 1012.75 - 12.5 s.
    assert clients_proof(both, parts)["apart_s"] == pytest.approx(0.25)
    assert clients_proof(both, parts)["clients"] == {"a": {"threads": 4, "tps": 9.0}, "b": {"threads": 3, "tps": 0.8}}
    assert clients_proof(both[:1], parts[:1]) == {}


def test_of_several_clients_the_busiest_is_judged() -> None:
    both = [HostUse(host, busy, 2, 0.5, 2.0) for host, busy in (("a", 1.0), ("b", 1.9))]
    facts = Environment(hosts={"a": HostFacts(cores=2, boot_id="x"), "b": HostFacts(cores=2, boot_id="y")})
    ran = record(client="a", proof={"clients": {"a": {}, "b": {}}})
    row = checks.client_saturation(ran, both, facts)
    assert (row.ok, row.found) == (False, "95% of 2 cores on b, the busiest of 2 clients")
    assert checks.client_saturation(ran, both[:1], facts).found == "no samples"


# -- on real hosts ------------------------------------------------------------------------------------------------


@pytest.fixture
def two_clients(lab: Inventory) -> Inventory:
    """The running lab, whose database host drives load as well."""
    db1 = lab.hosts["db1"].model_copy(update={"roles": [*lab.hosts["db1"].roles, "client"]})
    return lab.model_copy(update={"hosts": {**lab.hosts, "db1": db1}})


def campaign(inventory: Inventory, **asked: object) -> tuple[LoadTrials, Trial]:
    what = LoadParameters.model_validate(
        {"inventory": INVENTORY, "system": "mariadb", "workloads": ["oltp_point_select"], "threads": [3], **asked}
    )
    report = published.load(REPORT)
    (trial,) = design.plan(LoadKind().cells(report, what), 1, seed=1, asked={})
    return LoadKind().experiment(RunRequest(LoadKind(), report, what, load_profile("tiny"), inventory)), trial


@pytest.mark.real
@pytest.mark.slow
def test_two_client_hosts_drive_one_load(lab_home: Home, two_clients: Inventory) -> None:
    experiment, trial = campaign(two_clients)
    rates: list[float] = []
    with experiment.running():
        experiment.begin([trial], lambda _: None)
        measured = experiment.measure(trial, lambda _, rate: rates.append(rate))
    clients = measured.proof["clients"]
    assert {name: about["threads"] for name, about in clients.items()} == {"executor": 2, "db1": 1}
    assert measured.summary["tps"].value == pytest.approx(sum(about["tps"] for about in clients.values()))
    assert sum(count for _, count in measured.histogram) == measured.summary["events"].value
    assert measured.command.count("sysbench oltp_point_select run") == 2
    done = record(levels={"threads": 3}, summary=measured.summary, asked={"time_s": 2, "rate": 0})
    # Two threads and one, and the mean latency of all: the three are busy only if the parts were rightly added.
    assert checks.little(done).ok, checks.little(done)
    told = measured.series.query("source == 'sysbench' and metric == 'tps'")
    assert list(told.value) == pytest.approx(rates)


@pytest.mark.real
def test_a_client_without_a_thread_or_a_rate_is_left_out(lab_home: Home, two_clients: Inventory) -> None:
    for asked, expected in [({"threads": [1]}, [1, 0]), ({"threads": [2], "rate": 1}, [2, 1]),
                            ({"threads": [4], "rate": 3}, [4, 3])]:  # fmt: skip
        experiment, trial = campaign(two_clients, **asked)
        with experiment.running():
            commands = [" ".join(map(str, command.argv)) for _, command in experiment.commands(trial)]
        assert len(commands) == (2 if asked == {"threads": [4], "rate": 3} else 1)
        assert all("--rate=0" not in line for line in commands)
        assert sum(int(line.split("--threads=")[1].split()[0]) for line in commands) == expected[0]
        rates = [int(line.split("--rate=")[1].split()[0]) for line in commands if "--rate=" in line]
        assert sum(rates) == expected[1]


@pytest.mark.real
@pytest.mark.slow
def test_a_client_that_dies_ends_the_load_of_all_and_is_named(lab_home: Home, two_clients: Inventory) -> None:
    experiment, trial = campaign(two_clients, time_s=60)
    first_rate = threading.Event()

    def kill_one() -> None:
        first_rate.wait(60)
        (victim,) = lab_home.processes("sysbench", " run ", "--threads=1 ")
        victim.kill()

    with experiment.running():
        experiment.begin([trial], lambda _: None)
        killer = threading.Thread(target=kill_one)
        killer.start()
        with pytest.raises(WorkloadFailed, match="sysbench on db1 was killed by signal 9"):
            experiment.measure(trial, lambda *_: first_rate.set())
        killer.join()
        until(lambda: not lab_home.processes("sysbench", " run "), "no load is left")


@pytest.mark.real
@pytest.mark.slow
def test_an_interrupt_ends_the_load_of_all(lab_home: Home, two_clients: Inventory) -> None:
    experiment, trial = campaign(two_clients, time_s=60)
    main, pressed = threading.get_ident(), threading.Event()

    def press_once(second: float, rate: float) -> None:
        if not pressed.is_set():
            pressed.set()
            signal.pthread_kill(main, signal.SIGINT)

    with experiment.running():
        experiment.begin([trial], lambda _: None)
        with pytest.raises(KeyboardInterrupt):
            experiment.measure(trial, press_once)
        assert not [each for each in threading.enumerate() if each.name.startswith("load-client")]
        assert not lab_home.processes("sysbench", " run ")


@pytest.mark.real
def test_a_client_that_cannot_start_leaves_no_load_on_the_others(
    lab_home: Home, two_clients: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = Session.start

    def refused_on_db1(session: Session, host: Host, name: str, command: Command) -> Job:
        if host.name == "db1":
            until(lambda: lab_home.processes(WAITS), "the other one has begun")
            raise ConnectionLost("db1: gone")
        return start(session, host, name, command)

    with Session(two_clients, two_clients.hosts) as session:
        monkeypatch.setattr(Session, "start", refused_on_db1)
        waits = Command(["python3", "-c", WAITS, "{job}"], timeout_s=70)
        commands = [(host, waits) for host in session.with_role("client")]
        with pytest.raises(ConnectionLost):
            DistributedLoad(session, "sysbench", commands, partial(rate_in, "sysbench"))
        assert not lab_home.processes(WAITS)
