"""The local lab: one unprivileged sshd per host of an inventory, on its own loopback address.

Everything else treats a lab host like any other host: there is no local mode. State is kept below `.lab/`:
the client's key, the key of all hosts and known_hosts, a password for the databases, and a folder per host.
"""

from __future__ import annotations

import errno
import fcntl
import getpass
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import psutil
from invoke.runners import Result
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

from benchbook import paths
from benchbook.errors import BadInput, BenchbookError, HostReserved, HostUnusable, RemoteFailed, writing
from benchbook.hosts import taken_port
from benchbook.hosts.command_line import login_line, own_output, quote
from benchbook.hosts.host import Host
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.lab_host import (
    ACCOUNT,
    LabHost,
    as_account,
    ask_agent,
    has_account,
    has_own_network,
    in_new_network,
    is_sshd_of,
    lab_host,
    why_no_network,
    why_root,
)
from benchbook.hosts.remote import agent
from benchbook.hosts.reservation import check_lab_free, release_dead
from benchbook.hosts.timeouts import (
    ANOTHER_ENDS_WITHIN_S,
    CHANGED_WITHIN_S,
    COMMAND_S,
    SSHD_GREETS_S,
    SSHD_WITHIN_S,
    until,
)
from benchbook.user_input import user_file
from benchbook.user_input.atomic_file import replace_text

_SSHD_CONFIG = """\
ListenAddress {address}:{port}
HostKey "{keys}/host"
AuthorizedKeysFile "{tokens}/client.pub"
PidFile "{folder}/sshd.pid"
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PermitRootLogin prohibit-password
AllowUsers {users}
X11Forwarding no
AllowAgentForwarding no
AllowTcpForwarding local
PermitUserRC no
PrintMotd no
MaxStartups 100
MaxSessions 100
ClientAliveInterval 5
ClientAliveCountMax 4
Subsystem sftp internal-sftp
SetEnv SHLVL=1 PATH="{path}"
"""


class LabFailed(BenchbookError):
    """The lab could not be started."""


class SshdPortTaken(LabFailed):
    """Another sshd listens where a host of the lab should."""


def lab_hosts(inventory: Inventory) -> list[LabHost]:
    if not inventory.lab:
        said = "this inventory describes real hosts"
        fix = "choose an inventory with `lab: true`"
        raise BadInput(said, file=inventory.file, key="lab", value=inventory.lab, fix=fix)
    return [lab_host(inventory, name) for name in inventory.hosts]


class LabLocked(BenchbookError):
    """Somebody else has been starting or stopping labs for longer than that takes."""


def _flocked(handle: int, how: int) -> bool:
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _changing() -> Iterator[None]:
    """Be the one driver of this user that starts or stops hosts of labs. Raise LabLocked.

    The operating system lets go of a lock when its process ends, however it ends.
    """
    place = Path(agent.PLACE)
    with writing(place):
        try:
            agent.own_folder(str(place))
        except agent.AgentError as problem:
            raise BenchbookError(f"{problem}. Fix: remove it") from problem
        # Not handed on to the hosts that are started meanwhile (PEP 446).
        handle = os.open(place / "labs", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not until(lambda: _flocked(handle, fcntl.LOCK_EX), CHANGED_WITHIN_S):
            raise LabLocked(
                f"another driver has been starting or stopping a lab for {CHANGED_WITHIN_S:g} s. "
                "Fix: end it (`benchbook lab status` says whose labs run), and run the same again"
            )
        yield
    finally:
        os.close(handle)


def up(inventory: Inventory, *, by_hand: bool = False, own_network: bool = False) -> list[LabHost]:
    """Start what does not run yet; a lab that a killed run left is found and used. Return its hosts.

    A lab that was started by hand is left running by the runs that use it. `own_network`: in a network namespace of its
    own, where this user can make one. Raise LabFailed, LabLocked, NotWritten.
    """
    with _changing():
        return _up(inventory, by_hand=by_hand, own_network=own_network)


def down(inventory: Inventory) -> int:
    """Stop the lab's hosts and everything that runs on them; return how many hosts ran. Raise LabLocked."""
    with _changing():
        return _down(inventory)


@contextmanager
def up_while_used(inventory: Inventory, say: Callable[[str], None], *, own_network: bool = True) -> Iterator[None]:
    """Have the lab for as long as the block runs. The last who uses it stops it, unless it was started by hand.

    Whoever uses it shares a lock of its folder. Between looking whether anybody else does and its end, nobody comes in.
    """
    with ExitStack() as used:
        hosts = _join(inventory, used, own_network=own_network)
        say(f"starting the lab: {len(hosts)} hosts")
        if not hosts[0].enter():
            why = f" ({why_no_network()})" if why_no_network() else ""
            say(f"other users of this machine reach its servers{why}, some without a login: docs/shared-machines.md")
        if why_root():
            say(f"everything in the lab runs as root: {why_root()}")
        try:
            yield
        finally:
            with _changing(), _uninterrupted():
                used.close()
                if not by_hand(inventory) and _is_unused(inventory) and not in_use(inventory):
                    _down(inventory)
                    say("stopped the lab")


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Put off Ctrl-C and the like: who presses it again and again would leave half a lab, and jobs in it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    every = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {each: signal.signal(each, lambda number, _: came.append(number)) for each in every}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler or signal.SIG_DFL)
        # Else the next report, or round, would begin.
        for number in came:
            signal.raise_signal(number)


