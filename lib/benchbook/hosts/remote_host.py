"""One host, reached over SSH by Fabric: commands, files, tunnels."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import fabric
import paramiko

from benchbook.errors import ConnectionLost, HostUnusable, RemoteFailed
from benchbook.hosts import disk_room
from benchbook.hosts.file_hashes import file_hash
from benchbook.hosts.first_look import Seen
from benchbook.hosts.hang_up import LOST
from benchbook.hosts.login_shell import quote
from benchbook.hosts.logins import Logins
from benchbook.hosts.open_command import OpenCommand
from benchbook.hosts.whole_command import Result

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.inventory import Inventory
    from benchbook.hosts.reservation import Lease

# What an SFTP server answers to what it cannot do for want of space, say (draft-ietf-secsh-filexfer-02, section 7): the
# cause itself is not in the protocol. paramiko hands it on as an OSError without a number.
_REFUSED = ("Failure", "Bad message", "Operation unsupported")
# What paramiko says where a file is shorter over there than here: on a disk that filled meanwhile, in one case of many.
_CUT_SHORT = "size mismatch in put!"


# Folders in one command: Linux takes no word of more than 128 KiB (execve(2), MAX_ARG_STRLEN), which a command is.
_REMOVED_AT_ONCE = 200


class RemoteHost:
    """A host of the inventory. Opens on first use; may be used from several threads."""

    def __init__(self, inventory: Inventory, name: str) -> None:
        self.inventory, self.name = inventory, name
        self.host = inventory.hosts[name]
        self.address = self.host.address
        self.root = inventory.workdir(name)
        # Set by the session that has reserved this host: whether it still is its own is asked before anything is done.
        self.lease: Lease | None = None
        # So much its clock is ahead of the one in whose time its samples are put, in s; 0 = in its own.
        self.ahead_s = 0.0
        self._logins = Logins(self)
        self._lock = self._logins.lock
        self._seen: Seen | None = None
        self._pushed: set[str] = set()
        self._discarded: list[str] = []

    # -- connection ---------------------------------------------------------------------------------------------

    def connect(self) -> fabric.Connection:
        """The open connection, made if need be.

        Raises HostUnusable when the host cannot be reached or trusted, or, the first time, lacks what any run needs;
        HostUnreachable when it could be reached before, and has stayed away for longer than the lease;
        ReservationLost when the session's hosts are another driver's by now, or this one was started anew.
        """
        with self._lock:
            if self.lease:
                self.lease.guard()
            if self._seen is None:
                in_a_home = not (self.host.workdir or self.inventory.lab)
                self._seen = self._logins.look(self.root, shared=in_a_home)
                # Jobs run in folders of their own: every path they are given must be absolute.
                self.root = self._seen.root
            return self._logins.main()

    def seen(self) -> Seen:
        """What the first look at the host has found; it is had with the first connection."""
        self.connect()
        assert self._seen is not None, "who is connected has looked"
        return self._seen

    @property
    def python(self) -> str:
        """The host's own Python, for what needs no more than that; a `python3` on the PATH may be a slow script."""
        return (self._seen or self.seen()).interpreter

    def close(self) -> None:
        with self._lock:
            try:
                while self._logins.is_open and self._discarded:
                    self.run(["rm", "-rf", "--", *self._discarded[:_REMOVED_AT_ONCE]], timeout=120)
                    del self._discarded[:_REMOVED_AT_ONCE]
            finally:
                self._logins.close()
                self._pushed.clear()

    def hang_up(self) -> None:
        """Give up a connection that does not answer: the next use of the host makes another one."""
        self._logins.close()

    # -- commands -----------------------------------------------------------------------------------------------

    def run(self, argv: Sequence[object], *, timeout: float = 60.0, check: bool = True) -> Result:
        """Run a program to its end. Raises RemoteFailed (status not 0, or out of time) and ConnectionLost."""
        return self.shell(quote(argv), timeout=timeout, check=check)

    def shell(self, command: str, *, timeout: float = 60.0, check: bool = True, keep: Sequence[str] = ()) -> Result:
        """Like `run` for a shell command; the caller has quoted what is in it.

        The environment is emptied, so that a user's shell profile cannot change what is measured; `keep` names
        variables that the command needs from the login.
        """
        self.connect()
        return self._checked(self._logins.run(command, timeout, keep), command, check=check)

    def now(self) -> float:
        """What its clock says, in s since the epoch."""
        return float(self.shell("date +%s.%N").stdout)

    def start(self, argv: Sequence[object], *, sent: str = "") -> OpenCommand:
        """Run a program that leaves a long job behind by a login of its own, as if somebody had typed it.

        `sent` goes to its stdin. Linux counts how often a process turns from waking one process to waking another
        (`wakee_flips`), spreads over the cores what wakes many, hands the count down to children, and halves it once a
        second at most. Where client and server share cores, what is handed down to a load decides how its first second
        runs: on 2 cores, 50 threads had 0.97 of the tps of a typed command with a count that was higher by 2, and 0.73
        with one of 1,700. So nothing that starts a load has woken many: its login is new, not one that has long served
        files and tunnels, and shell and sh wake nobody before the program takes their place.
        """
        self.connect()
        return self._logins.begin(argv, sent)

    def open_ahead(self) -> None:
        """Something is about to be started: open the login for it now, beside what is done until then."""
        self._logins.open_ahead()

    def _checked(self, done: Result, command: str, *, check: bool) -> Result:
        if check and done.status != 0:
            raise RemoteFailed(self.name, command, done.status, done.stderr or done.stdout)
        return done

    def which(self, *programs: str) -> dict[str, str]:
        """Absolute path on the host of each of these programs that is there."""
        tests = "; ".join(f"printf '%s\\t%s\\n' {shlex.quote(p)} \"$(command -v {shlex.quote(p)})\"" for p in programs)
        lines = [line.split("\t") for line in self.shell(tests).stdout.splitlines()]
        return {name: path for name, path in lines if path}

    def require_program(self, name: str, *, package: str) -> str:
        """Path on the host of a program; a missing one is the user's to install."""
        wanted = self.inventory.program(name)
        found = self.which(wanted).get(wanted)
        if not found:
            raise self.lacks_program(name, package=package)
        return found

    def lacks_program(self, name: str, *, package: str) -> HostUnusable:
        """The error that a program is not here, and how to get it."""
        return HostUnusable(
            f"{name} is not on host {self.name}",
            file=self.inventory.file,
            key=f"programs.{name}",
            value=self.inventory.program(name),
            fix=f"on that host: sudo apt-get install {package}; or give its path under `programs`",
        )

    @property
    def is_root(self) -> bool:
        """Whether the login is root."""
        return self.run(["id", "-u"]).stdout.strip() == "0"

    @property
    def machine(self) -> str:
        """What tells machines apart, several hosts of a lab being one: the boot id, or the name where there is none."""
        return self.seen().boot or self.name

    # -- files --------------------------------------------------------------------------------------------------

    def path(self, *parts: str) -> str:
        """A path in the kit's folder on this host, which says where that is: it is connected to if need be."""
        return "/".join(((self._seen or self.seen()).root, *parts))

    @property
    def sftp(self) -> paramiko.SFTPClient:
        with self._lock:
            self.connect()
            return self._logins.files()

    def write(self, path: str, content: str | bytes, *, mode: int = 0o600) -> None:
        """Write a small file on the host; nobody but the login can read it at any moment unless `mode` says so."""
        data = content.encode() if isinstance(content, str) else content
        with self._lock, self._guard(path):
            with self.sftp.open(path, "w") as out:
                out.chmod(0o600)
                out.write(data)
            if mode != 0o600:
                self.sftp.chmod(path, mode)

    def read(self, path: str, *, offset: int = 0) -> bytes:
        """The bytes of a file on the host from `offset`; an absent file reads as empty."""
        with self._lock, self._guard(path):
            try:
                with self.sftp.open(path, "r") as source:
                    size = source.stat().st_size or 0
                    if size <= offset:
                        return b""
                    source.prefetch(size) if offset == 0 and size > 1 << 16 else None
                    source.seek(offset)
                    return source.read(size - offset)
            except FileNotFoundError:
                return b""

    def read_process(self, pid: int, name: str) -> bytes:
        """A small file of a process on the host, as `stat`, which says of itself that it is empty; b"" without one."""
        with self._lock, self._guard(f"/proc/{pid}/{name}"):
            try:
                with self.sftp.open(f"/proc/{pid}/{name}", "r") as source:
                    return source.read(4096)
            except OSError as problem:
                # Of one that ends after it was opened, the kernel has nothing to read (ESRCH): for SFTP just a failure.
                if isinstance(problem, FileNotFoundError) or _is_refusal(problem):
                    return b""
                raise

    def renew_lease(self, file: str, session: str) -> bool:
        """Touch the reservation of this host; False where it is not this session's any more.

        No large file on its way, which has `_lock`, keeps it waiting.
        """
        connection = self._logins.standing or self.connect()
        command = f"grep -qF {shlex.quote(session)} {shlex.quote(file)} && touch -c {shlex.quote(file)}"
        return self._logins._over(connection, command, 60.0, ()).status == 0

    def still_ours(self) -> None:
        """Raises ReservationLost when a host of the session that holds this one is another driver's by now.

        Raises ConnectionLost when a host does not say so.
        """
        if self.lease:
            self.lease.reservation.verify()

    def mkdir(self, *paths: str) -> None:
        self.run(["mkdir", "-p", "-m", "700", *paths])

    def push(self, local: Path, *, executable: bool = False) -> str:
        """Put a file on the host unless it is there already, and return its path, which carries its hash.

        Raises HostUnusable where the disk of the host takes no more.
        """
        digest = file_hash(local)
        folder = self.path("artefacts", digest[:16])
        target = f"{folder}/{local.name}"
        if target in self._pushed:
            return target
        with self._lock, self._guard(target):
            if self._is_there(target, local.stat().st_size):
                self._pushed.add(target)
                return target
            try:
                self._put(local, target, 0o700 if executable else 0o600)
            except (RemoteFailed, OSError) as problem:
                self._refuse_full(problem)
                raise
            self._pushed.add(target)
        return target

    def _put(self, local: Path, target: str, mode: int) -> None:
        self.mkdir(target.rpartition("/")[0])
        partial = f"{target}.{os.getpid()}.partial"
        self.sftp.put(str(local), partial)
        self.sftp.chmod(partial, mode)
        self.sftp.posix_rename(partial, target)

    def _refuse_full(self, problem: Exception) -> None:
        """Raises HostUnusable if the disk takes nothing; whatever else it was, the caller has it."""
        if isinstance(problem, LOST) and not _is_refusal(problem):
            return
        if what := disk_room.lacking(self, self.root):
            raise HostUnusable(
                f"its disk is {'full' if what == disk_room.NO_SPACE else 'read-only'}",
                file=self.inventory.file,
                key=f"hosts.{self.name}.workdir",
                value=self.root,
                fix="free space there, or mount it for writing; or set workdir to a folder on another disk",
            ) from problem

    def _is_there(self, path: str, size: int) -> bool:
        try:
            return self.sftp.stat(path).st_size == size
        except FileNotFoundError:
            return False

    def discard(self, folder: str) -> None:
        """Remove a folder some time before the connection closes: not now, between two measurements."""
        self._discarded.append(folder)

    def fetch(self, path: str, local: Path) -> None:
        with self._lock, self._guard(path):
            self.sftp.get(path, str(local))

    def tunnel(self, address: str, port: int, *, timeout: float = 10.0) -> paramiko.Channel:
        """A socket-like channel from this host to `address:port`: the driver itself needs nothing but SSH."""
        try:
            transport: paramiko.Transport = self.connect().transport
            return transport.open_channel("direct-tcpip", (address, port), ("127.0.0.1", 0), timeout=timeout)
        except LOST as problem:
            raise ConnectionLost(f"{self.name}: no connection to {address}:{port}: {problem}") from problem

    def _guard(self, path: str) -> _Guard:
        return _Guard(self, path)


def _is_refusal(problem: BaseException | None) -> bool:
    """Whether the host's SFTP server refused it, or took less than it was sent."""
    said = str(problem)
    return isinstance(problem, OSError) and (said in _REFUSED or said.startswith(_CUT_SHORT))


class _Guard:
    """Turns what a broken connection raises into ConnectionLost, and what the host refuses into RemoteFailed.

    A missing file stays FileNotFoundError.
    """

    def __init__(self, host: RemoteHost, path: str) -> None:
        self._remote, self.host, self.path = host, host.name, path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, _: object) -> None:
        if _is_refusal(value):
            said = f"the host refuses ({value}): is its disk full, or read-only?"
            raise RemoteFailed(self.host, f"SFTP of {self.path}", None, said) from value
        if isinstance(value, TimeoutError):
            # An sshd that stands still keeps its connection; the next one is another's.
            self._remote.hang_up()
        if isinstance(value, LOST) and not isinstance(value, (FileNotFoundError, PermissionError)):
            raise ConnectionLost(f"{self.host}: {self.path}: {value!r}") from value
