"""Real sshd: connections, words that arrive as they are, and jobs that outlive a connection but not their lease."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import paramiko
import psutil
import pytest
from database import Database
from kit import Home, processes_of, until
from sshd import HARD

from benchbook import notebook_run
from benchbook.errors import BadInput, BenchbookError, ConnectionLost, HostUnusable, RemoteFailed
from benchbook.hosts import agent, capacity, host_facts
from benchbook.hosts import lab as labs
from benchbook.hosts.agent import Command, Ended, Job, agent_on
from benchbook.hosts.connection import find_route, open_connection, trusted
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.fanout import FanOutFailed, FanOutRefused, on_each, try_on_each
from benchbook.hosts.host import Host
from benchbook.hosts.host_facts import gather, preflight
from benchbook.hosts.host_models import HostFacts
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.preflight import NO_SPACE
from benchbook.hosts.session import Session
from benchbook.systems.sql import query, try_login

pytestmark = pytest.mark.real


@pytest.fixture
def host(lab: Inventory) -> Iterator[Host]:
    opened = Host(lab, "db1")
    opened.mkdir(opened.path("jobs"), opened.path("leases"), opened.path("test"))
    yield opened
    opened.close()


def changed(lab: Inventory, **ssh: object) -> Inventory:
    return lab.model_copy(update={"ssh": lab.ssh.model_copy(update=ssh)})


# -- connections --------------------------------------------------------------------------------------------------


def test_commands_are_sent_at_once_and_the_connection_is_kept_alive(host: Host) -> None:
    transport = host.connect().transport
    assert transport.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
    assert transport.packetizer._Packetizer__keepalive_interval == 5
    assert host.connect() is host.connect(), "one connection, used again"


def test_a_host_whose_key_is_not_known_is_not_spoken_to(lab: Inventory, tmp_path: Path) -> None:
    unknown = Host(changed(lab, known_hosts=str(tmp_path / "none")), "db1")
    with pytest.raises(HostUnusable, match=r"hosts\.db1: the host key is not known .*Fix: log in once by `ssh "):
        unknown.connect()


def test_a_host_that_sends_another_key_is_not_spoken_to(lab: Inventory, tmp_path: Path) -> None:
    known = tmp_path / "known"
    known.write_text(another_key(f"[{lab.hosts['db1'].address}]:2222"))
    said = "the host key is not the one that is known .* a lab: `benchbook lab down`, then `benchbook lab up`"
    with pytest.raises(HostUnusable, match=said):
        Host(changed(lab, known_hosts=str(known)), "db1").connect()


def test_a_host_that_sends_another_key_once_openssh_has_looked_is_not_spoken_to(lab: Inventory) -> None:
    route = trusted(lab, "db1", find_route(lab, "db1"))
    other = replace(route.host_key, fingerprint=f"{route.host_key.fingerprint}x")
    with pytest.raises(HostUnusable, match="the host key is not the one that is known"):
        open_connection(lab, "db1", replace(route, host_key=other))


def another_key(where: str) -> str:
    key = paramiko.ECDSAKey.generate()
    return f"{where} {key.get_name()} {key.get_base64()}\n"


def test_a_login_that_is_refused_and_a_port_where_nobody_listens(lab: Inventory, tmp_path: Path) -> None:
    stranger = tmp_path / "key"
    labs._keygen(stranger, "a stranger's")
    with pytest.raises(HostUnusable, match=r"SSH login refused .*Fix: set ssh\.user and ssh\.key"):
        Host(changed(lab, key=str(stranger)), "db1").connect()
    with pytest.raises(HostUnusable, match="cannot be reached by SSH"):
        Host(changed(lab, port=2299), "db1").connect()


def test_a_connection_that_breaks_is_made_anew(host: Host) -> None:
    first = host.connect()
    end_sshd_session(host)
    until(lambda: not first.is_connected, "the transport notices")
    assert host.run(["echo", "again"]).stdout == "again\n"


ANCESTORS = """
import os
pid, found = os.getpid(), []
while pid > 1:
    found.append(pid)
    pid = int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
