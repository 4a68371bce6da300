"""One host, reached over SSH by Fabric: commands, files, forwarded ports."""

from __future__ import annotations

import os
import re
import shlex
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import fabric
import paramiko
from fabric.tunnels import Tunnel
from invoke.exceptions import CommandTimedOut, ThreadException
from invoke.runners import Result
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    stop_after_delay,
    stop_all,
    wait_exponential,
)

from benchbook.errors import (
    BenchbookError,
    ConnectionLost,
    HostUnreachable,
    HostUnusable,
    RemoteFailed,
    TrialFailed,
    WorkloadFailed,
)
from benchbook.hosts import preflight
from benchbook.hosts.command_line import has_run, login_line, login_output, own_output, quote
from benchbook.hosts.connection import Route, reach
from benchbook.hosts.endpoint import at
from benchbook.hosts.file_hashes import file_hash
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.lab_host import ACCOUNT, lab_host
from benchbook.hosts.preflight import NO_SPACE, HostProbe, disk_refusal
from benchbook.hosts.timeouts import (
    BROKEN_S,
    COMMAND_S,
    FORWARD_S,
    LONGEST_RETRY_S,
    REMOVED_S,
    RETRY_S,
    silence_s,
)
from benchbook.temporary import locked_folder

T = TypeVar("T")

