"""SSH as people have it: jump hosts, keys with a passphrase, odd shells, full disks. Each on a real sshd of its own:
a small job runs, or one sentence says what is the matter and what to do."""

from __future__ import annotations

import getpass
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from kit import until
from sshd import HARD, PORT, SFTP_SERVER, Server, Variant, full_agent, hello, new_key, other_shell, refused, serving

from benchbook.errors import HostUnusable, OutputNotParseable, ReservationLost, WorkloadFailed
from benchbook.hosts import host_facts
from benchbook.hosts.agent import Command, remote_program
from benchbook.hosts.host import Host, blaming_disks
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.session import Session
from benchbook.profiles import load_profile
from benchbook.systems.mysql import MariaDB

pytestmark = pytest.mark.real

EXTERNAL = f"Subsystem sftp {SFTP_SERVER}"
_numbers = count(100)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, net: str, keys: Path) -> Iterator[Server]:
    """An ordinary sshd, for what differs on the driver's side only."""
    with serving(tmp_path_factory.mktemp("sshd") / "plain", f"{net}.{next(_numbers)}", keys, Variant()) as server:
        yield server


def small_job(inventory: Inventory) -> str:
    """Connect, copy a program, run a job to its end, stop another; what the first one printed."""
    with Session(inventory, ["db"]) as session:
        host = session.hosts["db"]
        printed = host.run(["python3", "-c", "import sys, json; print(json.dumps(sys.argv[1:]))", *HARD]).stdout
        assert json.loads(printed) == HARD, "every word arrives as it is"
        # What sh itself sets, dash the first one alone, is of no login.
        told = {line.partition("=")[0] for line in host.run("env").stdout.splitlines()} - {"PWD", "SHLVL", "_"}
        assert told == {"HOME", "USER", "LC_ALL", "PATH"}, "and nothing of what the login has set"
        first, second = (
            session.start(host, "test", Command(argv, timeout_s=60))
            for argv in (["sh", "-c", "echo $0", "a small job"], ["sleep", "60"])
        )
        assert first.wait().exit == 0
        session.end(second)
        ended = second.status()
        assert ended is not None
        assert ended.reason == "stopped"
        return first.stdout().decode()


# -- what works ---------------------------------------------------------------------------------------------------

PRINTING = 'echo "Welcome to db!"; echo "a warning" >&2; cd /; exec sh -c "$1"'

WORKS = {
    "ciphers of old alone": Variant(["Subsystem sftp internal-sftp", "Ciphers aes256-ctr"]),
    "bash": Variant(shell='export TOLD=1; exec bash -c "$1"'),
    "SFTP by a program of its own": Variant([EXTERNAL]),
    "a login shell that prints": Variant(shell=PRINTING),
    "csh": Variant([EXTERNAL], shell=other_shell("csh")),
    "fish": Variant([EXTERNAL], shell=other_shell("fish")),
}


@pytest.mark.parametrize("name", WORKS)
def test_a_small_job_runs(name: str, tmp_path: Path, net: str, keys: Path) -> None:
    with serving(tmp_path / "sshd", f"{net}.{next(_numbers)}", keys, WORKS[name]) as server:
        assert small_job(server.inventory()) == "a small job\n"


def reservations_of_its_own(folder: Path) -> str:
    """The shell command that has a host keep its reservations in this folder, which is made."""
    folder.mkdir(mode=0o700)
    place = f"/tmp/benchbook-{os.geteuid()}"
    return f"mkdir -p -m 700 {place} && mount --bind {folder} {place}"


def test_a_host_that_is_started_anew_under_a_run_ends_it_in_these_words(tmp_path: Path, net: str, keys: Path) -> None:
    """It answers as if nothing had been, but what ran there is gone, what `tune` had set too, and the reservation."""
    if not may_mount():
        pytest.skip("no file system can be mounted here (unshare --mount)")
    boot = tmp_path / "boot_id"
    boot.write_text("first-boot\n")
    # To it, reservations of this machine are of another boot and ended, and they are other tests'.
    own = tmp_path / "place"
    mounts = f"{reservations_of_its_own(own)} && mount --bind {boot} /proc/sys/kernel/random/boot_id"
    with serving(tmp_path / "sshd", f"{net}.{next(_numbers)}", keys, Variant(mounts=mounts)) as server:
        with Session(server.inventory(), ["db"]) as session:
            host = session.hosts["db"]
            assert list(own.iterdir()), "its reservation is not among the machine's"
            host.disconnect()
            assert host.run(["echo", "a connection that broke"]).stdout == "a connection that broke\n"
            boot.write_text("second-boot\n")
            host.disconnect()
            for _ in range(2):
                with pytest.raises(ReservationLost, match=r"^host db rebooted during the run, "):
                    host.run(["true"])
        assert small_job(server.inventory()) == "a small job\n", "the same again finds the host free"