print(*found)
"""


def test_a_connection_that_breaks_under_a_command_is_no_answer_of_the_command(host: Host) -> None:
    def cut() -> None:
        until(lambda: processes_of("sleep 311.5".__eq__), "it runs")
        end_sshd_session(host)

    host.connect()
    cutter = threading.Thread(target=cut)
    cutter.start()
    with pytest.raises(ConnectionLost, match=r"db1: the connection broke during `sleep 311\.5`"):
        host.run(["sleep", "311.5"], check=False, timeout=60)
    cutter.join()
    assert host.run(["sh", "-c", "kill -9 $$"], check=False).exited != 0, "a program that was killed is an answer"
    for process in processes_of("sleep 311.5".__eq__):
        process.kill()


def test_an_sshd_that_stands_still_is_given_up(lab: Inventory) -> None:
    host = Host(changed(lab, lease_s=5), "db1")
    host.mkdir(host.path("test"))
    host.write(host.path("test", "still"), "here")
    assert host.connect().transport.channel_timeout == 5, "and not an hour, for a command"
    stopped = sshd_session(host)
    for process in stopped:
        process.suspend()
    try:
        with pytest.raises(ConnectionLost, match="test/still: TimeoutError"):
            host.read(host.path("test", "still"))
        assert host.read(host.path("test", "still")) == b"here", "by another connection"
    finally:
        for process in stopped:
            process.resume()
    host.close()


def test_a_host_that_refuses_to_write_is_no_lost_connection(host: Host) -> None:
    with pytest.raises(RemoteFailed, match=r"db1: .*/dev/full.*the host refuses \(Failure\): is its disk full"):
        host.write("/dev/full", "held", mode=0o666)


def test_a_disk_that_fills_while_a_file_is_put_there_is_named(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What paramiko said when a disk took the file and not one byte of it."""
    program = tmp_path / "program"
    program.write_text(f"its lines {tmp_path}")

    def cut_short(*_: object, **__: object) -> None:
        raise OSError("size mismatch in put!  0 != 18935")

    with monkeypatch.context() as full:
        full.setattr(paramiko.SFTPClient, "put", cut_short)
        with pytest.raises(RemoteFailed, match=r"db1: .*the host refuses \(size mismatch .*\): is its disk full"):
            host.push(program)
        full.setattr(Host, "disk_refuses", lambda host, folder: NO_SPACE)
        with pytest.raises(HostUnusable, match=r"hosts\.db1\.workdir: no space is left on the disk of db1 .* Fix: "):
            host.push(program)
    assert host.read(host.push(program)) == program.read_bytes()


def test_a_sshd_that_is_started_again_costs_a_wait(lab: Inventory, host: Host) -> None:
    first = host.connect()
    (there,) = [each for each in labs.lab_hosts(lab) if each.name == "db1"]
    labs._terminate([lab_sshd(host)])
    # A command that is on its way as the connection ends is another case: it may have begun, and is not sent again.
    until(lambda: not first.is_connected, "the transport notices")
    back = threading.Timer(1.5, labs.up, [lab], {"by_hand": True})
    back.start()
    try:
        assert host.run(["echo", "again"]).stdout == "again\n"
        assert host.run_apart(["echo", "login"]).stdout == "login\n"
    finally:
        back.join()
    assert there.pid


def test_a_long_job_is_started_by_a_login_of_its_own(host: Host) -> None:
    command = ["python3", "-c", ANCESTORS]
    serving = {process.pid for process in sshd_session(host)}
    assert serving & set(map(int, host.run(command).stdout.split()))
    first, second = (host.run_apart(command).stdout.split() for _ in range(2))
    assert not serving & set(map(int, first))
    listener = psutil.Process(lab_sshd(host))
    above = {process.pid for process in (listener, *listener.parents())} - {1}
    assert set(map(int, first)) & set(map(int, second)) == above, "two starts share the listener and nothing below it"


def test_a_program_that_is_started_takes_the_place_of_the_shells(host: Host) -> None:
    """Else it inherits from them how many processes they have woken, and Linux spreads a load the more for it."""
    parent = "import os; print(open(f'/proc/{os.getppid()}/comm').read())"
    assert host.run_apart(["python3", "-c", parent]).stdout.startswith("sshd")


# -- commands -----------------------------------------------------------------------------------------------------


def test_every_word_arrives_as_it_is(host: Host) -> None:
    said = host.run(["python3", "-c", "import sys, json; print(json.dumps(sys.argv[1:]))", *HARD]).stdout
    assert json.loads(said) == HARD


def test_names_of_files_are_not_interpreted_either(host: Host) -> None:
    name = host.path("test", 'it\'s $(a) "file"')
    host.write(name, "content $(no)\n")
    assert host.read(name) == b"content $(no)\n"
    assert host.run(["cat", "--", name]).stdout == "content $(no)\n"
    host.run(["rm", "--", name])
    assert host.read(name) == b""


def test_a_command_s_end_is_told_apart(host: Host) -> None:
    with pytest.raises(RemoteFailed, match=r"db1: `sh -c .*` ended with status 3: oh"):
        host.run(["sh", "-c", "echo oh >&2; exit 3"])
    assert host.run(["false"], check=False).exited == 1
    with pytest.raises(RemoteFailed, match=r"no end within 0\.2 s"):
        host.run(["sleep", "30"], timeout=0.2)


