"""Drivers as processes that start and stop one lab: nobody's hosts are stopped by who comes to his end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from driver import Driver
from forked import NURSERY
from kit import PATIENCE_S, Home, inventory, until
from typer.testing import CliRunner

from benchbook import cli
from benchbook.errors import BenchbookError, HostReserved
from benchbook.hosts import lab
from benchbook.hosts.agent import Command, Job
from benchbook.hosts.host import Host
from benchbook.hosts.inventory import load_inventory
from benchbook.hosts.lab_host import has_own_network, why_no_network
from benchbook.hosts.session import Session, check_reachable

pytestmark = pytest.mark.real

NAME = "lab_shared"


class LabUser:
    """A driver of the checkout `home` that has a lab up: says `here`, `up`, and `over` or what went wrong.

    It does as told: `look` (do the hosts answer?), `leave`. A slow one says `stopping` first, and waits for a word.
    """

    def __init__(self, home: Home, *, slow: bool = False) -> None:
        self.home = home
        self._line, there = NURSERY.Pipe()
        self.process = NURSERY.Process(target=_use, args=(there, home.environment, slow))
        self.process.start()
        there.close()

    def hear(self) -> object:
        assert self._line.poll(PATIENCE_S), "it says nothing"
        return self._line.recv()

    def is_silent(self) -> bool:
        return not self._line.poll(0.5)

    def tell(self, word: str) -> None:
        self._line.send(word)

    def has_hosts(self) -> bool:
        self.tell("look")
        return self.hear() is True

    def uses_the_lab_to_the_end(self) -> None:
        """Have hosts, leave, and stop them."""
        assert self.hear() == "up"
        assert self.has_hosts()
        self.tell("leave")
        assert self.hear() == "over"
        with self.home.in_force():
            assert [host.pid for host in lab.lab_hosts(load_inventory(NAME))] == [None]


def _use(line: Connection[Any, Any], environment: dict[str, str], slow: bool) -> None:
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    asked = load_inventory(NAME)
    terminate = lab._terminate

    def slowly(pids: Sequence[int]) -> None:
        line.send("stopping")
        line.recv()
        terminate(pids)

    if slow:
        lab._terminate = slowly
    line.send("here")
    try:
        with lab.up_while_used(asked, lambda said: None):
            line.send("up")
            while line.recv() == "look":
                line.send(all(host.pid and lab._answers(host) for host in lab.lab_hosts(asked)))
    except BenchbookError as problem:
        line.send(str(problem))
    except KeyboardInterrupt:
        line.send("interrupted")
    else:
        line.send("over")


@pytest.fixture
def use(net: str) -> Iterator[Callable[..., LabUser]]:
    """Begin drivers. They end with the test, and so do hosts that one which is killed leaves: of a test that fails."""
    begun: list[LabUser] = []

    def begin(home: Home, **how: bool) -> LabUser:
        begun.append(LabUser(home, **how))
        assert begun[-1].hear() == "here"
        return begun[-1]

    yield begin
    for one in begun:
        one.process.kill()
        one.process.join()
    for one in begun:
        with one.home.in_force():
            left = load_inventory(NAME)
            if any(host.pid for host in lab.lab_hosts(left)):
                lab.down(left)


def checkout(path: Path, net: str) -> Home:
    home = Home.make(path, net)
    hosts = {"executor": {"address": f"{net}.71", "roles": ["client"]}}
    home.write(f"env/hosts/{NAME}.yaml", {**inventory(net), "hosts": hosts, "systems": {}})
    return home


@pytest.mark.parametrize("same", [True, False], ids=["one checkout", "two checkouts"])
def test_who_arrives_while_another_stops_the_lab_waits_and_has_hosts(
    same: bool, tmp_path: Path, net: str, use: Callable[..., LabUser]
) -> None:
    here = checkout(tmp_path / "one", net)
    there = here if same else checkout(tmp_path / "two", net)
    first = use(here, slow=True)
    assert first.hear() == "up"
    first.tell("leave")
    assert first.hear() == "stopping"
    second = use(there)
    assert second.is_silent(), "hosts that are about to end are none"
    first.tell("go on")
    assert first.hear() == "over"
    second.uses_the_lab_to_the_end()
    assert not here.processes()


def test_who_arrives_before_another_has_left_keeps_the_hosts_and_stops_them_himself(
    tmp_path: Path, net: str, use: Callable[..., LabUser]
) -> None:
    home = checkout(tmp_path / "one", net)
    first = use(home)
    assert first.hear() == "up"
    second = use(home)
    until(lambda: second._line.poll(0), "it is up, and has reserved nothing yet")
    first.tell("leave")
    assert first.hear() == "over"
    second.uses_the_lab_to_the_end()


def test_who_is_killed_keeps_nobody_waiting(tmp_path: Path, net: str, use: Callable[..., LabUser]) -> None:
    home = checkout(tmp_path / "one", net)
    first = use(home)
    assert first.hear() == "up"
    first.process.kill()
    with home.in_force():
        until(lambda: lab._is_unused(load_inventory(NAME)), "nobody uses it")
    use(home).uses_the_lab_to_the_end()


def test_who_is_told_to_end_again_and_again_stops_the_whole_lab(
    tmp_path: Path, net: str, use: Callable[..., LabUser], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = checkout(tmp_path / "one", net)
    one = use(home, slow=True)
    assert one.hear() == "up"
    one.tell("leave")
    assert one.hear() == "stopping"
    for _ in range(2):
        os.kill(one.process.pid or 0, signal.SIGINT)
    one.tell("go on")
    assert one.hear() == "interrupted"
    monkeypatch.setenv("BENCHBOOK_HOME", str(home.path))
    assert [host.pid for host in lab.lab_hosts(load_inventory(NAME))] == [None]


def test_a_lab_that_was_started_by_hand_and_has_ended_since_is_not_left_running_by_the_next_run(
    tmp_path: Path, net: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a restart of the machine."""
    home = checkout(tmp_path / "one", net)
    monkeypatch.setenv("BENCHBOOK_HOME", str(home.path))
    mine = load_inventory(NAME)
    try:
        (started,) = lab.up(mine, by_hand=True)
        with lab.up_while_used(mine, lambda said: None):
            pass
        assert started.pid is not None, "a run leaves it as it was"
        os.kill(started.pid, signal.SIGKILL)
        until(lambda: started.pid is None, "it has ended")
        with lab.up_while_used(mine, lambda said: None):
            assert started.pid is not None
        assert started.pid is None
    finally:
        lab.down(mine)