def test_a_folder_with_an_odd_name(plain: Server, tmp_path: Path) -> None:
    folder = 'with a space, it\'s `hard` "to" quote!'
    assert small_job(plain.inventory(workdir=str(tmp_path / folder))) == "a small job\n"
    assert (tmp_path / folder / "jobs").is_dir()


def test_mariadb_says_that_it_takes_no_folder_with_a_space(plain: Server, tmp_path: Path) -> None:
    inventory = plain.inventory(workdir=str(tmp_path / "a b"))
    host = inventory.hosts["db"].model_copy(update={"roles": ("mysql",)})
    with Session(inventory.model_copy(update={"hosts": {"db": host}}), ["db"]) as session:
        server = MariaDB(session, load_profile("smoke"))
        with pytest.raises(
            HostUnusable, match=r"hosts\.db\.workdir: MariaDB cannot .* \(got '.*/a b'\)\. Fix: move the project to"
        ):
            server.install()


# -- what is refused, with its fix --------------------------------------------------------------------------------


def programs_without_python(folder: Path, python: str = "") -> Path:
    """A folder of programs like /usr/bin without Python, or with something of that name."""
    folder.mkdir()
    for name in "sh env id tail mkdir head chmod rm tr grep sed printf".split():
        (folder / name).symlink_to(str(shutil.which(name)))
    if python:
        (folder / "python3").write_text(f"#!/bin/sh\n{python}\n")
        (folder / "python3").chmod(0o755)
    return folder


NOT_LET_IN = (
    r"SSH login refused \(offered: .*/client.*\): .*Permission denied \(publickey\).*Fix: set ssh.user and ssh.key"
)
REFUSED = {
    "SFTP switched off": (
        Variant([]),
        r"hosts\.db: SFTP is switched off on this host, .* Fix: put `Subsystem sftp internal-sftp` into",
    ),
    "a shell that prints into SFTP": (
        Variant([EXTERNAL], shell='echo "Welcome!"; exec sh -c "$1"'),
        r"hosts\.db: the login shell prints something, which spoils SFTP .*Fix: print in interactive shells only",
    ),
    "no shell": (
        Variant(shell='echo "This account is currently not available."; exit 1'),
        r"the login shell runs no commands \(got 'This account is currently not available\.'\)\. Fix: .* chsh ",
    ),
    "MaxSessions 0": (
        Variant(["Subsystem sftp internal-sftp", "MaxSessions 0"]),
        r"this login may not open a session, or not several at once "
        r".*Fix: allow sessions in its sshd_config \(MaxSessions 10\)",
    ),
    "MaxSessions 1": (
        Variant(["Subsystem sftp internal-sftp", "MaxSessions 1"]),
        r"this login may not open a session, or not several at once .*Fix: .*\(MaxSessions 10\)",
    ),
    "no keys": (
        Variant(["PubkeyAuthentication no", "PasswordAuthentication yes"]),
        r"SSH login refused: the host asks for more than a key \(password\).*PubkeyAuthentication yes",
    ),
    "an account that is not let in": (
        Variant(["Subsystem sftp internal-sftp", f"DenyUsers {getpass.getuser()}"]),
        NOT_LET_IN,
    ),
    "a key of no use there": (
        Variant(["PubkeyAcceptedAlgorithms rsa-sha2-512"]),
        NOT_LET_IN,
    ),
    "a server that says why": (
        Variant(["AuthorizedKeysFile none", "Banner {folder}/banner"]),
        r"SSH login refused .*Permission denied \(publickey\)\.?; Bench hosts: ask ops@example\.org for access",
    ),
    "a server that is tired of keys": (
        Variant(["MaxAuthTries 1", "AuthorizedKeysFile none"]),
        r"SSH login refused .*: Received disconnect .*Too many authentication failures",
    ),
    "a key for one command": (
        Variant(["Subsystem sftp internal-sftp", "ForceCommand echo backups only; exit 3"]),
        r"the login shell runs no commands \(got 'backups only'\)\. Fix: .* a forced command ",
    ),
    "a second factor": (
        Variant(["PasswordAuthentication yes", "AuthenticationMethods publickey,password"]),
        r"SSH login refused: the host asks for more than a key \(password\).*AuthenticationMethods publickey",
    ),
}