def test_a_command_may_print_as_much_as_it_likes_on_either_output_first(host: Host) -> None:
    """More than a channel holds (2 MB): who read one output to its end before the other would wait for ever."""
    program = "import sys; [print('x' * 3_000_000, file=to) for to in (sys.stderr, sys.stdout, sys.stderr)]"
    done = host.run([host.python, "-c", program], timeout=30)
    assert (len(done.stdout), len(done.stderr)) == (3_000_001, 6_000_002)


def test_a_command_that_closes_its_outputs_is_waited_for(host: Host) -> None:
    assert host.run(["sh", "-c", "exec >&- 2>&-; sleep 0.5; exit 7"], check=False).exited == 7
    with pytest.raises(RemoteFailed, match=r"no end within 0\.3 s"):
        host.run(["sh", "-c", "exec >&- 2>&-; sleep 30"], timeout=0.3)


def test_the_end_of_stdin_is_not_sent_which_would_cost_the_connection_if_it_came_too_late(host: Host) -> None:
    login = host.connect()
    with pytest.raises(RemoteFailed, match=r"no end within 0\.3 s"):
        host.run(["cat"], timeout=0.3)
    for _ in range(300):
        host.run(["true"])
    assert host.connect() is login


def test_a_command_that_prints_all_the_time_is_given_up_in_time(host: Host) -> None:
    with pytest.raises(RemoteFailed, match=r"no end within 0\.5 s"):
        host.run(["sh", "-c", "while :; do echo still here; sleep 0.01; done"], timeout=0.5)


def test_a_missing_program_is_named_with_its_package(host: Host) -> None:
    assert host.which("sh", "no-such-program").keys() == {"sh"}
    with pytest.raises(HostUnusable, match=r"no-such is not on host db1 .*apt-get install a-package"):
        host.require_program("no-such", package="a-package")


# -- files --------------------------------------------------------------------------------------------------------


def test_files_are_pushed_only_when_their_content_is_not_there(host: Host, tmp_path: Path) -> None:
    local = tmp_path / "tool"
    local.write_text("#!/bin/sh\necho one\n")
    there = host.push(local, executable=True)
    assert host.run([there]).stdout == "one\n"
    before = host.connect().sftp().stat(there)
    marked = host.run(f"stat -c %i:%Y {there}").stdout
    assert host.push(local, executable=True) == there
    assert host.run(f"stat -c %i:%Y {there}").stdout == marked, "not written again"
    assert stat.S_IMODE(before.st_mode or 0) == 0o700
    local.write_text("#!/bin/sh\necho two\n")
    second = host.push(local, executable=True)
    assert second != there
    assert (host.run([second]).stdout, host.run([there]).stdout) == ("two\n", "one\n")


def test_a_push_that_was_cut_off_is_done_again(host: Host, tmp_path: Path) -> None:
    local = tmp_path / "data"
    local.write_bytes(os.urandom(1000))
    there = host.push(local)
    host.run(f"truncate -s 10 {there}")
    host.close()  # what one connection has seen on a host is looked up anew by the next
    assert host.push(local) == there
    assert host.read(there) == local.read_bytes()


def test_small_files_are_private_and_read_from_an_offset(host: Host) -> None:
    path = host.path("test", "small")
    host.write(path, "0123456789")
    assert stat.S_IMODE(host.connect().sftp().stat(path).st_mode or 0) == 0o600
    assert (host.read(path, offset=7), host.read(path, offset=10), host.read(path, offset=99)) == (b"789", b"", b"")


# -- many hosts ---------------------------------------------------------------------------------------------------


def _refuse(host: Host) -> None:
    raise HostUnusable("no disk", key=f"hosts.{host.name}")


def test_every_host_s_outcome_is_kept(lab: Inventory) -> None:
    hosts = [Host(lab, name) for name in lab.hosts]

    def step(host: Host) -> str:
        return host.run(["true" if host.name == "executor" else "false"]).stdout + host.name

    outcomes = try_on_each(hosts, step)
    assert outcomes.done == {"executor": "executor"}
    assert isinstance(outcomes.failed["db1"], RemoteFailed)
    with pytest.raises(RemoteFailed):
        on_each("a step", hosts, step)
    with pytest.raises(FanOutFailed, match=r"a step failed on 2 of 2 hosts: executor: .*; db1: ") as caught:
        on_each("a step", hosts, lambda host: host.run(["false"]))
    assert set(caught.value.failed) == {"executor", "db1"}
    with pytest.raises(FanOutRefused, match=r"on 2 of 2 hosts: executor: hosts\.executor: no disk") as both:
        on_each("a step", hosts, _refuse)
    assert both.value.exit_status == notebook_run._status(type(both.value).__name__) == 2


