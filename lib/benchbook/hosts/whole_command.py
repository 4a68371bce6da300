"""A command that is run to its end over a login that stays: what it printed, and its exit status.

By the channel itself, in the caller's thread. invoke's runner, which Fabric's `run` uses, copies its configuration and
starts three threads for each command: 2 ms of CPU, which of the commands around a load, and on many hosts, add up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchbook.errors import BenchbookError

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    import fabric
    import paramiko

# What paramiko says of a command that left no status: it was ended by a signal, or the connection is gone.
NO_STATUS = -1
_CHUNK_B = 1 << 15
# Nobody waits for one output alone for longer: the other one may be full.
_LOOKS_S = 0.2


class OutOfTime(BenchbookError):
    """The command has not ended in time; its channel is closed."""


@dataclass(frozen=True)
class Result:
    """What a command left: its output as text, and its exit status."""

    stdout: str
    stderr: str
    status: int


def run(connection: fabric.Connection, line: str, timeout: float) -> Result:
    """Have the login shell read `line`; nothing is sent to its stdin, and not its end either.

    sshd hangs up the whole connection where the end of stdin comes for a channel that it has closed, as it may have of
    a command as short as mkdir: paramiko sends it without looking (seen once in some thousand commands).

    Raises OutOfTime, and what hang_up.LOST lists where no channel is to be had; one that breaks leaves NO_STATUS.
    """
    channel: paramiko.Channel
    with closing(connection.transport.open_session()) as channel:
        channel.settimeout(_LOOKS_S)
        channel.exec_command(line)
        heard = _Heard(channel, timeout)
        while heard.more(channel.recv, heard.output):
            # A command whose other output is full waits for somebody to read it.
            heard.take_complaints()
        while heard.more(channel.recv_stderr, heard.complaints):
            pass
        return Result(_text(heard.output), _text(heard.complaints), heard.status())


class _Heard:
    """What has come of a command by now. A driver that stood still has waited for the length of one look alone."""

    def __init__(self, channel: paramiko.Channel, timeout: float) -> None:
        self.output, self.complaints = bytearray(), bytearray()
        self._channel, self._timeout, self._left = channel, timeout, timeout

    def more(self, receive: Callable[[int], bytes], heard: bytearray) -> bool:
        """Wait for more of one output, a look long; False once there is no more to come. Raises OutOfTime."""
        began = time.monotonic()
        try:
            data = receive(_CHUNK_B)
        except TimeoutError:
            data = None
        heard += data or b""
        self._waited(began)
        return data != b""

    def take_complaints(self) -> None:
        """What has come on stderr by now, without a wait."""
        while self._channel.recv_stderr_ready():
            self.complaints += self._channel.recv_stderr(_CHUNK_B)

    def status(self) -> int:
        """It comes after the end of both outputs, at once but for a command that closes them and goes on."""
        while not self._channel.status_event.is_set():
            began = time.monotonic()
            self._channel.status_event.wait(_LOOKS_S)
            self._waited(began)
        return self._channel.recv_exit_status()

    def _waited(self, began: float) -> None:
        self._left -= min(_LOOKS_S, time.monotonic() - began)
        if self._left <= 0:
            raise OutOfTime(f"no end within {self._timeout:g} s")


def _text(heard: bytes | bytearray) -> str:
    return heard.decode(errors="replace")