def test_a_host_that_is_slow_to_log_in_has_refused_nobody(tmp_path: Path, net: str, keys: Path) -> None:
    """As one is whose DNS or PAM waits for somebody who is not there."""
    asks = ["AuthorizedKeysCommand /bin/sleep 20", f"AuthorizedKeysCommandUser {getpass.getuser()}"]
    slow = ["AuthorizedKeysFile none", *asks]
    with serving(tmp_path / "sshd", f"{net}.{next(_numbers)}", keys, Variant(slow)) as server:
        assert "the host did not answer the login in time" in refused(server.inventory(connect_timeout_s=8))


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_host_lacks_is_one_sentence(name: str, tmp_path: Path, net: str, keys: Path) -> None:
    variant, sentence = REFUSED[name]
    (tmp_path / "banner").write_text("Bench hosts: ask ops@example.org for access\n")
    variant = replace(variant, lines=[line.format(folder=tmp_path) for line in variant.lines])
    with serving(tmp_path / "sshd", f"{net}.{next(_numbers)}", keys, variant) as server:
        said = refused(server.inventory())
        assert re.search(sentence, said), said


@pytest.mark.parametrize(
    ("python", "sentence"),
    [("", r"python3 is missing, .* Fix: on that host: sudo apt-get install python3"),
     ("echo 3.6", r"python3 is older than 3\.7 \(got '3\.6'\)\. Fix: ")],
)  # fmt: skip
def test_a_host_without_a_python_that_will_do(python: str, sentence: str, tmp_path: Path, net: str, keys: Path) -> None:
    bare = programs_without_python(tmp_path / "bin", python)
    # What is put behind it (/usr/local/sbin:/usr/sbin:/sbin) has no Python either.
    variant = Variant(shell=f'PATH={bare}; exec sh -c "$1"')
    with serving(tmp_path / "sshd", f"{net}.{next(_numbers)}", keys, variant) as server:
        said = refused(server.inventory())
        assert re.search(sentence, said), said


def test_programs_of_the_kit_are_not_run_by_a_script_that_looks_for_python(
    tmp_path: Path, net: str, keys: Path
) -> None:
    """As that of pyenv is, which takes four times the CPU of a start: the host is asked once what it finds."""
    calls = tmp_path / "calls"
    shims = programs_without_python(tmp_path / "bin", f'echo "$*" >> {calls}\nexec {sys.executable} "$@"')
    variant = Variant(shell=f'PATH={shims}:$PATH; exec sh -c "$1"')
    with serving(tmp_path / "sshd", f"{net}.{next(_numbers)}", keys, variant) as server:
        inventory = server.inventory()
        with Session(inventory, ["db"]) as session:
            facts = host_facts.gather(session.hosts["db"])
    assert facts.cores == os.cpu_count()
    assert len(calls.read_text().splitlines()) == 1


def may_mount() -> bool:
    tried = subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], check=False, capture_output=True
    )
    return tried.returncode == 0


HOMES = {
    "full": ("size=64k", "head -c 1m /dev/zero > {home}/full 2>/dev/null; true", r"written to: its disk is full .*"),
    "read-only": ("size=1m", "mount -o remount,ro {home}", r"cannot be created: its disk is read-only .*"),
    "noexec": ("size=1m,noexec", "true", r"programs in Benchbook's folder cannot be run .*Permission denied"),
}