def test_a_host_that_does_not_answer_in_time_keeps_nobody_else_waiting(lab: Inventory) -> None:
    hosts = [Host(lab, name) for name in lab.hosts]
    let_go = threading.Event()
    # What may take long on a busy machine, a login, comes before.
    on_each("connecting", hosts, Host.connect)
    outcomes = try_on_each(hosts, lambda h: let_go.wait() if h.name == "db1" else h.run(["true"]).exited, timeout=8)
    let_go.set()
    assert outcomes.done == {"executor": 0}
    assert str(outcomes.failed["db1"]) == "no answer within 8 s"


def test_a_defect_is_not_taken_for_a_failed_host(lab: Inventory) -> None:
    with pytest.raises(ZeroDivisionError):
        try_on_each([Host(lab, "db1")], lambda _: 1 / 0)


# -- jobs ---------------------------------------------------------------------------------------------------------

# Counts to 40, and says so line by line; after every tenth it waits for a file of that number.
COUNT = ["sh", "-c", """
i=0
while [ $i -lt 40 ]; do
    i=$((i+1)); echo line $i
    while [ $((i % 10)) = 0 ] && [ ! -e {job}/$i ]; do sleep 0.05; done
done
"""]  # fmt: skip
COUNTED = "".join(f"line {i}\n" for i in range(1, 41))


def command(*argv: str, **more: object) -> Command:
    return Command(argv, **{"timeout_s": 120, **more})  # type: ignore[arg-type]


def start(host: Host, what: Command, session: str = "test") -> Job:
    """A job under a reservation that nobody renews, but for `renewing`."""
    path = host.path("test.host")
    host.write(path, json.dumps({"session": session}))
    return Job.start(host, "test", what, session, path)


def renewing(host: Host, condition: Callable[[], Any]) -> Callable[[], Any]:
    """`condition`, whose every question renews the reservation: until it holds, no lease runs out."""

    def asked() -> Any:
        os.utime(host.path("test.host"))
        return condition()

    return asked


def group_of(job: Job) -> int:
    return int(json.loads(job.host.read(f"{job.folder}/pid"))["group"])


def alive(group: int) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.NoSuchProcess, ProcessLookupError):
            continue
    return found


def end_sshd_session(host: Host) -> None:
    """Kill the sshd processes that serve this connection, as a broken network would end it."""
    for process in sshd_session(host):
        process.kill()


def lab_sshd(host: Host) -> int:
    return next(h.pid for h in labs.lab_hosts(host.inventory) if h.name == host.name)


def sshd_session(host: Host) -> list[psutil.Process]:
    """The sshd processes that serve this connection."""
    mine = host.connect().transport.sock.getsockname()
    serving = []
    for child in psutil.Process(lab_sshd(host)).children(recursive=True):
        # What has ended between two looks serves nothing.
        with contextlib.suppress(psutil.NoSuchProcess):
            if any(c.raddr == mine for c in child.net_connections(kind="inet")):
                serving.append(child)
    return serving


def test_a_job_s_output_and_end_come_back(session: Session) -> None:
    seen: list[bytes] = []
    job = session.start(
        session.hosts["db1"], "test", command("sh", "-c", "echo $A; echo >&2 oh; exit 7", env={"A": "b c"})
    )
    ended = job.wait(on_output=seen.append)
    assert (ended.reason, ended.exit, ended.signal) == ("exited", 7, None)
    assert ended.ended >= ended.started
    assert (b"".join(seen), job.stderr()) == (b"b c\n", "oh\n")
    session.forget(job)
    job.remove()
    job.host.close()  # by then, what was removed is gone
    assert job.host.read(f"{job.folder}/status.json") == b""


def test_a_command_may_run_below_its_job_so_that_what_it_writes_beside_itself_goes_with_the_job(
    session: Session,
) -> None:
    host = session.hosts["db1"]
    job = session.start(host, "test", command("sh", "-c", "pwd; echo left >../beside", cwd="{job}/run"))
    assert job.wait().exit == 0
    assert job.stdout().decode() == f"{job.folder}/run\n"
    assert host.read(f"{job.folder}/beside") == b"left\n"


def test_a_program_that_is_not_there_and_a_signal_are_told_apart(session: Session) -> None:
    missing = session.start(session.hosts["db1"], "test", command("no-such-program"))
    assert missing.wait().exit == 127
    assert "cannot start no-such-program" in missing.stderr()
    killed = session.start(session.hosts["db1"], "test", command("sh", "-c", "kill -9 $$"))
    ended = killed.wait()
    assert (ended.exit, ended.signal) == (None, 9)
    late = session.start(session.hosts["db1"], "test", command("sleep", "60", timeout_s=0.5))
    assert late.wait().reason == "timeout"