# What a broken connection raises, depending on which layer notices first.
LOST = (OSError, EOFError, paramiko.SSHException, ThreadException)
# What an SFTP server answers to what it cannot do for want of space, say (draft-ietf-secsh-filexfer-02, section 7): the
# cause itself is not in the protocol. paramiko hands it on as an OSError without a number.
_REFUSED = re.compile("Failure$|Bad message$|Operation unsupported$|size mismatch in put!")
# sshd allows so many sessions on a connection (MaxSessions), files among them.
_SESSIONS = 8
# Folders in one command: Linux takes no word of more than 128 KiB (execve(2), MAX_ARG_STRLEN), which a command is.
_REMOVED_AT_ONCE = 200
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Host:
    """A host of the inventory. Opens on first use; may be used from several threads."""

    def __init__(self, inventory: Inventory, name: str) -> None:
        self.inventory, self.name = inventory, name
        self.host = inventory.hosts[name]
        self.address = self.host.address
        self.root = inventory.workdir(name)
        # Set by the session that has reserved this host: whether it still is its own is asked before anything is done.
        self.lease: Any = None
        self._lock, self._sftp_lock = threading.RLock(), threading.RLock()
        self._sessions = threading.BoundedSemaphore(_SESSIONS)
        self._connection: fabric.Connection | None = None
        self._route: Route | None = None
        self._away_since: float | None = None
        self._probe: HostProbe | None = None
        self._pushed: set[str] = set()
        self._discarded: list[str] = []
        self._by_root: Host | None = None

    # -- connection ---------------------------------------------------------------------------------------------

    def connect(self) -> fabric.Connection:
        """Return the open connection, made if need be.

        Raise HostUnusable when the host cannot be reached or trusted, or, the first time, lacks what any run needs;
        HostUnreachable when it could be reached before, and has stayed away for longer than the lease;
        ReservationLost when the session's hosts are another driver's by now, or this one was started anew.
        """
        with self._lock:
            if self.lease:
                self.lease.guard()
            if self._connection is None or not self._connection.is_connected:
                self.disconnect()
                opened = self._open()
                try:
                    if self._probe is None:
                        self._probe = self._preflight(opened)
                        # Jobs run in folders of their own: every path they are given must be absolute.
                        self.root = self._probe.root
                    elif self.lease:
                        self._check_same_boot(opened)
                except BaseException:
                    _close(opened)
                    raise
                self._connection = opened
            return self._connection

    def _open(self) -> fabric.Connection:
        """A new connection. A host that was reached before is waited for, once, for as long as its lease lasts."""
        if self._route is None:
            return self._login()
        if self._away_since is None:
            self._away_since = time.monotonic()
        left_s = max(0.0, self.inventory.ssh.lease_s - (time.monotonic() - self._away_since))
        opened = retrying(self, left_s=left_s, again=HostUnusable, attempts=1)(self._login)
        self._away_since = None
        return opened

    def _login(self) -> fabric.Connection:
        opened, self._route = reach(self.inventory, self.name, self._route)
        return opened

    def _preflight(self, opened: fabric.Connection) -> HostProbe:
        """Return what the host has of what any run needs; the kit's folder is made there. Raise HostUnusable."""
        self._see_shell(opened)
        in_a_home = not (self.host.workdir or self.inventory.lab)
        script = preflight.script(self.root, shared=in_a_home)
        result = self._run(opened, script, COMMAND_S, preflight.NEEDS)
        try:
            probe = HostProbe.parse(result.stdout)
        except (KeyError, ValueError) as problem:
            raise RemoteFailed(self.name, "preflight.sh", result.exited, result.stderr or result.stdout) from problem
        preflight.check(self.inventory, self.name, probe)
        self._see_files(opened, probe.root)
        return probe

    def _see_shell(self, opened: fabric.Connection) -> None:
        """That the login shell runs commands at all: one that waits is left before it is asked for anything else."""
        seconds = self.inventory.ssh.connect_timeout_s
        result, is_late = self._sent(opened, "true", seconds)
        if is_late:
            # At the end of its input, when it is left, the shell may run the command all the same.
            printed = (login_output(result.stdout) + login_output(result.stderr)).strip().splitlines()
            within = f"{seconds:g} s" + (f"; it says: {printed[-1][:200]}" if printed else "")
            raise self._refusal("waits", printed[-1][:200] if printed else "no output", within)
        if not has_run(result.stdout):
            raise self._refusal("runs no commands", " ".join((result.stdout + result.stderr).split())[:200])

    def _refusal(self, what: str, found: str, within: str = "") -> HostUnusable:
        problem, fix = preflight.REFUSALS[what]
        return self.inventory.unusable(self.name, problem.format(within), value=found, fix=fix)

    def _see_files(self, opened: fabric.Connection, root: str) -> None:
        try:
            channel = opened.sftp().get_channel()
            if channel is not None:
                # An answer that does not come is given up, as a peer that falls silent is.
                channel.settimeout(silence_s(self.inventory.ssh.lease_s))
            opened.sftp().stat(root)
        except paramiko.SFTPError as problem:
            raise self._refusal("spoils SFTP", "text in place of SFTP's answer") from problem
        except (FileNotFoundError, PermissionError) as problem:
            raise self._refusal("shows other files", root) from problem
        except paramiko.ChannelException as problem:
            raise self._refusal("opens no session", "no session for SFTP") from problem
        except LOST as problem:
            if opened.is_connected and not isinstance(problem, TimeoutError) and "Timeout" not in str(problem):
                raise self._refusal("has no SFTP", "no subsystem sftp") from problem
            raise ConnectionLost(f"{self.name}: SFTP did not open: {problem!r}") from problem

    def _check_same_boot(self, opened: fabric.Connection) -> None:
        """A host that was started anew answers as if nothing had been, without all that ran and was set there."""
        boot = self._probe.boot if self._probe else ""
        found = self._run(opened, f"cat {_BOOT_ID}", COMMAND_S).stdout.strip() if boot else ""
        if found and found != boot:
            self.lease.end_with_boot()

    def probe(self) -> HostProbe:
        """Return what the preflight of the host has found; it is done with the first connection."""
        if self._probe is None:
            self.connect()
        assert self._probe is not None, "who is connected has looked"
        return self._probe

    @property
    def python(self) -> str:
        """The host's own Python; a `python3` on the PATH may be a slow script in front of it."""
        return self.probe().interpreter

    @property
    def is_root(self) -> bool:
        """Whether the login is root."""
        return self.run(["id", "-u"]).stdout.strip() == "0"

    @property
    def by_root(self) -> Host:
        """This host by root's login, for what only root may set, in a lab that root has started; else this host."""
        inside = lab_host(self.inventory, self.name)
        if os.geteuid() or not self.inventory.lab or inside.user != ACCOUNT:
            return self
        if self._by_root is None:
            root = self.host.model_copy(update={"user": "root", "workdir": str(inside.folder / "root")})
            hosts = {**self.inventory.hosts, self.name: root}
            self._by_root = Host(self.inventory.model_copy(update={"hosts": hosts}), self.name)
        self._by_root.lease = self.lease
        return self._by_root

    @property
    def machine(self) -> str:
        """What tells machines apart, several hosts of a lab being one: the boot id, or the name where there is none."""
        return self.probe().boot or self.name

    def close(self) -> None:
        """Remove what was discarded, and hang up."""
        with self._lock:
            try:
                while self._connection is not None and self._discarded:
                    self.run(["rm", "-rf", "--", *self._discarded[:_REMOVED_AT_ONCE]], timeout=REMOVED_S)
                    del self._discarded[:_REMOVED_AT_ONCE]
            finally:
                self.disconnect()
                self._pushed.clear()
                if self._by_root is not None:
                    self._by_root.lease = None
                    self._by_root.close()

    def disconnect(self) -> None:
        """Give up a connection that does not answer: the next use of the host makes another one."""
        with self._lock:
            _close(self._connection)
            self._connection = None

    # -- commands -----------------------------------------------------------------------------------------------

    def run(self, command: Sequence[object] | str, *, timeout: float = COMMAND_S, check: bool = True) -> Result:
        """Run a program (its words), or a shell command whose parts the caller has quoted, to its end.

        Return Fabric's Result: `stdout`, `stderr`, `exited`, `ok`. The environment is emptied, so that no shell profile
        can change what is measured. Raise RemoteFailed (exit status not 0, or no end within `timeout` s), and
        ConnectionLost.
        """
        line = command if isinstance(command, str) else quote(command)
        result = self._run(self.connect(), line, timeout)
        return self._checked(result, line) if check else result

    def _checked(self, result: Result, line: str) -> Result:
        if result.failed:
            raise RemoteFailed(self.name, line, result.exited, result.stderr or result.stdout)
        return result

    def _run(self, opened: fabric.Connection, line: str, timeout: float, keep: Sequence[str] = ()) -> Result:
        """Return what a command's own part of the output is, and how it ended. Raise RemoteFailed, ConnectionLost."""
        result, is_late = self._sent(opened, line, timeout, keep)
        if is_late:
            raise RemoteFailed(self.name, line, None, f"no end within {timeout:g} s")
        if result.exited < 0 and _is_over(opened):
            raise ConnectionLost(f"{self.name}: the connection broke during `{line}`")
        result.stdout, result.stderr = own_output(result.stdout), own_output(result.stderr)
        return result

    def _sent(
        self, opened: fabric.Connection, line: str, timeout: float, keep: Sequence[str] = ()
    ) -> tuple[Result, bool]:
        """Return what Fabric returns of a command, and whether it was left because its time was over.

        Nothing is sent to its stdin, and not its end either: sshd hangs up the whole connection where that comes for a
        channel that it has closed, as it may have of a command as short as mkdir.
        """
        try:
            with self._sessions:
                began = time.monotonic()
                result: Result = opened.run(
                    login_line(line, keep), hide=True, warn=True, in_stream=False, timeout=timeout, encoding="utf-8"
                )
        except CommandTimedOut as problem:
            left: Any = problem.result
            return left, True
        except LOST as problem:
            raise self._session_problem(opened, line, problem) from problem
        # Fabric may have closed the channel, and not know yet that it was itself; what reads its input then ends well.
        return result, time.monotonic() - began >= timeout

    def _session_problem(self, opened: fabric.Connection, line: str, problem: BaseException) -> BenchbookError:
        if isinstance(problem, paramiko.ChannelException) and opened.is_connected:
            return self._refusal("opens no session", "no session")
        _close(opened)
        return ConnectionLost(f"{self.name}: the connection broke during `{line}`: {problem!r}")

    def run_apart(self, argv: Sequence[object], *, timeout: float = COMMAND_S) -> Result:
        """Run a program that leaves a long job behind, by a login of its own; else as `run` does.

        Linux counts how often a process turns from waking one process to waking another (`wakee_flips`), spreads over
        the cores what wakes many, and hands the count down to children. On 2 cores, 50 threads of a load had 0.73 of
        the tps of a typed command where it was started by a login that had long served files and tunnels. So what
        starts a load has a new login, and the program takes the place of the shells.
        """
        self.connect()
        opened = self._open()
        try:
            line = f"exec {quote(argv)} < /dev/null"
            return self._checked(self._run(opened, line, timeout), line)
        finally:
            _close(opened)

    def now(self) -> float:
        """Return what its clock says, in s since the epoch."""
        return float(self.run("date +%s.%N").stdout)

    def which(self, *programs: str) -> dict[str, str]:
        """Return the absolute path on the host of each of these programs that is there."""
        tests = "; ".join(f"printf '%s\\t%s\\n' {shlex.quote(p)} \"$(command -v {shlex.quote(p)})\"" for p in programs)
        lines = [line.split("\t") for line in self.run(tests).stdout.splitlines()]
        return {name: path for name, path in lines if path}

    def require_program(self, name: str, *, package: str) -> str:
        """Return the path on the host of a program. Raise HostUnusable where it is missing."""
        wanted = self.inventory.program(name)
        found = self.which(wanted).get(wanted)
        if not found:
            raise self.lacks_program(name, package=package)
        return found

    def lacks_program(self, name: str, *, package: str) -> HostUnusable:
        """Return the error that a program is not here, and how to get it."""
        return HostUnusable(
            f"{name} is not on host {self.name}",
            file=self.inventory.file,
            key=f"programs.{name}",
            value=self.inventory.program(name),
            fix=f"on that host: sudo apt-get install {package}; or give its path under `programs`",
        )

    # -- files --------------------------------------------------------------------------------------------------

    def path(self, *parts: str) -> str:
        """Return a path in the kit's folder on this host, which says where that is: it is connected to if need be."""
        return "/".join((self.probe().root, *parts))

    def put(self, local: Path, path: str, *, mode: int = 0o600) -> None:
        """Copy a file to the host: aside first, then renamed, so that it is there whole or not at all."""
        partial = f"{path}.{os.getpid()}.partial"
        with self._files(path) as connection:
            connection.put(str(local), partial)
            connection.sftp().chmod(partial, mode)
            connection.sftp().posix_rename(partial, path)

    def get(self, path: str, local: Path) -> None:
        """Copy a file from the host."""
        with self._files(path) as connection:
            connection.get(path, str(local))

    def write(self, path: str, content: str | bytes, *, mode: int = 0o600) -> None:
        """Write a small file on the host; nobody but the login can read it at any moment unless `mode` says so."""
        data = content.encode() if isinstance(content, str) else content
        with self._files(path) as connection, connection.sftp().open(path, "w") as out:
            out.chmod(0o600)
            out.write(data)
            if mode != 0o600:
                out.chmod(mode)

    def read(self, path: str, *, offset: int = 0) -> bytes:
        """Return the bytes of a file on the host from `offset`; an absent file reads as empty."""
        with self._files(path) as connection, suppress(FileNotFoundError), connection.sftp().open(path, "r") as source:
            size = source.stat().st_size or 0
            if size <= offset:
                return b""
            if offset == 0 and size > 1 << 16:
                source.prefetch(size)
            source.seek(offset)
            return bytes(source.read(size - offset))
        return b""

    def mkdir(self, *paths: str) -> None:
        """Make these folders on the host, for its login alone."""
        self.run(["mkdir", "-p", "-m", "700", *paths])

    def push(self, local: Path, *, executable: bool = False) -> str:
        """Put a file on the host unless it is there already, and return its path, which carries its hash.

        Raise HostUnusable where the disk of the host takes no more.
        """
        folder = self.path("artefacts", file_hash(local)[:16])
        target = f"{folder}/{local.name}"
        if target in self._pushed or self._size(target) == local.stat().st_size:
            self._pushed.add(target)
            return target
        try:
            self.mkdir(folder)
            self.put(local, target, mode=0o700 if executable else 0o600)
        except RemoteFailed as problem:
            if said := self.disk_problem():
                other = self.inventory.elsewhere(self.name, "a folder on another disk")
                fix = f"free space there, or mount it for writing; or {other}"
                raise self.inventory.unusable(self.name, said, key="workdir", value=self.root, fix=fix) from problem
            raise
        self._pushed.add(target)
        return target

    def _size(self, path: str) -> int | None:
        with self._files(path) as connection, suppress(FileNotFoundError):
            size: int | None = connection.sftp().stat(path).st_size
            return size
        return None

    def discard(self, folder: str) -> None:
        """Remove a folder some time before the connection closes: not now, between two measurements."""
        self._discarded.append(folder)

    @contextmanager
    def secret_files(self, files: Mapping[str, str]) -> Iterator[str]:
        """Yield the path of a new folder with these files (name -> content), mode 0600, for as long as the block runs.

        It lies where jobs have theirs: what a driver that was killed has left, the next session removes.
        """
        jobs = self.path("jobs")
        folder = f"{jobs}/secrets-{uuid.uuid4().hex[:8]}"
        self.mkdir(jobs, folder)
        try:
            for name, content in files.items():
                self.write(f"{folder}/{name}", content)
            yield folder
        finally:
            self.run(["rm", "-rf", "--", folder])

    def disk_refuses(self, folder: str) -> str | None:
        """Return preflight.NO_SPACE or READ_ONLY, where a byte more in `folder` is refused so; else None."""
        file = quote([f"{folder}/room"])
        # Of a shell's own echo, some shells say "I/O error" and no more.
        return disk_refusal(self.run(f"head -c 1 /dev/zero > {file}; rm -f -- {file}", check=False).stderr)

    def disk_problem(self) -> str | None:
        """Return in words that the disk of the kit's folder takes nothing; None where it does."""
        what = self.disk_refuses(self.root)
        if what is None:
            return None
        full = f"no space is left on the disk of {self.name}"
        return full if what == NO_SPACE else f"the disk of {self.name} is {what}"

    @contextmanager
    def _files(self, path: str) -> Iterator[fabric.Connection]:
        """The connection, for SFTP, by one thread at a time. A missing file stays FileNotFoundError.

        Raise ConnectionLost where the connection broke, RemoteFailed for what the host refuses.
        """
        with self._sftp_lock:
            connection = self.connect()
            try:
                yield connection
            except (FileNotFoundError, PermissionError, BenchbookError):
                raise
            except LOST as problem:
                if isinstance(problem, OSError) and _REFUSED.match(str(problem)):
                    said = f"the host refuses ({problem}): is its disk full, or read-only?"
                    raise RemoteFailed(self.name, f"SFTP of {path}", None, said) from problem
                # An sshd that stands still keeps its connection, but not its files: the next one is another's.
                self.disconnect()
                raise ConnectionLost(f"{self.name}: {path}: {problem!r}") from problem

    # -- ports --------------------------------------------------------------------------------------------------

    @contextmanager
    def connected(self, address: str, port: int) -> Iterator[socket.socket]:
        """Yield a socket that leads, by way of the host, to `address:port`. Raise ConnectionLost where nothing listens.

        No port of this machine leads there, by which another user would come to a server that asks for no login.
        """
        channel = self._channel(address, port)
        mine, theirs = socket.socketpair()
        over = threading.Event()
        Tunnel(channel=channel, sock=theirs, finished=over).start()
        with mine:
            try:
                yield mine
            finally:
                over.set()

    @contextmanager
    def forward_local(self, address: str, port: int) -> Iterator[str]:
        """Yield the path of a Unix socket, for this process alone, that leads through the host to `address:port`.

        For a client that must connect itself. Raise ConnectionLost where the block failed because nothing listens
        there. Fabric's own `forward_local` opens a port to every user of this machine, some time later, and leaves a
        client waiting where nothing listens there: its Tunnel is used, and the rest done here.
        """
        over, refused = threading.Event(), list[BenchbookError]()

        def serve(listener: socket.socket) -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    try:
                        channel = self._channel(address, port)
                    except BenchbookError as problem:
                        refused.append(problem)
                        client.close()
                    else:
                        Tunnel(channel=channel, sock=client, finished=over).start()

        with locked_folder() as folder, ExitStack() as closing, socket.socket(socket.AF_UNIX) as listener:
            # By its number, for a socket's path may have 107 bytes (unix(7)), which TMPDIR's may be alone.
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            closing.callback(os.close, held)
            path = f"/proc/self/fd/{held}/to.sock"
            listener.bind(path)
            listener.listen()
            threading.Thread(target=serve, args=(listener,), name="forward", daemon=True).start()
            try:
                yield path
            except Exception as problem:
                if refused:
                    raise refused[-1] from problem
                raise
            finally:
                over.set()
                # A thread that accepts is not woken by close() alone.
                listener.shutdown(socket.SHUT_RDWR)

    def check_port(self, address: str, port: int) -> None:
        """Raise ConnectionLost where nothing listens at `address:port`, as seen from this host."""
        self._channel(address, port).close()

    def _channel(self, address: str, port: int) -> paramiko.Channel:
        try:
            there, here = (address, port), ("127.0.0.1", 0)
            transport: paramiko.Transport = self.connect().transport
            return transport.open_channel("direct-tcpip", there, here, timeout=FORWARD_S)
        except LOST as problem:
            raise ConnectionLost(f"{self.name}: no connection to {at(address, port)}: {problem}") from problem

    # -- reservation --------------------------------------------------------------------------------------------

    def check_reservation(self) -> None:
        """Raise ReservationLost when a host of the session that holds this one is another driver's by now.

        Raise ConnectionLost when a host does not say so.
        """
        if self.lease:
            self.lease.session.verify()

    def renew_lease(self, file: str, session: str) -> bool:
        """Touch the reservation of this host; return False where it is not this session's any more.

        No large file on its way keeps it waiting: commands do not wait for files.
        """
        line = f"grep -qF {quote([session])} {quote([file])} && touch -c {quote([file])}"
        return self._run(self.connect(), line, COMMAND_S).ok


