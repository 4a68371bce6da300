"""The logins at one host: one that stays open for commands and files, more where a host allows that one too little."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import fabric
import paramiko
from invoke.exceptions import CommandTimedOut

from benchbook.errors import ConnectionLost, RemoteFailed
from benchbook.hosts import first_look, login_shell
from benchbook.hosts.connection import LOST, hang_up, open_connection
from benchbook.hosts.file_channel import NoSession, no_session, open_sftp

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.inventory import Inventory
    from benchbook.hosts.remote_host import RemoteHost


@dataclass(frozen=True)
class Result:
    """What a command left: its output as text, and its exit status."""

    stdout: str
    stderr: str
    status: int


class Logins:
    """Opens on first use; may be used from several threads.

    sshd allows so many sessions per connection (MaxSessions, 10 unless set). Where they run out, files take a login of
    their own from then on, and a command that finds no session takes one for itself.
    """

    def __init__(self, host: RemoteHost) -> None:
        self._host, self.name = host, host.name
        self.lock = threading.RLock()
        self._main: fabric.Connection | None = None
        self._sftp: paramiko.SFTPClient | None = None
        self._files_only: fabric.Connection | None = None
        self._files_apart = False

    @property
    def inventory(self) -> Inventory:
        return self._host.inventory

    def main(self) -> fabric.Connection:
        """The login that stays open, made if need be. Raises HostUnusable."""
        with self.lock:
            if self._main is None or not self._main.is_connected:
                hang_up(self._main)
                self._main, self._sftp = open_connection(self.inventory, self.name), None
            return self._main

    @property
    def is_open(self) -> bool:
        return self._main is not None

    def close(self) -> None:
        with self.lock:
            hang_up(self._files_only)
            hang_up(self._main)
            self._main = self._files_only = self._sftp = None

    def look(self, root: str) -> str:
        """See that the host has what any run needs; returns the kit's folder there, an absolute path.

        Raises HostUnusable for what is missing.
        """
        done = self._anyhow(first_look.script(root), 60.0)
        if not login_shell.ran(done.stdout):
            raise first_look.no_shell(self.inventory, self.name, done.stdout + done.stderr)
        try:
            seen = first_look.Seen.parse(login_shell.said(done.stdout))
        except (KeyError, ValueError) as problem:
            raise RemoteFailed(self.name, "look.sh", done.status, done.stderr or done.stdout) from problem
        first_look.check(self.inventory, self.name, seen)
        with self.lock:
            self.files().stat(seen.root)
        return seen.root

    # -- commands -----------------------------------------------------------------------------------------------

    def run(self, command: str, timeout: float) -> Result:
        """Run a shell command to its end. Raises ConnectionLost, and RemoteFailed when its time is up."""
        return _own_words(self._anyhow(command, timeout))

    def run_apart(self, command: str, timeout: float) -> Result:
        """Like `run`, by a login of its own that ends with it."""
        return _own_words(self._by_own_login(command, timeout))

    def _anyhow(self, command: str, timeout: float) -> Result:
        try:
            return self._over(self.main(), command, timeout)
        except NoSession:
            self._put_files_apart()
        return self._by_own_login(command, timeout)

    def _by_own_login(self, command: str, timeout: float) -> Result:
        connection = open_connection(self.inventory, self.name)
        try:
            return self._over(connection, command, timeout)
        except NoSession as problem:
            raise first_look.no_sessions(self.inventory, self.name) from problem
        finally:
            hang_up(connection)

    def _over(self, connection: fabric.Connection, command: str, timeout: float) -> Result:
        line = login_shell.words(command)
        try:
            done = connection.run(line, hide=True, warn=True, in_stream=False, pty=False, timeout=timeout)
        except CommandTimedOut as problem:
            raise RemoteFailed(self.name, command, None, f"no end within {timeout:g} s") from problem
        except LOST as problem:
            if no_session(problem, connection):
                raise NoSession(self.name) from problem
            raise ConnectionLost(f"{self.name}: the connection broke during `{command}`: {problem!r}") from problem
        return Result(done.stdout, done.stderr, done.exited)

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
                return open_sftp(self.main(), self.inventory, self.name)
            except NoSession:
                self._files_apart = True
        hang_up(self._files_only)
        self._files_only = open_connection(self.inventory, self.name)
        try:
            return open_sftp(self._files_only, self.inventory, self.name)
        except NoSession as problem:
            raise first_look.no_sessions(self.inventory, self.name) from problem

    def _put_files_apart(self) -> None:
        """Leave the sessions of the main login to commands."""
        with self.lock:
            if self._sftp is not None and not self._files_apart:
                self._sftp.close()
                self._sftp = None
            self._files_apart = True


def _own_words(done: Result) -> Result:
    """Without what the login shell printed before the command."""
    return Result(login_shell.said(done.stdout), login_shell.said(done.stderr), done.status)
