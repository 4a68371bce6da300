"""A program by a login of its own that is heard while it runs: its first line at once, and its end when it comes."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchbook.errors import ConnectionLost, RemoteFailed
from benchbook.hosts import first_look, login_shell
from benchbook.hosts.file_channel import no_session
from benchbook.hosts.hang_up import LOST, hang_up

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    import fabric
    import paramiko

    from benchbook.hosts.inventory import Inventory

_CHUNK_B = 1 << 15
# Who waits for a line looks so often at least.
_LOOKS_S = 1.0


class OpenCommand:
    """Runs a program over `connection`, which is this program's alone and ends with it; `sent` goes to its stdin.

    `over` is set when the program has ended, or its connection broke. Raises ConnectionLost, and HostUnusable where the
    login may run nothing.
    """

    def __init__(
        self, connection: fabric.Connection, inventory: Inventory, name: str, argv: Sequence[object], sent: str = ""
    ) -> None:
        self.over = threading.Event()
        self._connection, self._name, self._command = connection, name, login_shell.quote(argv)
        self._heard, self._printed, self._status = threading.Condition(), bytearray(), -1
        try:
            self._channel = self._begun(inventory, argv, sent)
        except BaseException:
            hang_up(connection)
            raise
        threading.Thread(target=self._listen, name="open-command", daemon=True).start()

    def _begun(self, inventory: Inventory, argv: Sequence[object], sent: str) -> paramiko.Channel:
        try:
            channel: paramiko.Channel = self._connection.transport.open_session()
            channel.exec_command(login_shell.program(argv))
            if sent:
                channel.sendall(sent.encode())
            channel.shutdown_write()
        except LOST as problem:
            if no_session(problem, self._connection):
                raise first_look.no_sessions(inventory, self._name) from problem
            broke = f"{self._name}: the connection broke during `{self._command}`: {problem!r}"
            raise ConnectionLost(broke) from problem
        return channel

    def first_line(self, timeout: float) -> str:
        """Its first line, without the end of it.

        Raises RemoteFailed where it ended without one or took too long, ConnectionLost where the connection did.
        """
        with self._heard:
            self._await_line(timeout)
            said, end, _ = self._said().partition(b"\n")
        if end:
            return said.decode(errors="replace").strip()
        raise self._silent(timeout)

    def _await_line(self, timeout: float) -> None:
        """A wait that lasted longer, for the driver itself stood still, counts no more than it was to last."""
        left = timeout
        while left > 0 and b"\n" not in self._said() and not self.over.is_set():
            began, short = time.monotonic(), min(_LOOKS_S, left)
            self._heard.wait(short)
            left -= min(short, time.monotonic() - began)

    def close(self) -> None:
        """Hang up, without waiting for it; what it has started goes on."""
        # Who listens may have hung up first, or the connection has broken: it is gone, as it should be.
        with contextlib.suppress(*LOST):
            self._channel.close()

    def _said(self) -> bytes:
        """What the command has printed so far, without what its login shell printed before."""
        text = self._printed.decode(errors="replace")
        return login_shell.said(text).encode() if login_shell.ran(text) else b""

    def _listen(self) -> None:
        try:
            while data := self._channel.recv(_CHUNK_B):
                with self._heard:
                    self._printed += data
                    self._heard.notify_all()
            # It comes after the end of what is printed; of a connection that broke it is -1.
            self._status = self._channel.recv_exit_status()
        finally:
            with self._heard:
                self.over.set()
                self._heard.notify_all()
            # A goodbye takes a tenth of a second, and nobody needs it.
            hang_up(self._connection)

    def _silent(self, timeout: float) -> RemoteFailed | ConnectionLost:
        if not self.over.is_set():
            self.close()
            return RemoteFailed(self._name, self._command, None, f"no word within {timeout:g} s")
        if self._status < 0:
            return ConnectionLost(f"{self._name}: the connection broke during `{self._command}`")
        return RemoteFailed(self._name, self._command, self._status, login_shell.said(_rest(self._channel)))


def _rest(channel: paramiko.Channel) -> str:
    """What it complained of, once it has ended."""
    parts = []
    while channel.recv_stderr_ready():
        parts.append(channel.recv_stderr(_CHUNK_B))
    return b"".join(parts).decode(errors="replace")