def test_what_a_killed_run_left_goes_with_the_lab(tmp_path: Path, net: str, monkeypatch: pytest.MonkeyPatch) -> None:
    home = checkout(tmp_path / "one", net)
    monkeypatch.setenv("BENCHBOOK_HOME", str(home.path))
    mine = load_inventory(NAME)
    lab.up(mine)
    try:
        host = Host(mine, "executor")
        host.mkdir(host.path("jobs"))
        host.write(host.path("test.host"), json.dumps({"session": "gone"}))
        job = Job.start(host, "load", Command(["sleep", "300"], timeout_s=300), "gone", host.path("test.host"))
        host.close()
    finally:
        lab.down(mine)
    assert not Path(job.folder).exists()


def test_a_lab_has_a_network_of_its_own_where_its_user_may_make_one(
    tmp_path: Path, net: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why := why_no_network():
        pytest.skip(f"no network can be made here: {why}")
    home = checkout(tmp_path / "one", net)
    monkeypatch.setenv("BENCHBOOK_HOME", str(home.path))
    mine = load_inventory(NAME)
    (started,) = lab.up(mine, own_network=True)
    host = Host(mine, "executor")
    try:
        assert host.run(["echo", "hello"]).stdout == "hello\n"
        assert started.enter()[0] == "nsenter"
        assert has_own_network(mine)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((started.address, started.port), 5)
        assert [each.pid for each in lab.up(mine)] == [started.pid], "it is found there"
        said = CliRunner().invoke(cli.app, ["lab", "up", NAME]).output
        assert f"`benchbook lab status {NAME}` prints the command that takes you inside" in " ".join(said.split())
    finally:
        host.close()
        assert lab.down(mine) == 1
    lab.up(mine)
    try:
        assert not has_own_network(mine), "so its ports without a login are named, as of a batch's labs"
    finally:
        assert lab.down(mine) == 1


def test_a_job_ends_in_a_cut_of_the_network_and_why_is_told(
    tmp_path: Path, net: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `lo` of the lab's own network down, which no link shows, for as long as the shortest lease there is."""
    if why := why_no_network():
        pytest.skip(f"no network can be made here: {why}")
    home = checkout(tmp_path / "one", net)
    asked = inventory(net)
    hosts = {"executor": {"address": f"{net}.71", "roles": ["client"]}}
    ssh = {**asked["ssh"], "lease_s": 5}
    home.write(f"env/hosts/{NAME}.yaml", {**asked, "ssh": ssh, "hosts": hosts, "systems": {}})
    monkeypatch.setenv("BENCHBOOK_HOME", str(home.path))
    mine = load_inventory(NAME)
    with lab.up_while_used(mine, lambda said: None), Session(mine, ["executor"]) as session:
        job = session.start(session.hosts["executor"], "load", Command(["sleep", "60"], timeout_s=60))
        inside = lab.lab_hosts(mine)[0].enter()
        subprocess.run([*inside, "ip", "link", "set", "lo", "down"], check=True)
        try:
            # The host is this machine: its files say so while nobody can be connected to it.
            until(Path(job.folder, "status.json").exists, "the host ends what its driver does not renew")
        finally:
            subprocess.run([*inside, "ip", "link", "set", "lo", "up"], check=True)
        ended = job.wait()
        assert ended.reason == "lease"
        assert str(ended.from_outside("load")).endswith("stood still, or the network was cut)")


@pytest.mark.skipif(bool(why_no_network()), reason="a network of its own is needed")
def test_of_two_labs_with_the_same_addresses_none_is_taken_for_the_other(
    tmp_path: Path, net: str, use: Callable[..., LabUser]
) -> None:
    here, there = checkout(tmp_path / "one", net), checkout(tmp_path / "two", net)
    first = use(here)
    assert first.hear() == "up"
    driver = Driver(here, NAME, "executor")
    try:
        assert driver.hear() == "reserved"
        with there.in_force():
            mine = load_inventory(NAME)
            with pytest.raises(HostReserved), lab.up_while_used(mine, lambda said: None), Session(mine, ["executor"]):
                pass
            assert [host.pid for host in lab.lab_hosts(mine)] == [None], "it is left by whom it was started"
        assert driver.leave() == 0
    finally:
        driver.kill()
    assert first.has_hosts()
    first.tell("leave")
    assert first.hear() == "over"


def test_who_has_ended_meanwhile_need_not_be_ended() -> None:
    with subprocess.Popen(["true"]) as over:
        over.wait()
    lab._terminate([over.pid])


def test_two_labs_of_a_new_checkout_come_up_side_by_side(
    tmp_path: Path, net: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the cells of a batch begin: one client's key, and the hosts of both are known."""
    home = checkout(tmp_path / "one", net)
    names = [f"lab_{number}" for number in range(72, 76)]
    for name in names:
        hosts = {"executor": {"address": f"{net}.{name[4:]}", "roles": ["client"]}}
        home.write(f"env/hosts/{name}.yaml", {**inventory(net), "hosts": hosts, "systems": {}})
    monkeypatch.setenv("BENCHBOOK_HOME", str(home.path))
    labs = [load_inventory(name) for name in names]
    try:
        with ThreadPoolExecutor(len(labs)) as pool:
            started = list(pool.map(lab.up, labs))
        assert len({host.address for (host,) in started}) == len(labs)
        assert not (home.path / ".lab" / "secrets" / "database").read_text().isspace()
        check_reachable(labs[0], ["executor"])
        check_reachable(labs[-1], ["executor"])
    finally:
        for one in labs:
            lab.down(one)
