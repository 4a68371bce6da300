"""Long commands on a host: detached from the connection, supervised there, alive only while their lease is renewed."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from benchbook.errors import ConnectionLost, HostUnreachable, HostUnusable, RemoteFailed
from benchbook.hosts import disk_room
from benchbook.hosts.disk_room import NO_SPACE, READ_ONLY
from benchbook.hosts.patience import patient

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.open_command import OpenCommand
    from benchbook.hosts.remote_host import RemoteHost

# What stands as long as a session (servers, settings) outlives many trials; its job still has an end, in case all else
# fails.
LONGEST_S = 7 * 86_400

_IN_JOB = "{job}/"

# What the supervisor imports is Python's own: without looking for packages of the host it starts in half the time.
BARE = "-S"

# A job that does not begin within so many seconds has failed to.
_STARTED_S = 30.0
# An end takes its grace, and so many seconds at most besides.
_ENDED_S = 60.0
# Its rates are looked for so often where its end is heard.
_HEARD_S = 1.0

# Why a job has ended that did not end by itself, in words. The last three are said of a supervisor that left no word:
# one whose disk took none, and one that was killed.
UNSUPERVISED = "unsupervised"
_UNTOLD = (NO_SPACE, READ_ONLY, UNSUPERVISED)
_FROM_OUTSIDE = {
    "lease": "{} was ended by its host: its lease had run out, for no driver renewed it",
    "reservation": "{} was ended by its host: another driver has reserved it since",
    "timeout": "{} was ended by its host: it took longer than it may",
    "stopped": "{} was stopped from outside",
    NO_SPACE: "{} has ended: no space is left on its host's disk",
    READ_ONLY: "{} has ended: its host's disk is read-only",
    UNSUPERVISED: "the supervisor of {} was killed",
}


@dataclass(frozen=True)
class Command:
    """A long command. `secrets` are files (name -> content), mode 600, in the job's folder, removed at its end.

    `{job}` in `argv` is that folder, and so it is at the beginning of `cwd`: a folder in it is made.
    """

    argv: Sequence[object]
    timeout_s: float
    grace_s: float = 3.0
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    secrets: Mapping[str, str] = field(default_factory=dict)

    @property
    def typed(self) -> str:
        """The command line as somebody would type it, without the folder that the job runs in."""
        return " ".join(map(str, self.argv)).replace(_IN_JOB, "")


@dataclass(frozen=True)
class Ended:
    """How a job ended. `started` and `ended` are seconds since the epoch by the host's clock.

    `reason`: exited (by itself), stopped (asked to), lease (driver gone), reservation (another driver has taken the
    host over), timeout, or one of which nothing else is known: no space, read-only (the disk took no word of its end)
    and unsupervised. `cpu_s`: user and system time that the command used, with those of its children that it waited
    for.
    """

    reason: str
    exit: int | None
    signal: int | None
    started: float
    ended: float
    cpu_s: float = 0.0

    def from_outside(self, who: str) -> str | None:
        """What ended the job, whose name is `who`, in words; None where it ended by itself."""
        return _FROM_OUTSIDE[self.reason].format(who) if self.reason in _FROM_OUTSIDE else None


class Job:
    """A command that runs on a host. Made by `start`. `supervisor`: the words that begin ours there; `pid`: its own."""

    def __init__(
        self,
        host: RemoteHost,
        folder: str,
        supervisor: Sequence[str],
        pid: int,
        heard: OpenCommand | None = None,
        grace_s: float = 3.0,
    ) -> None:
        self.host, self.folder, self._supervisor, self._pid = host, folder, supervisor, pid
        self._heard, self._grace_s = heard, grace_s

    @classmethod
    def start(
        cls,
        host: RemoteHost,
        name: str,
        command: Command,
        lease: str,
        fence: Mapping[str, object] | None = None,
        *,
        heard: bool = False,
    ) -> Job:
        """Start `command` on `host` under the lease file `lease`; returns once it runs.

        `fence` names the reservation that it lives by as well. The login that starts a job which is `heard` stays until
        its end, so that `wait` learns of it at once. Raises ReservationLost when that is another's.
        """
        supervisor = program_on(host, "hosts", "supervise.py")
        folder = host.path("jobs", f"{name}-{uuid.uuid4().hex[:8]}")
        # Its folder is made there, of what is sent along: to start it takes one way to the host and back.
        job = _description(host, command, folder, lease, fence)
        sent = json.dumps({"job": job, "secrets": dict(command.secrets)})
        words = [*supervisor, "start", folder, "-", *(["stay"] if heard else [])]
        try:
            # It may have begun although the connection broke: asked again, the host starts nothing twice.
            opened, said = patient(host)(_begin, host, words, sent)
        except RemoteFailed:
            _call_off(host, supervisor, folder)
            raise
        if said == "refused" or not heard:
            opened.close()
        if said == "refused":
            host.still_ours()
            raise HostUnreachable(f"{host.name}: `{name}` was refused: the host is reserved for another driver")
        return cls(host, folder, supervisor, int(said), opened if heard else None, command.grace_s)

    def status(self) -> Ended | None:
        """None while it runs. A supervisor that was killed, or whose disk is full, leaves no word: that is then all.

        Raises ReservationLost when it ended so and another driver has a host of the session.
        """
        return self._told() or (None if self._supervised_as() else self._told_or_killed())

    def fate(self) -> Ended | None:
        """Like `status`; before its end also, of one that its host has begun to end, why: then `ended` is 0.

        What it served fails before it has ended: it takes the blame by this.
        """
        if told := self._told():
            return told
        named = self._supervised_as()
        if named not in _FROM_OUTSIDE:
            return None if named else self._told_or_killed()
        self._still_ours(named)
        return Ended(named, None, None, 0, 0)

    def _told_or_killed(self) -> Ended:
        return self._told() or self._untold()

    def _told(self) -> Ended | None:
        text = self.host.read(f"{self.folder}/status.json")
        ended = Ended(**json.loads(text)) if text else None
        if ended:
            self._still_ours(ended.reason)
        return ended

    def _untold(self) -> Ended:
        """How a job ended whose supervisor left no word: was there room for one?"""
        reason = disk_room.lacking(self.host, self.folder) or UNSUPERVISED
        return Ended(reason, None, None, 0, 0)

    def _still_ours(self, reason: str) -> None:
        if reason in ("lease", "reservation"):
            self.host.still_ours()

    def _supervised_as(self) -> str:
        """What its supervisor calls itself, "" where none runs: one that has ended and is not collected yet does not.

        proc(5): field 2 of `stat`, in parentheses, then the state.
        """
        name, _, state = self.host.read_process(self._pid, "stat").decode().rpartition(") ")
        return name.partition(" (")[2] if state and state[0] not in "ZX" else ""

    def stdout(self, offset: int = 0) -> bytes:
        return self.host.read(f"{self.folder}/stdout", offset=offset)

    def stderr(self) -> str:
        return self.host.read(f"{self.folder}/stderr").decode(errors="replace")

    def wait(
        self,
        *,
        on_output: Callable[[bytes], None] = lambda _: None,
        on_look: Callable[[], None] = lambda: None,
        every_s: float = 0.25,
        expected_s: float = 0.0,
    ) -> Ended:
        """Follow the job to its end, passing on what it prints; goes on after lost connections.

        On a small machine looking costs the load something. So it looks once a second until `expected_s` have passed;
        without them, after every twentieth of the time that has passed, and at least once a second. `on_look` is
        called each time that the job is found running: what it raises ends the wait, and not the job.

        Raises HostUnreachable when the host stays out of reach for longer than the lease.
        """
        offset, began = 0, time.monotonic()
        while True:
            over = self._heard is None or self._heard.over.is_set()
            ended, fresh = patient(self.host)(self._look, offset)
            if fresh:
                offset += len(fresh)
                on_output(fresh)
            if ended:
                return ended
            on_look()
            passed = time.monotonic() - began
            self._rest(over, max(every_s, min(1.0, expected_s - passed if passed < expected_s else passed / 20)))

    def _rest(self, over: bool, seconds: float) -> None:
        """Until the next look; not longer than until the job's end is heard. Who hears need not look so often.

        Was it `over` before the last look, and the job is not, the login is gone: then only looking tells.
        """
        if over or self._heard is None:
            time.sleep(seconds)
        else:
            self._heard.over.wait(max(seconds, _HEARD_S))

    def _look(self, offset: int) -> tuple[Ended | None, bytes]:
        """Status first: what is printed before the end is then surely in the output that is read after it."""
        ended, fresh = self._told(), self.stdout(offset)
        if ended or fresh or self._supervised_as():
            return ended, fresh
        # One that has left its word did so just now: the next look reads the rest of the output.
        killed = self.status()
        return (killed if killed and killed.reason in _UNTOLD else None), fresh

    def stop(self, *, at_once: bool = False, within_s: float = 0.0) -> Ended | None:
        """End the job and wait for its end; how it ended. `at_once`: by SIGKILL, without its grace.

        `within_s`: what it writes at its end is wanted, and may take so long where that is longer than its grace.
        """
        how = ["kill"] if at_once else ["finish", within_s] if within_s else ["stop"]
        words = [*self._supervisor, *how, self.folder]
        patient(self.host)(self.host.run, words, timeout=max(within_s, self._grace_s) + _ENDED_S)
        return self.status()

    def leave(self, name: str) -> None:
        """Put an empty file into the job's folder: a word to a program that looks for it."""
        self.host.write(f"{self.folder}/{name}", "")

    def ask(self) -> None:
        """Send SIGUSR1 to the command, which is one that listens for it. One that has ended hears nothing."""
        group = json.loads(self.host.read(f"{self.folder}/pid"))["group"]
        self.host.run(["kill", "-s", "USR1", "--", f"-{group}"], check=False)

    def fetch(self, name: str, local: Path) -> None:
        self.host.fetch(f"{self.folder}/{name}", local)

    def remove(self) -> None:
        """Its folder is no longer needed: it goes before the connection closes."""
        self.hang_up()
        self.host.discard(self.folder)

    def hang_up(self) -> None:
        """Nobody listens for its end any more; the job goes on."""
        if self._heard is not None:
            self._heard.close()