def test_a_job_survives_a_lost_connection_and_nothing_is_said_twice(session: Session) -> None:
    host, seen, cut = session.hosts["db1"], [], []
    job = session.start(host, "test", command(*COUNT))

    def listen(data: bytes) -> None:
        seen.append(data)
        said = len(b"".join(seen).splitlines())
        if said == 10 * (len(cut) + 1):
            cut.append(said)
            end_sshd_session(host)
            # The host is this machine, and goes on while nobody is connected to it.
            Path(job.folder, str(said)).touch()

    ended = job.wait(on_output=listen, every_s=0.05)
    assert cut == [10, 20, 30, 40]
    assert (ended.reason, ended.exit) == ("exited", 0)
    assert b"".join(seen).decode() == COUNTED


def test_a_job_dies_with_its_lease_and_so_does_everything_it_started(lab: Inventory) -> None:
    host = Host(changed(lab, lease_s=5), "db1")
    family = "trap '' TERM; sleep 300 & (trap '' TERM; sleep 300) & wait"
    job = start(host, command("sh", "-c", family, grace_s=0.5, secrets={"password": "hush"}))
    group = group_of(job)
    until(renewing(host, lambda: len(alive(group)) >= 3), "the family stands")
    ended = until(job.status, "the lease runs out")
    assert ended.reason == "lease"
    until(lambda: not alive(group), "what was sent SIGKILL has gone")
    assert host.connect().sftp().listdir(job.folder).count("password") == 0


def test_a_job_lives_for_as_long_as_its_lease_is_renewed(lab: Inventory) -> None:
    short = changed(lab, lease_s=5)
    with Session(short, ["db1"]) as opened:
        job = opened.start(opened.hosts["db1"], "test", command("sh", "-c", "sleep 9; echo survived"))
        ended = job.wait()
        assert (ended.reason, job.stdout()) == ("exited", b"survived\n")


def test_stop_ends_grandchildren_too_and_says_who_asked(session: Session) -> None:
    stubborn = "trap '' TERM; sh -c \"trap '' TERM; sleep 300 & wait\" & wait"
    job = session.start(session.hosts["db1"], "test", command("sh", "-c", stubborn, grace_s=0.3))
    group = group_of(job)
    until(lambda: len(alive(group)) >= 3, "the family stands")
    session.end(job)
    ended = job.status()
    assert ended is not None
    assert (ended.reason, ended.signal) == ("stopped", 9)
    until(lambda: not alive(group), "what was sent SIGKILL has gone")


def test_a_killed_supervisor_takes_its_command_along_and_its_secrets_go_with_the_next_run(lab: Inventory) -> None:
    with Session(lab, ["db1"]) as opened:
        host = opened.hosts["db1"]
        job = opened.start(host, "test", command("sleep", "300", secrets={"pw": "hush"}))
        group = group_of(job)
        psutil.Process(json.loads(host.read(f"{job.folder}/pid"))["supervisor"]).kill()
        until(lambda: not alive(group), "the command is gone")
        assert "pw" in host.connect().sftp().listdir(job.folder)
        assert job.wait().from_outside("it") == "the supervisor of it was killed"
        assert job.stop() == job.status() == Ended("unsupervised", None, None, 0, 0)
        opened.forget(job)  # a driver that lives would remove its folder
    with Session(lab, ["db1"]) as opened:
        assert opened.reaped == {}
        assert opened.hosts["db1"].read(f"{job.folder}/pw") == b""


def test_what_a_killed_supervisor_leaves_is_ended_wherever_it_went(session: Session) -> None:
    host = session.hosts["db1"]
    family = "setsid sleep 317.25 & sleep 317.25 & exec sleep 317.25"
    job = session.start(host, "test", command("sh", "-c", family))

    def left() -> list[psutil.Process]:
        return processes_of("sleep 317.25".__eq__)

    until(lambda: len(left()) == 3, "the family stands")
    psutil.Process(json.loads(host.read(f"{job.folder}/pid"))["supervisor"]).kill()
    until(lambda: len(left()) == 2, "the command goes with it, and its children do not")
    session.end(job)
    assert left() == []


def test_a_suspended_supervisor_is_ended_too(session: Session) -> None:
    job = session.start(session.hosts["db1"], "test", command("sleep", "300"))
    group = group_of(job)
    psutil.Process(json.loads(job.host.read(f"{job.folder}/pid"))["supervisor"]).suspend()
    session.end(job)
    until(lambda: not alive(group), "what was sent SIGKILL has gone")
    assert getattr(job.status(), "reason", None) == "stopped"


def test_what_is_ended_at_once_is_not_asked_to_end(session: Session) -> None:
    busy = "trap 'echo asked' TERM; echo ready; while :; do sleep 300 & wait; done"
    job = session.start(session.hosts["db1"], "test", command("sh", "-c", busy, grace_s=600))
    group = group_of(job)
    until(lambda: job.stdout() == b"ready\n", "its trap is set")
    session.end(job, at_once=True)
    until(lambda: not alive(group), "what was sent SIGKILL has gone")
    assert getattr(job.status(), "signal", None) == 9
    assert job.stdout() == b"ready\n"