@retry(
    # Another checkout's driver may be about to stop its lab there: its last run has ended.
    retry=retry_if_exception_type(SshdPortTaken),
    stop=stop_after_delay(ANOTHER_ENDS_WITHIN_S),
    wait=wait_fixed(0.5),
    reraise=True,
)
def _join(inventory: Inventory, used: ExitStack, *, own_network: bool) -> list[LabHost]:
    """Start what does not run, and use it; return the hosts."""
    with _changing():
        hosts = _up(inventory, by_hand=False, own_network=own_network)
        handle = os.open(_folder(inventory), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        used.callback(os.close, handle)
        fcntl.flock(handle, fcntl.LOCK_SH)
    return hosts


def _is_unused(inventory: Inventory) -> bool:
    handle = os.open(_folder(inventory), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return _flocked(handle, fcntl.LOCK_EX)
    finally:
        os.close(handle)


def _folder(inventory: Inventory) -> Path:
    return paths.lab_dir() / inventory.name


def _up(inventory: Inventory, *, by_hand: bool, own_network: bool) -> list[LabHost]:
    sshd = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if sshd is None:
        raise BadInput("sshd is missing", key="lab", value="sshd", fix="sudo apt-get install openssh-server")
    lab, hosts = paths.lab_dir(), lab_hosts(inventory)
    _check_processors(inventory)
    with writing(lab):
        lab.mkdir(parents=True, exist_ok=True, mode=0o700)
        _make_keys(lab)
        # A password that is not there, or that anybody may read, is told before anything listens.
        for kind, logins in (("systems", inventory.systems), ("endpoints", inventory.endpoints)):
            for name, login in logins.items():
                login.password(f"{kind}.{name}")
        mine = [host for host in hosts if host.pid is None]
        own_network = own_network and has_own_network(inventory)
        if mine == hosts:
            # What was started by hand has ended since, with the machine for example.
            _by_hand(inventory).unlink(missing_ok=True)
        try:
            for host in mine:
                running = next((each for each in hosts if each.pid is not None), None)
                way = running.enter() if running else in_new_network([]) if own_network else []
                if has_account():
                    _give(lab, host)
                _start(sshd, host, lab, way)
            if by_hand:
                _by_hand(inventory).touch()
        except BaseException:
            # Half a lab is used by nobody.
            _terminate([pid for host in mine if (pid := host.pid) is not None])
            raise
    return hosts


class NotUpYet(BenchbookError):
    """A host of a lab that does not run yet takes no files and no connections."""


class HostToBe(Host):
    """A host of a lab that does not run yet: this machine, by the account that will log in. It runs commands alone."""

    def connect(self) -> NoReturn:
        raise NotUpYet(f"lab host {self.name} does not run yet")

    def run(self, command: Sequence[object] | str, *, timeout: float = COMMAND_S, check: bool = True) -> Result:
        line = command if isinstance(command, str) else quote(command)
        login = pwd.getpwnam(ACCOUNT) if has_account() else pwd.getpwuid(os.geteuid())
        with subprocess.Popen(
            ["sh", "-c", login_line(line)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
            env={"HOME": login.pw_dir, "USER": login.pw_name, "PATH": _path()},
            **(as_account() if has_account() else {}),
        ) as running:
            try:
                stdout, stderr = running.communicate(timeout=timeout)
            except BaseException as problem:
                os.killpg(running.pid, signal.SIGKILL)
                if isinstance(problem, subprocess.TimeoutExpired):
                    raise RemoteFailed(self.name, line, None, f"no end within {timeout:g} s") from problem
                raise
        result = Result(own_output(stdout), own_output(stderr), exited=running.returncode)
        return self._checked(result, line) if check else result


def _give(lab: Path, host: LabHost) -> None:
    """Let the account reach its host's folder, and own the folder that it works in."""
    work = host.folder / "work"
    work.mkdir(parents=True, exist_ok=True, mode=0o700)
    for folder in (lab, host.folder.parent, host.folder):
        folder.chmod(0o711)
    if work.stat().st_uid != pwd.getpwnam(ACCOUNT).pw_uid:
        subprocess.run(["chown", "-hR", f"{ACCOUNT}:", "--", work], check=True)


def _check_processors(inventory: Inventory) -> None:
    here = os.sched_getaffinity(0)
    for name, host in inventory.hosts.items():
        if missing := set(host.cpus) - here:
            said = "the lab's hosts are this machine, which has no such processors for us"
            fix = f"name some of {sorted(here)}, or remove it"
            raise BadInput(said, file=inventory.file, key=f"hosts.{name}.cpus", value=sorted(missing), fix=fix)


def _down(inventory: Inventory) -> int:
    hosts = lab_hosts(inventory)
    for host in hosts:
        _stop_jobs(host)
    release_dead(inventory)
    _by_hand(inventory).unlink(missing_ok=True)
    pids = [pid for host in hosts if (pid := host.pid) is not None]
    _terminate(pids)
    return len(pids)


def in_use(inventory: Inventory) -> bool:
    """Does a driver use this lab's hosts? One that gives no sign counts, and is not watched.

    Another checkout's lab may have the same addresses: in a network of its own, this one's are others.
    """
    apart = any(host.enter() for host in lab_hosts(inventory))
    for name in inventory.hosts:
        try:
            check_lab_free(inventory, [name], watch_s=0.0)
        except HostReserved as problem:
            if not apart or problem.checkout == str(paths.home().resolve()):
                return True
        except HostUnusable:
            return False
    return False


def by_hand(inventory: Inventory) -> bool:
    """Was this lab started by `benchbook lab up`, to stay until `benchbook lab down`?"""
    return _by_hand(inventory).exists()


def _by_hand(inventory: Inventory) -> Path:
    return _folder(inventory) / "by-hand"


def _make_keys(lab: Path) -> None:
    # The account that logs in comes to its public key.
    for folder, mode in ((lab / "keys", 0o711), (lab / "secrets", 0o700)):
        folder.mkdir(exist_ok=True, mode=mode)
        folder.chmod(mode)
    client, host = (_keygen(lab / "keys" / name, f"benchbook lab {name}") for name in ("client", "host"))
    client.chmod(0o644)
    # Whatever its address: nobody else has this key.
    replace_text(lab / "known_hosts", f"* {host.read_text()}")
    password = lab / "secrets" / "database"
    if not _holds_something(password):
        partial = password.with_name(f"{password.name}.partial")
        partial.touch(mode=0o600)
        partial.write_text(secrets.token_urlsafe(18) + "\n")
        partial.replace(password)


def _holds_something(path: Path) -> bool:
    """A full disk leaves files of 0 bytes: an empty password would let everybody in."""
    return path.is_file() and path.stat().st_size > 0


def _keygen(path: Path, comment: str) -> Path:
    """Make a pair of keys at `path` and `path`.pub, unless it is there; return its public half. Raise OSError."""
    # ssh-keygen writes the .pub after the key: where both are there, both are whole.
    pair = (path, path.with_name(f"{path.name}.pub"))
    if all(map(_holds_something, pair)):
        return pair[1]
    for left in pair:
        left.unlink(missing_ok=True)
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)]
    ran = subprocess.run(words, check=False, capture_output=True, text=True, errors="replace")
    if ran.returncode != 0:
        pair[1].unlink(missing_ok=True)
        raise OSError(" ".join((ran.stderr or ran.stdout).split()) or f"ssh-keygen ended with {ran.returncode}")
    return pair[1]


def _start(sshd: str, host: LabHost, lab: Path, way: Sequence[str]) -> None:
    """`way` are the words that run its sshd in the lab's network, if that is not ours."""
    host.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not way and _is_taken(host):
        who = taken_port.here(host.address, host.port)
        raise (SshdPortTaken if _answers(host) else LabFailed)(
            f"{host.address}:{host.port} (lab host {host.name}) is taken by {who}. "
            "Fix: stop it (another project's lab? `benchbook lab down` there), or change ssh.port of the inventory"
        )
    if os.geteuid() == 0:
        # sshd that is started by root insists on its privilege separation folder.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    config, keys = host.folder / "sshd_config", lab / "keys"
    # In the path of the keys sshd takes %u and the like for names of the login.
    tokens, users = str(keys).replace("%", "%%"), f"{ACCOUNT} root" if has_account() else getpass.getuser()
    about = {"address": host.address, "port": host.port, "folder": host.folder, "keys": keys, "tokens": tokens}
    config.write_text(_SSHD_CONFIG.format(**about, users=users, path=_path()))
    log = host.folder / "sshd.log"
    subprocess.run([*way, sshd, "-f", str(config), "-E", str(log)], check=False, env={"PATH": os.environ["PATH"]})
    if not until(lambda: host.pid is not None and _answers(host), SSHD_WITHIN_S):
        tail = log.read_text(errors="replace").splitlines()[-3:] if log.exists() else []
        files = [file for file in (log, host.folder / "sshd.pid") if file.exists() and not _holds_something(file)]
        tail += [f"{file.name} is empty: is there room on the disk?" for file in files[:1]]
        # One that runs and could not say so, for want of room, would be found by nobody.
        _terminate(_unknown(config))
        raise LabFailed(f"sshd of lab host {host.name} did not start: {' | '.join(tail)}")


def _unknown(config: Path) -> list[int]:
    """Return the sshd that have this configuration, whatever stands in their pid file."""
    titles = [(process.pid, " ".join(process.info["cmdline"] or [])) for process in psutil.process_iter(["cmdline"])]
    return [pid for pid, words in titles if words.startswith("sshd:") and is_sshd_of(config, words)]


def _path() -> str:
    """The programs that this process finds are those of a lab's hosts, which are this machine; its .venv is its own.

    With a level of 1 bash takes the login's command for one of a shell that has begun, and reads no ~/.bashrc for it
    (bash(1), INVOCATION): where that sets up pyenv, conda or nvm, each command of a lab took a tenth of a second more.
    """
    own = str(Path(sys.executable).parent)
    every = os.environ.get("PATH", "").split(os.pathsep)
    return os.pathsep.join(part for part in every if part not in ("", own) and not set(part) & set('"\\\n'))


def _is_taken(host: LabHost) -> bool:
    with socket.socket() as sock:
        # As sshd does: a port that a session of a moment ago was on is free.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host.address, host.port))
        except OSError as problem:
            return problem.errno == errno.EADDRINUSE
    return False


def _answers(host: LabHost) -> bool:
    try:
        with host.connect(SSHD_GREETS_S) as sock:
            return sock.recv(4).startswith(b"SSH")
    except OSError:
        return False


def _stop_jobs(host: LabHost) -> None:
    """End what a killed run left in the host's folders, by the host's own agent."""
    for folder, as_root in (("work", False), ("root", True)):
        # Another login may not look into it, nor has jobs there.
        if user_file.is_there(jobs := host.folder / folder / "jobs"):
            ask_agent("reap", "", str(jobs), as_root=as_root)


def _terminate(pids: Sequence[int]) -> None:
    """End these sshd and the sessions below them."""
    family = [each for pid in pids for each in _family(pid)]
    for process in family:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGTERM)
    until(lambda: all(map(_is_over, family)), SSHD_WITHIN_S)
    for process in family:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _family(pid: int) -> list[psutil.Process]:
    """Return the process and all below it; none where it has ended meanwhile."""
    try:
        first = psutil.Process(pid)
        return [first, *first.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _is_over(process: psutil.Process) -> bool:
    """One that nobody has reaped yet is over, too: an sshd belongs to init, and that of a container takes seconds."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
