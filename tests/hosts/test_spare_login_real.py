"""Real sshd: what a driver meets that was stopped while it logged in, and spare logins that went meanwhile."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import fabric
import psutil
import pytest
from kit import ROOT, until

from benchbook.errors import ConnectionLost, HostUnusable
from benchbook.hosts import connection, logins
from benchbook.hosts import lab as labs
from benchbook.hosts.agent import Command, Job
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.logins import Logins
from benchbook.hosts.patience import patient
from benchbook.hosts.remote_host import RemoteHost

pytestmark = pytest.mark.real


@pytest.fixture
def host(lab: Inventory) -> Iterator[RemoteHost]:
    opened = RemoteHost(lab, "db1")
    yield opened
    opened.close()


def serving(opened: fabric.Connection, lab: Inventory) -> list[psutil.Process]:
    """The sshd processes of this connection."""
    (sshd,) = [psutil.Process(each.pid) for each in labs.lab_hosts(lab) if each.name == "db1"]
    mine = opened.transport.sock.getsockname()
    return [child for child in sshd.children(recursive=True) if mine in peers(child)]


def peers(process: psutil.Process) -> list[tuple[str, int]]:
    """Whom it is connected with; nobody where it has ended, as the login of an earlier test may have meanwhile."""
    try:
        return [tuple(one.raddr) for one in process.net_connections(kind="inet") if one.raddr]
    except psutil.NoSuchProcess:
        return []


def spare_of(host: RemoteHost) -> fabric.Connection:
    """The login that was opened ahead, once it stands; it stays there to be taken."""
    host.open_ahead()
    coming = host._logins._spare._coming
    assert coming is not None
    there = coming.result(30)
    assert there is not None
    return there


# -- a host or a driver that stands still -----------------------------------------------------------------------------


def test_an_answer_that_comes_too_late_at_the_first_look_is_a_lost_connection(
    lab: Inventory, host: RemoteHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logins, "silence_s", lambda _: 0.3)
    files, stopped = Logins.files, list[psutil.Process]()

    def then_standing_still(self: Logins) -> object:
        opened = files(self)
        if not stopped:
            assert self._main is not None
            stopped.extend(serving(self._main, lab))
            for process in stopped:
                process.suspend()
        return opened

    monkeypatch.setattr(Logins, "files", then_standing_still)
    try:
        with pytest.raises(ConnectionLost, match=r"db1: .*TimeoutError"):
            host.connect()
        assert patient(host)(host.connect).is_connected, "by another login"
    finally:
        for process in stopped:
            process.resume()


def test_files_that_are_not_those_of_commands_are_said(host: RemoteHost, monkeypatch: pytest.MonkeyPatch) -> None:
    parse = logins.first_look.Seen.parse
    monkeypatch.setattr(
        logins.first_look.Seen, "parse", lambda text: parse(text.replace("root\t", "root\t/elsewhere", 1))
    )
    with pytest.raises(HostUnusable, match=r"hosts\.db1: SFTP does not show the folder .*Fix: take ChrootDirectory"):
        host.connect()


DRIVER = """
import os, signal, sys
from benchbook.hosts.inventory import load_inventory
from benchbook.hosts.login_keys import KeyOffer
from benchbook.hosts.remote_host import RemoteHost

lab = load_inventory("lab_test")
lab = lab.model_copy(update={"ssh": lab.ssh.model_copy(update={"connect_timeout_s": 2.0})})
host = RemoteHost(lab, "db1")
host.connect()
accepted, stops = KeyOffer._accepted, [signal.SIGSTOP]

def after_a_stop(self, transport, key):
    if stops:
        os.kill(os.getpid(), stops.pop())
    return accepted(self, transport, key)

KeyOffer._accepted = after_a_stop
host.open_ahead()
print(host.start(["echo", "went on"]).first_line(30), flush=True)
host.close()
"""


def test_a_driver_that_was_stopped_for_longer_than_a_login_may_take_goes_on(lab: Inventory, tmp_path: Path) -> None:
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "lib")}
    with (tmp_path / "said").open("wb") as said:
        driver = psutil.Popen([sys.executable, script], env=environment, stdout=said, stderr=said)
    try:
        until(lambda: driver.status() == psutil.STATUS_STOPPED, "it is in the middle of a login")
        stopped = time.monotonic()
        until(lambda: time.monotonic() > stopped + 3, "its time for a login is over")
        driver.send_signal(signal.SIGCONT)
        assert driver.wait(60) == 0, (tmp_path / "said").read_text()
        assert (tmp_path / "said").read_text() == "went on\n"
    finally:
        if driver.poll() is None:
            driver.kill()


# -- spare logins -----------------------------------------------------------------------------------------------------


def test_a_spare_login_that_was_killed_between_two_starts_costs_another_login(lab: Inventory, host: RemoteHost) -> None:
    spare = spare_of(host)
    for process in serving(spare, lab):
        process.kill()
    until(lambda: not spare.is_connected, "the transport notices")
    assert host.start(["echo", "another"]).first_line(30) == "another"


def test_a_spare_login_that_broke_unnoticed_is_a_lost_connection_and_what_it_was_for_starts_once(
    lab: Inventory, host: RemoteHost
) -> None:
    lease = host.path("spare.host")
    host.write(lease, json.dumps({"session": "test"}))
    spare = spare_of(host)
    # As a network does that hands on nothing more: whoever is asked next finds the login gone.
    spare.transport.sock.shutdown(2)
    spare.transport.join(0.01)
    job = Job.start(host, "test", Command(["sh", "-c", "echo once"], timeout_s=30), "test", lease)
    assert (job.wait().reason, job.stdout()) == ("exited", b"once\n")


def test_a_spare_login_that_is_refused_is_nobodys_trouble(
    lab: Inventory, host: RemoteHost, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    host.connect()
    stranger = tmp_path / "key"
    labs._keygen(stranger, "a stranger's")
    host.inventory = lab.model_copy(update={"ssh": lab.ssh.model_copy(update={"key": str(stranger)})})
    host.open_ahead()
    coming = host._logins._spare._coming
    assert coming is not None
    assert coming.result(30) is None
    host.inventory = lab
    assert host.start(["echo", "let in"]).first_line(30) == "let in"


def test_a_login_that_breaks_as_soon_as_it_stands_is_a_host_that_cannot_be_reached(
    host: RemoteHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    handshake = connection._handshake

    def then_broken(opened: fabric.Connection, ssh: object) -> None:
        handshake(opened, ssh)  # type: ignore[arg-type]
        opened.transport.sock.close()

    monkeypatch.setattr(connection, "_handshake", then_broken)
    with pytest.raises(HostUnusable, match=r"hosts\.db1: the host cannot be reached by SSH"):
        host.connect()
    host.open_ahead()
    assert host._logins._spare.take() is None