def test_a_secret_of_a_command_is_private_and_what_a_killed_driver_left_of_it_goes_with_the_next_session(
    lab: Inventory,
) -> None:
    with Session(lab, ["db1"]) as opened:
        host = opened.hosts["db1"]
        with host.secret_files({"pw": "hush"}) as folder:
            assert host.run(["stat", "-c", "%a", folder, f"{folder}/pw"]).stdout.split() == ["700", "600"]
        assert host.read(f"{folder}/pw") == b""
        host.mkdir(folder)
        host.write(f"{folder}/pw", "hush")
    with Session(lab, ["db1"]) as opened:
        assert opened.hosts["db1"].read(f"{folder}/pw") == b""


def test_what_a_command_writes_at_its_end_is_waited_for_where_it_is_wanted(session: Session) -> None:
    """As a server's dirty pages: longer than the grace that it has from everybody else."""
    slow = "trap 'sleep {}; echo written; exit 0' TERM; echo ready; while :; do sleep 0.01; done"
    for takes_s, within_s, said, end in ((1, 60, b"ready\nwritten\n", (0, None)), (60, 0, b"ready\n", (None, 9))):
        job = session.start(session.hosts["db1"], "test", command("sh", "-c", slow.format(takes_s), grace_s=0.2))
        until(lambda job=job: job.stdout() == b"ready\n", "its trap is set")  # type: ignore[misc]
        ended = session.end(job, within_s=within_s)
        assert ended
        assert (ended.reason, (ended.exit, ended.signal), job.stdout()) == ("stopped", end, said)


STUBBORN = "trap 'echo asked' TERM; echo ready; while :; do sleep 0.05; done"


def asked_to_stop(job: Job) -> Host:
    """Another driver of the job, which waits for 600 s for what it writes at its end."""
    other = Host(job.host.inventory, "db1")
    words = [*agent_on(other), "stop", job.folder, 600]

    def ask() -> None:
        with suppress(BenchbookError):
            other.run(words, timeout=600)

    threading.Thread(target=ask, daemon=True).start()
    return other


def test_what_a_job_was_granted_for_its_end_goes_with_its_driver(lab: Inventory) -> None:
    """A server that writes its dirty pages for ten minutes; the driver dies meanwhile."""
    host = Host(changed(lab, lease_s=5), "db1")
    job = start(host, command("sh", "-c", STUBBORN, grace_s=0.2))
    until(renewing(host, lambda: job.stdout() == b"ready\n"), "its trap is set")
    finishing = asked_to_stop(job)
    until(renewing(host, lambda: job.stdout() == b"ready\nasked\n"), "it is asked to end")
    finishing.disconnect()
    ended = until(job.status, "the lease runs out")
    assert (ended.reason, ended.signal) == ("stopped", 9)


def test_secrets_are_in_a_private_file_while_the_job_runs_and_nowhere_afterwards(session: Session) -> None:
    host = session.hosts["db1"]
    job = session.start(
        host, "test", command("sh", "-c", "stat -c %a {job}/pw; cat {job}/pw", secrets={"pw": "hush-7f3a"})
    )
    job.wait()
    assert job.stdout() == b"600\nhush-7f3a"
    assert "pw" not in host.connect().sftp().listdir(job.folder)
    assert b"hush" not in host.read(f"{job.folder}/job.json")


def test_leaving_a_session_ends_all_that_it_started(lab: Inventory) -> None:
    with Session(lab, lab.hosts) as opened:
        groups = [group_of(opened.start(host, "test", command("sleep", "300"))) for host in opened.hosts.values()]
        # A job has begun a moment before its group has.
        until(lambda: all(alive(group) for group in groups), "all of it runs")
    assert not any(alive(group) for group in groups)


def test_what_a_driver_that_is_gone_left_behind_is_ended_and_named(lab: Inventory, host: Host) -> None:
    host.inventory = changed(lab, lease_s=60)  # it is ended as another's, long before its lease is over
    job = start(host, command("sleep", "300"), "gone")
    group = group_of(job)
    with Session(lab, ["db1"]) as opened:
        assert opened.reaped == {"db1": [Path(job.folder).name]}
        assert not alive(group)
        _, findings = preflight(opened, disk_bytes=0)
    assert [(f.found, f.waived) for f in findings if f.what == "leftover processes"] == [(Path(job.folder).name, False)]


# -- what ends a job, before it has ended -----------------------------------------------------------------------------


def test_why_a_host_ends_a_job_is_told_before_its_end(host: Host) -> None:
    lasting = Command(["sh", "-c", "trap '' TERM; sleep 300 & wait"], timeout_s=0.2, grace_s=300)
    job = start(host, lasting)
    doomed = until(job.ended_or_ending, "its time is over")
    assert (doomed.reason, doomed.ended, job.status()) == ("timeout", 0, None)
    assert doomed.from_outside("it") == "it was ended by its host: it took longer than it may"
    host.run(["python3", "-c", f"import os; os.killpg({group_of(job)}, 9)"])
    assert until(job.status, "it has ended") == job.ended_or_ending()
    assert getattr(job.ended_or_ending(), "reason", None) == "timeout"