def _begin(host: RemoteHost, words: Sequence[object], sent: str) -> tuple[OpenCommand, str]:
    opened = host.start(words, sent=sent)
    return opened, opened.first_line(_STARTED_S)


def _call_off(host: RemoteHost, supervisor: Sequence[str], folder: str) -> None:
    """Of a start that was not heard of in time, the job may begin later, beside another trial: it is not to."""
    # What keeps a host from starting a job may keep it from this as well; the failed start is told.
    with suppress(RemoteFailed, ConnectionLost):
        host.run([*supervisor, "never", folder])


def _description(
    host: RemoteHost, command: Command, folder: str, lease: str, fence: Mapping[str, object] | None
) -> dict[str, object]:
    return {
        "argv": [_placed(str(word), folder) for word in command.argv],
        "env": dict(command.env),
        "cwd": _placed(command.cwd, folder) if command.cwd else None,
        "cpus": list(host.host.cpus),
        "lease": lease,
        "fence": fence,
        "lease_s": host.inventory.ssh.lease_s,
        "grace_s": command.grace_s,
        "timeout_s": command.timeout_s,
        "secret_files": list(command.secrets),
    }


def _placed(text: str, folder: str) -> str:
    return text.replace("{job}", folder)


def remote_program(package: str, name: str) -> Path:
    """A program of ours that runs on hosts, as a file to push."""
    return Path(str(resources.files(f"benchbook.{package}.remote").joinpath(name)))


def program_on(host: RemoteHost, package: str, name: str) -> list[str]:
    """The words that begin a program of ours on a host, which has it now; its arguments follow."""
    program = host.push(remote_program(package, name))
    return [host.python, BARE, program]


def reap(host: RemoteHost, own_lease: str, displaced: Iterable[tuple[str, str]] = ()) -> list[str]:
    """End the jobs that a driver which is gone left on `host`; returns their names.

    `displaced` are folders of jobs, each with the lease of a driver whose reservation was taken over.

    Raises HostUnusable when another driver is at work there: two loads on one host measure neither.
    """
    supervisor = program_on(host, "hosts", "supervise.py")
    words = [*supervisor, "reap", host.path("jobs"), own_lease, *chain.from_iterable(displaced)]
    found = json.loads(host.run(words, timeout=host.inventory.ssh.lease_s + 120).stdout)
    if found["held"]:
        raise HostUnusable(
            "another run is using this host",
            file=host.inventory.file,
            key=f"hosts.{host.name}",
            value=found["held"][0],
            fix="wait for its end, or stop it",
        )
    ended: list[str] = found["ended"]
    return ended