@pytest.mark.parametrize("name", HOMES)
def test_a_home_that_cannot_be_used(name: str, tmp_path: Path, net: str, keys: Path) -> None:
    if not may_mount():
        pytest.skip("no file system can be mounted here (unshare --mount)")
    home = Path.home()
    size, then, sentence = HOMES[name]
    mounts = f"mount -t tmpfs -o {size} none {home} && {{ {then.format(home=home)}; }}"
    with serving(tmp_path / "sshd", f"{net}.{next(_numbers)}", keys, Variant(mounts=mounts)) as server:
        said = refused(server.inventory(workdir=None))
        assert re.search(rf"hosts\.db\.workdir: .*{sentence}.*Fix: .*set hosts\.db\.workdir to a folder", said), said
        assert f"(got '{home}/.benchbook/variant/db@{platform.node().partition('.')[0]}: " in said
        assert small_job(server.inventory()) == "a small job\n", "with a folder elsewhere it works"


def test_a_full_tmp_is_named_where_reservations_are_kept(tmp_path: Path, net: str, keys: Path) -> None:
    if not may_mount():
        pytest.skip("no file system can be mounted here (unshare --mount)")
    place = f"/tmp/benchbook-{os.geteuid()}"
    mounts = (
        f"mkdir -p -m 700 {place} && mount -t tmpfs -o size=64k,mode=700 none {place}"
        f" && {{ head -c 1m /dev/zero > {place}/full 2>/dev/null; true; }}"
    )
    with serving(tmp_path / "sshd", f"{net}.{next(_numbers)}", keys, Variant(mounts=mounts)) as server:
        said = refused(server.inventory())
    assert f"hosts.db: the host cannot be reserved: {place}: No space left on device" in said


def test_machines_that_share_a_home_have_folders_of_their_own(tmp_path: Path, net: str, keys: Path) -> None:
    """The home of a network's file system, say: the data of two members of a cluster lay in one folder."""
    if not may_mount():
        pytest.skip("no file system can be mounted here (unshare --mount)")
    shared = tmp_path / "home"
    shared.mkdir()
    folders = []
    for name in ("rack7-11", "rack7-12.example.com"):
        # Two machines: neither knows of the other's reservations, nor of this one's, which other tests' labs are on.
        place = reservations_of_its_own(tmp_path / f"place-{name}")
        mounts = f"{place} && mount --bind {shared} {Path.home()} && hostname {name}"
        with (
            serving(tmp_path / name, f"{net}.{next(_numbers)}", keys, Variant(mounts=mounts)) as server,
            Session(server.inventory(workdir=None), ["db"]) as session,
        ):
            folders.append(session.hosts["db"].path("jobs"))
            # Of a host that was not connected to yet, what is pushed goes there as well.
            pushing = Host(session.inventory, "db")
            assert pushing.push(remote_program("hosts", "machine.py")).startswith(pushing.path("artefacts"))
            pushing.close()
    assert folders == [f"{Path.home()}/.benchbook/variant/db@{name}/jobs" for name in ("rack7-11", "rack7-12")]
    assert sorted(path.name for path in (shared / ".benchbook" / "variant").iterdir()) == ["db@rack7-11", "db@rack7-12"]


def test_a_job_that_ends_on_a_full_disk_is_not_a_killed_supervisor(tmp_path: Path, net: str, keys: Path) -> None:
    if not may_mount():
        pytest.skip("no file system can be mounted here (unshare --mount)")
    work = tmp_path / "sshd" / "work"
    mounts = f"mkdir {work} && mount -t tmpfs -o size=8m,mode=700 none {work}"
    fill = Command(["sh", "-c", "head -c 20m /dev/zero > fill; exit 3"], timeout_s=60)
    with (
        serving(tmp_path / "sshd", f"{net}.{next(_numbers)}", keys, Variant(mounts=mounts)) as server,
        Session(server.inventory(), ["db"]) as session,
    ):
        job = session.start(session.hosts["db"], "test", fill)
        assert job.wait().from_outside("test on db") == "test on db has ended: no space is left on its host's disk"
        with pytest.raises(WorkloadFailed, match=r"^no space is left on the disk of db: cut short$"):
            parsed_in_vain(session.hosts.values())
        session.hosts["db"].run(["rm", "--", f"{job.folder}/fill"])
        session.end(job)
        with pytest.raises(OutputNotParseable, match=r"^cut short$"):
            parsed_in_vain(session.hosts.values())


