"""The logins at one host: one that stays open for commands and files, more where a host allows that one too little."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import fabric
import paramiko

from benchbook.errors import BenchbookError, ConnectionLost, RemoteFailed
from benchbook.hosts import first_look, login_shell, whole_command
from benchbook.hosts.connection import open_connection, silence_s
from benchbook.hosts.file_channel import NoSession, no_session, open_sftp, other_files
from benchbook.hosts.first_look import Seen
from benchbook.hosts.hang_up import LOST, hang_up
from benchbook.hosts.open_command import OpenCommand
from benchbook.hosts.patient_login import PatientLogin
from benchbook.hosts.spare_login import SpareLogin
from benchbook.hosts.whole_command import NO_STATUS, OutOfTime, Result

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.inventory import Inventory
    from benchbook.hosts.remote_host import RemoteHost

# A transport whose connection broke ends its thread within milliseconds of the channels that it carried.
_GOODBYE_S = 0.5


class Logins:
    """Opens on first use; may be used from several threads.

    sshd allows so many sessions per connection (MaxSessions, 10 unless set). Where they run out, files take a login of
    their own from then on, and a command that finds no session takes one for itself.
    """

    def __init__(self, host: RemoteHost) -> None:
        self._host, self.name = host, host.name
        self.lock = threading.RLock()
        lease_s = host.inventory.ssh.lease_s
        self._login = PatientLogin(host.name, self._attempt, lease_s)
        self._spare = SpareLogin(self._attempt)
        self._main: fabric.Connection | None = None
        self._sftp: paramiko.SFTPClient | None = None
        self._files_only: fabric.Connection | None = None
        self._files_apart = False
        self._boot = ""
        # Does the login shell empty an environment by itself? The first look finds out.
        self._clears = True

    @property
    def inventory(self) -> Inventory:
        return self._host.inventory

    def _attempt(self) -> fabric.Connection:
        return open_connection(self.inventory, self.name)

    def main(self) -> fabric.Connection:
        """The login that stays open, made if need be.

        Raises HostUnusable, later HostUnreachable; ReservationLost where the host was started anew meanwhile.
        """
        with self.lock:
            if self._main is None or not self._main.is_connected:
                hang_up(self._main)
                self._main = self._sftp = None
                opened = self._login.open()
                try:
                    self._see_same_boot(opened)
                except BenchbookError:
                    hang_up(opened)
                    raise
                self._main = opened
            return self._main

    def _see_same_boot(self, opened: fabric.Connection) -> None:
        """A host that was started anew answers as if nothing had been, without all that ran and was set there."""
        if self._boot and self._host.lease:
            found = _own_words(self._over(opened, "cat /proc/sys/kernel/random/boot_id", 60.0, ())).stdout.strip()
            if found and found != self._boot:
                self._host.lease.end_with_boot()

    @property
    def standing(self) -> fabric.Connection | None:
        """The login that stays open, if it is; nobody is waited for."""
        there = self._main
        return there if there is not None and there.is_connected else None

    @property
    def is_open(self) -> bool:
        return self._main is not None

    def close(self) -> None:
        self._spare.close()
        with self.lock:
            hang_up(self._files_only)
            hang_up(self._main)
            self._main = self._files_only = self._sftp = None

    def look(self, root: str, *, shared: bool) -> Seen:
        """See that the host has what any run needs, and what it is, in one command; the kit's folder is made there.

        `shared`: other machines may see the same `root`, and have folders of their own beside it. Raises HostUnusable
        for what is missing.
        """
        script = first_look.script(root, shared=shared)
        done = self._anyhow(script, 60.0, first_look.NEEDS)
        if not login_shell.ran(done.stdout):
            # It knows no `exec -c`, and has run nothing: said again in words that every shell knows.
            self._clears = False
            done = self._anyhow(script, 60.0, first_look.NEEDS)
        if not login_shell.ran(done.stdout):
            raise first_look.no_shell(self.inventory, self.name, done.stdout + done.stderr)
        try:
            seen = first_look.Seen.parse(login_shell.said(done.stdout))
        except (KeyError, ValueError) as problem:
            raise RemoteFailed(self.name, "look.sh", done.status, done.stderr or done.stdout) from problem
        first_look.check(self.inventory, self.name, seen)
        self._boot = seen.boot
        self._look_at_files(seen.root)
        return seen

    def _look_at_files(self, root: str) -> None:
        """See that files can be had as well. Raises HostUnusable and ConnectionLost."""
        try:
            with self.lock:
                self.files().stat(root)
        except (FileNotFoundError, PermissionError) as problem:
            raise other_files(self.inventory, self.name, root) from problem
        except LOST as problem:
            # A driver that was stopped meanwhile finds the time for an answer over, whatever has come.
            self.close()
            raise ConnectionLost(f"{self.name}: {root}: {problem!r}") from problem

    # -- commands -----------------------------------------------------------------------------------------------

    def run(self, command: str, timeout: float, keep: Sequence[str] = ()) -> Result:
        """Run a shell command to its end; `keep` names variables that it needs from the login.

        Raises ConnectionLost, and RemoteFailed when its time is up.
        """
        return _own_words(self._anyhow(command, timeout, keep))

    def open_ahead(self) -> None:
        """Open the login of the next `begin` now, in a thread."""
        self._spare.open_ahead()

    def begin(self, argv: Sequence[object], sent: str) -> OpenCommand:
        """Run a program by a login of its own, which ends with it; `sent` goes to its stdin.

        Raises HostUnusable, HostUnreachable and ConnectionLost.
        """
        connection = self._spare.take() or self._login.open()
        return OpenCommand(connection, self.inventory, self.name, argv, sent)

    def _anyhow(self, command: str, timeout: float, keep: Sequence[str] = ()) -> Result:
        try:
            return self._over(self.main(), command, timeout, keep)
        except NoSession:
            self._put_files_apart()
        return self._by_own_login(command, timeout, keep)

    def _by_own_login(self, command: str, timeout: float, keep: Sequence[str] = ()) -> Result:
        connection = self._login.open()
        try:
            return self._over(connection, command, timeout, keep)
        except NoSession as problem:
            raise first_look.no_sessions(self.inventory, self.name) from problem
        finally:
            hang_up(connection)

    def _over(self, connection: fabric.Connection, command: str, timeout: float, keep: Sequence[str]) -> Result:
        try:
            done = whole_command.run(connection, login_shell.words(command, keep, clears=self._clears), timeout)
        except OutOfTime as problem:
            raise RemoteFailed(self.name, command, None, str(problem)) from problem
        except LOST as problem:
            if no_session(problem, connection):
                raise NoSession(self.name) from problem
            connection.close()
            raise ConnectionLost(f"{self.name}: the connection broke during `{command}`: {problem!r}") from problem
        if done.status == NO_STATUS and _is_over(connection):
            raise ConnectionLost(f"{self.name}: the connection broke during `{command}`")
        return done

    # -- files --------------------------------------------------------------------------------------------------

    def files(self) -> paramiko.SFTPClient:
        """SFTP, opened if need be; one thread at a time may use it (`lock`). Raises HostUnusable, ConnectionLost."""
        with self.lock:
            channel = self._sftp.get_channel() if self._sftp else None
            if self._sftp is None or channel is None or channel.closed:
                self._sftp = self._open_files()
            return self._sftp

    def _open_files(self) -> paramiko.SFTPClient:
        if not self._files_apart:
            try:
                return self._patient_files(self.main())
            except NoSession:
                self._files_apart = True
        hang_up(self._files_only)
        self._files_only = self._login.open()
        try:
            return self._patient_files(self._files_only)
        except NoSession as problem:
            raise first_look.no_sessions(self.inventory, self.name) from problem

    def _patient_files(self, connection: fabric.Connection) -> paramiko.SFTPClient:
        """SFTP over a connection; an answer that does not come is given up, as a peer that falls silent is."""
        opened = open_sftp(connection, self.inventory, self.name)
        if channel := opened.get_channel():
            channel.settimeout(silence_s(self.inventory.ssh.lease_s))
        return opened

    def _put_files_apart(self) -> None:
        """Leave the sessions of the main login to commands."""
        with self.lock:
            if self._sftp is not None and not self._files_apart:
                self._sftp.close()
                self._sftp = None
            self._files_apart = True


def _is_over(connection: fabric.Connection) -> bool:
    """Has this connection broken? Its channels end a moment before it is known."""
    connection.transport.join(_GOODBYE_S)
    return not connection.is_connected


def _own_words(done: Result) -> Result:
    """Without what the login shell printed before the command."""
    return Result(login_shell.said(done.stdout), login_shell.said(done.stderr), done.status)