LATE = """#!/bin/sh
case "$*" in *" start "*) echo $$ > FILE; kill -STOP $$ ;; esac
exec python3 "$@"
"""


def test_a_start_that_is_not_heard_of_in_time_begins_nothing_later(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its Python stands still before it is the supervisor; then it goes on."""
    late, pid, done = tmp_path / "late", tmp_path / "pid", tmp_path / "done"
    late.write_text(LATE.replace("FILE", str(pid)))
    late.chmod(0o755)
    name = f"late{time.time_ns()}"
    monkeypatch.setattr(agent, "STARTED_WITHIN_S", 2.0)
    monkeypatch.setattr(Host, "python", str(late))
    with pytest.raises(RemoteFailed, match=r"no end within 2 s"):
        Job.start(host, name, Command(["touch", done], timeout_s=30), "test", host.path("none.host"))
    standing = psutil.Process(int(pid.read_text()))
    assert standing.status() == psutil.STATUS_STOPPED
    standing.resume()
    until(lambda: not standing.is_running() or standing.status() == psutil.STATUS_ZOMBIE, "its end")
    (folder,) = host.run(["find", host.path("jobs"), "-name", f"{name}-*"]).stdout.split()
    assert sorted(path.name for path in Path(folder).iterdir()) == ["begun"]
    assert not done.exists()


# -- facts --------------------------------------------------------------------------------------------------------


def test_facts_of_a_host(session: Session) -> None:
    facts = gather(session.hosts["db1"])
    assert facts.cores == os.cpu_count()
    assert facts.kernel == os.uname().release
    assert abs(facts.clock_offset_s) <= facts.clock_error_s + 0.1
    assert facts.disk_free_bytes > 0
    assert facts.roles == ["tidb", "mysql"]


def test_too_little_disk_is_said_before_anything_is_loaded(session: Session) -> None:
    with pytest.raises(HostUnusable, match=r"too little disk on host db1: the run needs 1000000\.0 GB"):
        preflight(session, disk_bytes=10**15)


def test_what_earlier_runs_left_on_a_host_keeps_no_run_from_going_on(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """8 MB are free, 10 more are needed than what is there already; a data set of 3 MB is left by an earlier run."""

    def full(host: Host) -> HostFacts:
        told = gather(host)
        return told.model_copy(update={"disk_free_bytes": 8_000_000}) if host.name == "db1" else told

    monkeypatch.setattr(host_facts, "gather", full)
    needed = 10_000_000 + host_facts._kept(session.hosts["db1"])
    folder = Path(session.hosts["db1"].path("tidb", "datasets", "one"))
    folder.mkdir(parents=True)
    with pytest.raises(HostUnusable, match=r"too little disk on host db1: .*0\.0 GB free, \d+\.\d GB of earlier runs"):
        preflight(session, disk_bytes=needed)
    (folder / "table").write_bytes(os.urandom(3_000_000))
    preflight(session, disk_bytes=needed)


def test_a_host_that_only_drives_loads_need_not_hold_their_data(lab: Inventory) -> None:
    with Session(lab, ["executor"]) as opened:
        facts, _ = preflight(opened, disk_bytes=10**15)
    assert facts["executor"].roles == ["client"]
    assert facts["executor"].disk_free_bytes < 10**15


# -- SQL ----------------------------------------------------------------------------------------------------------


def test_sql_goes_through_the_host_s_ssh_connection(host: Host, database: Database) -> None:
    end = Endpoint(database.address, database.port, "bench", database.password)
    assert query(host, end, "SELECT 1 + 1, 'é'") == [(2, "é")]
    server = lab_sshd(host)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", lambda *_: pytest.fail("the driver itself connects nowhere"))
        assert try_login(host, end) is None
    assert psutil.Process(server).is_running()
    assert try_login(host, Endpoint(database.address, database.port, "bench", "wrong")) == "denied"
    assert "no connection to" in str(try_login(host, Endpoint(database.address, 3999, "bench", "")))
    with pytest.raises(BenchbookError, match=r"127\.0\.\d+\.30:3306: `SELECT nothing`: 1054: Unknown column"):
        query(host, end, "SELECT nothing")
    with pytest.raises(BenchbookError, match=r"`ALTER USER 'nobody'@'%' IDENTIFIED \.\.\.`: 1396: ") as caught:
        query(host, end, "ALTER USER 'nobody'@'%' IDENTIFIED BY 's3cret'")
    assert "s3cret" not in str(caught.value)
    assert database.password not in repr(end)


def test_hosts_of_one_machine_have_its_cores_once_and_share_them_with_the_load(lab: Inventory) -> None:
    cores = len(os.sched_getaffinity(0))
    asked = capacity.of_servers(lab.model_copy(update={"lab": False}))
    assert asked == capacity.of_servers(lab) == capacity.Capacity(cores, shared=True)


@pytest.mark.parametrize(
    ("client", "server", "found"),
    [((1,), (0,), (1, False)), ((0, 1), (0,), (1, True)), ((), (0,), (1, True)), ((5, 6), (1, 2, 3, 4), (4, False))],
)
def test_servers_that_are_bound_to_processors_have_no_others(
    lab: Inventory, client: tuple[int, ...], server: tuple[int, ...], found: tuple[int, bool]
) -> None:
    bound = {"executor": client, "db1": server}
    hosts = {name: host.model_copy(update={"cpus": bound[name]}) for name, host in lab.hosts.items()}
    here = lab.model_copy(update={"hosts": hosts})
    assert capacity.of_servers(here) == capacity.Capacity(found[0], shared=found[1])
    assert capacity.of_servers(here.model_copy(update={"lab": False})) == capacity.of_servers(here)


def test_folders_that_are_more_than_one_command_can_name_are_removed_too(host: Host) -> None:
    """Each job of a long campaign leaves one: 3,000 names of 70 letters are more than Linux takes as one word."""
    folders = [host.path("test", f"{number:04d}-{'x' * 60}") for number in range(3_000)]
    host.run(f"cd {host.path('test')} && seq -f %04.0f-{'x' * 60} 0 2999 | xargs mkdir")
    for folder in folders:
        host.discard(folder)
    host.close()
    assert [folder for folder in folders if Path(folder).exists()] == []


# -- the lab ------------------------------------------------------------------------------------------------------


def test_a_lab_that_runs_is_found_and_used(lab: Inventory) -> None:
    before = [host.pid for host in labs.lab_hosts(lab)]
    assert all(before)
    assert [host.pid for host in labs.up(lab)] == before


def test_an_address_that_another_program_has_is_an_error_with_its_fix(lab: Inventory, tmp_path: Path) -> None:
    elsewhere = lab.model_copy(update={"name": "lab_elsewhere"})
    with pytest.raises(labs.LabFailed, match=r":2222 \(lab host executor\) is taken by process \d+ \(sshd: .*Fix: "):
        labs.up(elsewhere)


def test_a_copy_of_an_inventory_spoils_neither_lab(lab: Inventory, net: str) -> None:
    only = {"executor": lab.hosts["executor"].model_copy(update={"address": f"{net}.77"})}
    one, copy = (lab.model_copy(update={"name": name, "hosts": only}) for name in ("lab_one", "lab_copy"))
    for inventory in (one, copy, one):
        labs.up(inventory)
        try:
            connected = Host(inventory, "executor")
            assert connected.run(["echo", inventory.name]).stdout.strip() == inventory.name
            connected.close()
        finally:
            labs.down(inventory)


def test_keys_and_passwords_of_a_lab_are_nobody_else_s(lab_home: Home) -> None:
    for name, mode in ((".lab", 0o700), (".lab/keys/client", 0o600), (".lab/secrets/database", 0o600)):
        assert stat.S_IMODE((lab_home.path / name).stat().st_mode) == mode, name
    said = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert (lab_home.path / ".lab/secrets/database").read_text().strip() not in said


def test_a_lab_host_has_the_driver_s_programs_and_reads_no_bashrc(host: Host) -> None:
    ours = [part for part in os.environ["PATH"].split(":") if part and part != str(Path(sys.executable).parent)]
    assert host.run(["printenv", "PATH"]).stdout.split(":")[: len(ours)] == ours
    # bash reads it for a command by ssh unless its level says that a shell has begun. It counts up when it begins, and
    # down when it gives way to what it starts: without the lab's own level, 0.
    assert int(host._run(host.connect(), "printenv SHLVL", 60, ["SHLVL"]).stdout) >= 1


def test_a_tunnel_to_nowhere_is_a_lost_connection(host: Host) -> None:
    with pytest.raises(ConnectionLost, match="no connection to"):
        host.check_port(host.address, 3999)
    with pytest.raises(BadInput, match="ssh config is missing"):
        Host(changed(host.inventory, config="/nowhere/config"), "db1").connect()


def test_a_socket_leads_through_a_host_from_however_long_a_temporary_folder(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path of a Unix socket has 107 bytes at most: unix(7)."""
    deep = tmp_path / ("x" * 107)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with host.forward_local(host.address, 2222) as path, socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        assert client.recv(4) == b"SSH-"
    assert list(deep.iterdir()) == []
    held = [fd for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink() and str(deep) in str(fd.readlink())]
    assert held == []