def parsed_in_vain(hosts: Iterable[Host]) -> None:
    with blaming_disks(hosts):
        raise OutputNotParseable("cut short")


# -- as many logins as MaxStartups allows -------------------------------------------------------------------------

ONE_LOGIN = Variant(["Subsystem sftp internal-sftp", "MaxStartups 1", "LoginGraceTime 60"])


def test_logins_at_once_wait_for_each_other(tmp_path: Path, net: str, keys: Path) -> None:
    with serving(tmp_path / "sshd", f"{net}.{next(_numbers)}", keys, ONE_LOGIN) as server:
        host = Host(server.inventory(connect_timeout_s=20), "db")
        host.connect()
        with ThreadPoolExecutor(4) as pool:
            said = list(pool.map(lambda word: host.run_apart(["echo", word]).stdout, "abcd"))
        host.close()
        assert said == ["a\n", "b\n", "c\n", "d\n"]
        assert "MaxStartups" in server.log, "there were more than sshd takes"


def test_a_host_that_others_log_in_to_all_the_time(tmp_path: Path, net: str, keys: Path) -> None:
    import socket

    with (
        serving(tmp_path / "sshd", f"{net}.{next(_numbers)}", keys, ONE_LOGIN) as server,
        socket.create_connection((server.address, PORT)) as holding,
    ):
        assert holding.recv(3) == b"SSH"
        said = refused(server.inventory(connect_timeout_s=1))
        assert re.search(r"hangs up on every login before it has greeted.*Fix: raise MaxStartups", said), said


# -- jump hosts ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gateways(
    tmp_path_factory: pytest.TempPathFactory, net: str, keys: Path, plain: Server
) -> Iterator[tuple[Server, Server]]:
    """Two jump hosts: the second one leads to `plain` and nowhere else."""
    folder = tmp_path_factory.mktemp("gateways")
    leads_on = Variant(["Subsystem sftp internal-sftp", f"PermitOpen {plain.address}:{PORT}"])
    with (
        serving(folder / "one", f"{net}.{next(_numbers)}", keys, Variant()) as one,
        serving(folder / "two", f"{net}.{next(_numbers)}", keys, leads_on) as two,
    ):
        yield one, two


def through(target: Server, known: str, tmp_path: Path, *jumps: Server) -> Inventory:
    """The inventory of `target`, reached by way of `jumps`, the first one first, as OpenSSH reads it."""
    config = tmp_path / "ssh_config"
    way = ",".join(f"gate{i}" for i in range(len(jumps)))
    gates = "".join(f"Host gate{i}\n  HostName {jump.address}\n  Port {PORT}\n" for i, jump in enumerate(jumps))
    config.write_text(f"{gates}Host {target.address}\n  ProxyJump {way}\n")
    return target.inventory(known=known, config=str(config))


def test_a_job_runs_behind_a_jump_host(plain: Server, gateways: tuple[Server, Server], tmp_path: Path) -> None:
    one, _ = gateways
    assert small_job(through(plain, one.known + plain.known, tmp_path, one)) == "a small job\n"


def test_two_jump_hosts_are_passed_in_the_order_in_which_they_are_named(
    plain: Server, gateways: tuple[Server, Server], tmp_path: Path
) -> None:
    one, two = gateways
    host = Host(through(plain, one.known + two.known + plain.known, tmp_path, one, two), "db")
    assert host.run(["echo", "there"]).stdout == "there\n"
    assert host._route is not None
    way = host._route.gateway
    assert way.index("gate1") > way.index("gate0"), "the first is the way to the second"
    host.close()


def test_a_jump_host_that_opens_no_way(plain: Server, gateways: tuple[Server, Server], tmp_path: Path) -> None:
    one, two = gateways
    said = refused(through(plain, one.known + two.known + plain.known, tmp_path, two, one))
    assert "hosts.db: on the way there, the jump host in front of it opens no way to it (" in said
    assert "administratively prohibited" in said
    assert "Fix: allow it there (AllowTcpForwarding, PermitOpen)" in said


