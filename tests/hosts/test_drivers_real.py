"""Pairs of drivers as processes, on real sshd: one at a time on a host, and what a stalled one may keep."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from driver import Driver
from kit import INVENTORY, Home, inventory, until, words_of
from rich.console import Console

from benchbook import pipeline
from benchbook.errors import HostReserved
from benchbook.hosts import lab as labs
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.hosts.session import Session, check_reachable

pytestmark = pytest.mark.real

LEASE_S = 5.0


@pytest.fixture
def drive() -> Iterator[Callable[..., Driver]]:
    started: list[Driver] = []

    def start(home: Home, inventory: str, hosts: str, **how: bool) -> Driver:
        started.append(Driver(home, inventory, hosts, **how))
        return started[-1]

    yield start
    for driver in started:
        driver.kill()


@pytest.fixture
def first(lab_home: Home, lab: Inventory, net: str) -> Home:
    """The checkout that the lab belongs to."""
    lab_home.write(f"env/hosts/{INVENTORY}_short.yaml", short(net, lab_home))
    return lab_home


@pytest.fixture
def second(first: Home, net: str, tmp_path: Path) -> Home:
    """Another checkout, whose inventory has another name and other folders on the same hosts."""
    made = Home.make(tmp_path / "second", net)
    made.write("env/hosts/elsewhere.yaml", short(net, first))
    return made


def short(net: str, home: Home, lease_s: float = LEASE_S) -> dict[str, object]:
    there = home.path / ".lab"
    ssh = {"key": str(there / "keys" / "client"), "known_hosts": str(there / "known_hosts")}
    plain = inventory(net)
    return {**plain, "ssh": {**plain["ssh"], **ssh, "lease_s": lease_s}}


SHORT, ELSEWHERE, BOTH = f"{INVENTORY}_short", "elsewhere", "executor,db1"


def loads(home: Home) -> list[psutil.Process]:
    """The supervisors of a checkout's jobs; each goes with its job."""
    return home.processes("agent.py", "start")


# -- at the same moment, and during the other's start-up --------------------------------------------------------------


def test_of_two_drivers_started_at_the_same_moment_one_runs_and_the_other_is_told_who(
    first: Home, second: Home, drive: Callable[..., Driver]
) -> None:
    """They name the hosts in opposite orders."""
    drivers = {
        "first": drive(first, SHORT, "executor,db1"),
        "second": drive(second, ELSEWHERE, "db1,executor"),
    }
    said = {name: driver.hear() for name, driver in drivers.items()}
    (runs,) = [name for name, words in said.items() if words == "reserved"]
    (refused,) = {"first", "second"} - {runs}
    home = {"first": first, "second": second}[runs]
    assert f"(process {drivers[runs].pid}, {home.path}) since " in said[refused]
    assert "Fix: wait for its end" in said[refused]
    assert drivers[refused].status() == 2
    assert drivers[runs].leave() == 0
    again = drive(second, ELSEWHERE, BOTH)
    assert again.hear() == "reserved", "and nothing is held any more"
    assert again.leave() == 0


def test_the_command_refuses_early_and_leaves_the_others_lab_alone(
    first: Home, second: Home, drive: Callable[..., Driver], lab: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = drive(first, SHORT, "db1").loading()
    monkeypatch.setattr(pipeline, "hosts_up", lambda *what: pytest.fail("began all the same"))
    with pytest.raises(HostReserved, match=rf"hosts\.db1: the host is reserved by .*process {holder.pid}"):
        pipeline.run_report("tidb_v7_1_3_sysbench", {"profile": "tiny", "inventory": INVENTORY}, Console())
    with pytest.raises(HostReserved, match=r"hosts\.db1"):
        check_reachable(lab, ["db1"])
    assert labs.in_use(lab)
    pipeline._sweep(lab, ["db1"], Console())
    # A command that has begun a moment ago is its supervisor's copy until it is executed.
    until(lambda: len(loads(first)) == 1, "what an interrupted run sweeps up is not another's")
    holder.kill()
    assert not labs.in_use(lab), "its process is known to be dead"


# -- stalled, and dead ------------------------------------------------------------------------------------------------


def test_a_driver_stalled_for_longer_loses_jobs_and_hosts_and_says_so_when_it_continues(
    first: Home, second: Home, drive: Callable[..., Driver]
) -> None:
    stalled = drive(first, SHORT, BOTH).loading()
    stalled.tell("wait")
    os.kill(stalled.pid, signal.SIGSTOP)
    taking = drive(second, ELSEWHERE, "db1").loading()
    until(lambda: not [p for p in loads(first) if "/db1/" in " ".join(words_of(p))], "its job on db1 has ended")
    os.kill(stalled.pid, signal.SIGCONT)
    said = stalled.hear()
    assert "lost its reservation of db1 to " in said
    assert f"process {taking.pid}, {second.path}" in said
    assert stalled.status() == 1
    until(lambda: not loads(first), "nothing of it is left")
    assert len(loads(second)) == 1, "the other goes on"
    assert taking.leave() == 0


def test_a_killed_driver_frees_its_hosts_at_once_on_its_machine_and_after_its_lease_elsewhere(
    first: Home, drive: Callable[..., Driver]
) -> None:
    here = drive(first, SHORT, "db1").loading()
    here.kill()
    with Session(load_inventory(SHORT), ["db1"]) as session:
        assert [name.partition("-")[0] for name in session.reaped["db1"]] == ["load"], "ended, and named"
    elsewhere = drive(first, SHORT, "db1", elsewhere=True).loading()
    elsewhere.kill()
    with Session(load_inventory(SHORT), ["db1"]):
        until(lambda: loads(first) == [], "its supervisor has gone, too")


def test_a_large_file_on_its_way_keeps_no_sign_of_life_waiting(first: Home) -> None:
    with Session(load_inventory(SHORT), ["db1"]) as session:
        host = session.hosts["db1"]
        lease = Path(host.lease.file)
        with host._sftp_lock:  # as `put` holds it
            before = lease.stat().st_mtime_ns
            until(lambda: lease.stat().st_mtime_ns != before, "the lease is renewed")


# -- waiting ----------------------------------------------------------------------------------------------------------


def test_who_waits_gets_in_after_the_first_has_ended(
    first: Home, drive: Callable[..., Driver], lab: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = drive(first, SHORT, "db1")
    assert holder.hear() == "reserved"
    console = Console(record=True, width=400)
    # By SSH, as real hosts are asked; as such they would exclude every lab on this machine, other test runs' too.
    monkeypatch.setattr(
        pipeline, "check_lab_free", lambda asked, _, wait_s: check_reachable(asked, ["db1"], wait_s=wait_s)
    )
    waiting = threading.Thread(target=pipeline.wait_until_free, args=(lab, ["db1"], console), kwargs={"wait": True})
    waiting.start()
    until(lambda: "waiting: hosts.db1: the host is reserved by" in console.export_text(clear=False), "it says for whom")
    assert waiting.is_alive()
    assert holder.leave() == 0
    waiting.join(timeout=60)
    assert "the hosts are free after" in console.export_text()


def test_the_command_waits_and_ctrl_c_ends_that(first: Home, drive: Callable[..., Driver]) -> None:
    holder = drive(first, SHORT, "db1")
    assert holder.hear() == "reserved"
    run = first.start(*first.report_words("--wait", "-p", "system=mariadb"))
    assert run.stdout is not None
    assert "waiting: hosts.db1: the host is reserved by" in run.stdout.readline()
    run.send_signal(signal.SIGINT)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "Traceback" not in said
    assert holder.leave() == 0