def retrying(
    host: Host, *, left_s: float | None = None, again: type[BenchbookError] = ConnectionLost, attempts: int = 2
) -> Retrying:
    """Return what calls a step again where it raises `again`: what may be done twice, within the host's lease.

    Raise HostUnreachable after the lease, or what is left of it.
    """
    lease_s = host.inventory.ssh.lease_s

    def give_up(state: RetryCallState) -> NoReturn:
        problem = state.outcome.exception() if state.outcome else None
        raise HostUnreachable(
            f"host {host.name} is unreachable, for longer than its lease of {lease_s:g} s: {problem}"
        ) from problem

    return Retrying(
        retry=retry_if_exception_type(again),
        # A driver that was itself stopped for longer finds its connection gone, and not the host.
        stop=stop_all(stop_after_attempt(attempts), stop_after_delay(lease_s if left_s is None else left_s)),
        wait=wait_exponential(RETRY_S, max=LONGEST_RETRY_S),
        retry_error_callback=give_up,
    )


def with_retry(step: Callable[[Host], T]) -> Callable[[Host], T]:
    """Return the step on a host, done again where the connection broke. Raise HostUnreachable after the lease."""
    return lambda host: retrying(host)(step, host)


@contextmanager
def blaming_disks(hosts: Iterable[Host]) -> Iterator[None]:
    """Raise WorkloadFailed for what fails in the block where a disk of one of these hosts takes nothing."""
    try:
        yield
    except TrialFailed as problem:
        for host in hosts:
            if disk := host.disk_problem():
                raise WorkloadFailed(f"{disk}: {problem}", output=problem.output) from problem
        raise


def _close(connection: fabric.Connection | None) -> None:
    if connection is not None:
        with suppress(*LOST):
            connection.close()
        # Fabric leaves alone what it takes for closed: a transport that broke, a login that was refused.
        with suppress(*LOST):
            connection.client.close()


def _is_over(connection: fabric.Connection) -> bool:
    """Has this connection broken? Its channels end a moment before it is known."""
    connection.transport.join(BROKEN_S)
    return not connection.is_connected