@pytest.mark.parametrize("key", ["unknown", "another"])
def test_a_jump_host_is_not_trusted_unless_it_is_known(
    key: str, plain: Server, gateways: tuple[Server, Server], tmp_path: Path
) -> None:
    one, two = gateways
    stranger = two.known.replace(two.where, one.where) if key == "another" else ""
    before, behind = len(one.log), len(plain.log)
    said = refused(through(plain, stranger + plain.known, tmp_path, one))
    problem = {"unknown": "the host key is not known", "another": "the host key is not the one that is known"}[key]
    assert f"hosts.db: on the way there, {problem}" in said
    assert one.address in said
    until(lambda: "[preauth]" in one.log[before:], "the jump host was hung up on before any login")
    assert "Accepted publickey" not in one.log[before:], "nobody logged in there"
    assert "Connection from" not in plain.log[behind:], "and nothing came through it"


def test_behind_a_jump_host_the_last_key_counts_too(
    plain: Server, gateways: tuple[Server, Server], tmp_path: Path
) -> None:
    one, _ = gateways
    said = refused(through(plain, one.known, tmp_path, one))
    assert "hosts.db: the host key is not known" in said
    assert "Fix: log in once by `ssh -F " in said


def test_a_jump_host_that_refuses_is_named(
    plain: Server, gateways: tuple[Server, Server], tmp_path: Path, no_agent: None
) -> None:
    one, two = gateways
    inventory = through(plain, one.known + two.known + plain.known, tmp_path, one, two)
    config = Path(str(inventory.ssh.config))
    config.write_text(config.read_text().replace("Host gate1\n", "Host gate1\n  User nobody-known\n"))
    said = refused(inventory)
    assert f"nobody-known@{two.address}: Permission denied (publickey)" in said


# -- keys ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory, net: str) -> Iterator[Server]:
    """A host that lets in one key, which has a passphrase."""
    keys = tmp_path_factory.mktemp("locked")
    new_key(keys / "client", "open sesame")
    with serving(tmp_path_factory.mktemp("sshd") / "locked", f"{net}.{next(_numbers)}", keys, Variant()) as server:
        yield server


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with full_agent(tmp_path) as socket:
        monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
        yield


def add_to_agent(key: Path, passphrase: str, tmp_path: Path) -> None:
    ask = tmp_path / "ask"
    ask.write_text(f"#!/bin/sh\necho '{passphrase}'\n")
    ask.chmod(0o700)
    environment = {**os.environ, "SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}
    subprocess.run(["ssh-add", "-q", str(key)], check=True, env=environment, stdin=subprocess.DEVNULL)


def test_the_key_that_is_named_comes_before_an_agent_full_of_others(plain: Server, agent: None) -> None:
    assert hello(plain.inventory()) == "hello\n"


def test_a_key_with_a_passphrase_comes_from_the_agent(locked: Server, agent: None, tmp_path: Path) -> None:
    add_to_agent(locked.keys / "client", "open sesame", tmp_path)
    assert hello(locked.inventory()) == "hello\n"
    (tmp_path / "only.pub").write_text((locked.keys / "client.pub").read_text())
    assert hello(locked.inventory(key=str(tmp_path / "only.pub"))) == "hello\n", "its public half names it as well"


def test_a_key_with_a_passphrase_that_no_agent_holds(locked: Server, no_agent: None) -> None:
    said = refused(locked.inventory())
    assert "ssh.key: the key has a passphrase, and no agent holds it" in said
    assert "Fix: load the key into an agent (ssh-add)" in said


@pytest.mark.parametrize(
    ("content", "problem"),
    [(None, "it cannot be read: No such file or directory"),
     ("no key\n", "this is no private key that the kit can read"),
     ("public", "this is a public key, and no agent holds its private half")],
)  # fmt: skip
def test_a_key_file_that_is_none(
    content: str | None, problem: str, plain: Server, tmp_path: Path, no_agent: None
) -> None:
    key = tmp_path / "key"
    if content:
        key.write_text((plain.keys / "client.pub").read_text() if content == "public" else content)
        key.chmod(0o600)
    said = refused(plain.inventory(key=str(key)))
    assert f"ssh.key: {problem}" in said
    assert f"(got '{key}')" in said
    assert ("ssh-add" in said) == bool(content)
