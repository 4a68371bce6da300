"""Long commands on a host: run there by the kit's agent, detached from the connection, ended with the reservation.

The host's side is `remote/agent.py`.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

from benchbook.errors import ConnectionLost, HostUnreachable, RemoteFailed
from benchbook.hosts.host import Host, retrying
from benchbook.hosts.preflight import NO_SPACE, READ_ONLY
from benchbook.hosts.timeouts import ENDED_WITHIN_S, LIVENESS_EVERY_S, STARTED_WITHIN_S

# What the agent imports is Python's own: without looking for packages of the host it starts in half the time.
WITHOUT_SITE = "-S"

UNSUPERVISED = "unsupervised"
# Why a job has ended that did not end by itself. The last three are said of a supervisor that left no word.
_FROM_OUTSIDE = {
    "lease": "{} was ended by its host: its lease had run out, for no driver renewed it "
    "(this driver or that host's sshd stood still, or the network was cut)",
    "reservation": "{} was ended by its host: another driver has reserved it since",
    "timeout": "{} was ended by its host: it took longer than it may",
    "stopped": "{} was stopped from outside",
    NO_SPACE: "{} has ended: no space is left on its host's disk",
    READ_ONLY: "{} has ended: its host's disk is read-only",
    UNSUPERVISED: "the supervisor of {} was killed",
}


def remote_program(package: str, name: str) -> Path:
    """Return a program of ours that runs on hosts, as a file to push."""
    return Path(str(resources.files(f"benchbook.{package}.remote").joinpath(name)))


def program_on(host: Host, package: str, name: str) -> list[str]:
    """Return the words that begin a program of ours on a host, which has it now; its arguments follow."""
    program = host.push(remote_program(package, name))
    return [host.python, WITHOUT_SITE, program]


def agent_on(host: Host) -> list[str]:
    """Return the words that begin the agent on a host; a verb follows."""
    return program_on(host, "hosts", "agent.py")


def utc(when: float) -> str:
    """Return seconds since the epoch for a reader."""
    return f"{datetime.fromtimestamp(when, UTC):%Y-%m-%d %H:%M:%S} UTC"


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
        return " ".join(map(str, self.argv)).replace("{job}/", "")


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
    started: float = 0.0
    ended: float = 0.0
    cpu_s: float = 0.0

    def from_outside(self, who: str) -> str | None:
        """Return what ended the job, whose name is `who`, in words; None where it ended by itself."""
        return _FROM_OUTSIDE[self.reason].format(who) if self.reason in _FROM_OUTSIDE else None


class Job:
    """A command that runs on a host. Made by `start`."""

    def __init__(self, host: Host, folder: str, agent: Sequence[str], pid: int, began: str, grace_s: float) -> None:
        self.host, self.folder, self._agent = host, folder, agent
        self._pid, self._began, self._grace_s = pid, began, grace_s

    @classmethod
    def start(cls, host: Host, name: str, command: Command, session: str, lease: str) -> Job:
        """Start `command` on `host` under the reservation file `lease` of a session; return once it runs.

        Raise ReservationLost when the host is another driver's.
        """
        agent = retrying(host)(agent_on, host)
        folder = host.path("jobs", f"{name}-{uuid.uuid4().hex[:8]}")
        job = {
            "argv": [str(word).replace("{job}", folder) for word in command.argv],
            "env": dict(command.env),
            "cwd": command.cwd.replace("{job}", folder) if command.cwd else None,
            "cpus": list(host.host.cpus),
            "session": session,
            "lease": lease,
            "lease_s": host.inventory.ssh.lease_s,
            "grace_s": command.grace_s,
            "timeout_s": command.timeout_s,
            "secret_files": list(command.secrets),
        }
        request = json.dumps({"job": job, "secrets": dict(command.secrets)})
        try:
            # It may have begun although the connection broke: asked again, the host starts nothing twice.
            said = retrying(host)(_begin, host, agent, folder, request)
        except RemoteFailed:
            # It may begin later, beside another trial: it is not to. What keeps a host from starting a job may keep it
            # from this as well; the failed start is told.
            with suppress(RemoteFailed, ConnectionLost):
                host.run([*agent, "stop", folder])
            raise
        if said == "refused":
            host.check_reservation()
            raise HostUnreachable(f"{host.name}: `{name}` was refused: the host is reserved for another driver")
        pid, began = said.split()
        return cls(host, folder, agent, int(pid), began, command.grace_s)

    def status(self) -> Ended | None:
        """Return how the job ended; None while it runs.

        A supervisor that was killed, or whose disk is full, leaves no word: that is then all that is said. Raise
        ReservationLost when it ended because another driver has a host of the session.
        """
        return self._recorded() or (None if self._supervisor_runs() else self._recorded() or self._unrecorded())

    def ended_or_ending(self) -> Ended | None:
        """Like `status`; of a job that its host has begun to end, also why: then `ended` is 0.

        What it served fails before it has ended: it takes the blame by this.
        """
        if ended := self.status():
            return ended
        ending = self.host.read(f"{self.folder}/ending")
        return self._said({"reason": json.loads(ending), "exit": None, "signal": None}) if ending else None

    def _recorded(self) -> Ended | None:
        text = self.host.read(f"{self.folder}/status.json")
        return self._said(json.loads(text)) if text else None

    def _said(self, about: Mapping[str, Any]) -> Ended:
        if about["reason"] in ("lease", "reservation"):
            self.host.check_reservation()
        return Ended(**about)

    def _unrecorded(self) -> Ended:
        return Ended(self.host.disk_refuses(self.folder) or UNSUPERVISED, None, None)

    def _supervisor_runs(self) -> bool:
        """Whether the process of this number began when the supervisor did (proc(5): state, and field 22 of `stat`)."""
        said = self.host.run(["cat", f"/proc/{self._pid}/stat"], check=False).stdout
        fields = said.rpartition(") ")[2].split()
        return len(fields) > 19 and fields[0] not in "ZX" and fields[19] == self._began

    def stdout(self, offset: int = 0) -> bytes:
        return self.host.read(f"{self.folder}/stdout", offset=offset)

    def stderr(self) -> str:
        return self.host.read(f"{self.folder}/stderr").decode(errors="replace")

    def wait(
        self,
        *,
        on_output: Callable[[bytes], None] = lambda _: None,
        on_look: Callable[[], None] = lambda: None,
        every_s: float = 0.1,
        expected_s: float = 0.0,
    ) -> Ended:
        """Follow the job to its end, passing on what it prints; goes on after lost connections.

        On a small machine looking costs the load something. So it looks once a second until `expected_s` have passed,
        and every `every_s` from then on. `on_look` is called each time that the job is found running: what it raises
        ends the wait, and not the job.

        Raise HostUnreachable when the host stays out of reach for longer than the lease.
        """
        offset, began, alive = 0, time.monotonic(), time.monotonic()
        while True:
            # Status first: what is printed before the end is then surely in the output that is read after it.
            ended = retrying(self.host)(self._recorded)
            fresh = retrying(self.host)(self.stdout, offset)
            if fresh:
                offset, alive = offset + len(fresh), time.monotonic()
                on_output(fresh)
            if ended:
                return ended
            if time.monotonic() - alive > LIVENESS_EVERY_S:
                ended, alive = retrying(self.host)(self.status), time.monotonic()
                if ended and ended.reason in (NO_SPACE, READ_ONLY, UNSUPERVISED):
                    return ended
            on_look()
            left = expected_s - (time.monotonic() - began)
            time.sleep(max(every_s, min(1.0, left)))

    def stop(self, *, at_once: bool = False, within_s: float = 0.0) -> Ended | None:
        """End the job and wait for its end; return how it ended. `at_once`: by SIGKILL, without its grace.

        `within_s`: what it writes at its end is wanted, and may take so long where that is longer than its grace.
        """
        words = ["kill", self.folder] if at_once else ["stop", self.folder, within_s]
        retrying(self.host)(
            self.host.run, [*self._agent, *words], timeout=max(within_s, self._grace_s) + ENDED_WITHIN_S
        )
        return self.status()

    def fetch(self, name: str, local: Path) -> None:
        self.host.get(f"{self.folder}/{name}", local)

    def remove(self) -> None:
        """Have its folder, which is no longer needed, removed before the connection closes."""
        self.host.discard(self.folder)


def _begin(host: Host, agent: Sequence[str], folder: str, request: str) -> str:
    host.write(f"{folder}.json", request)
    return host.run_apart([*agent, "start", folder], timeout=STARTED_WITHIN_S).stdout.strip()


@dataclass(frozen=True)
class Stop:
    """A job stood still on `host`: its command (somebody stopped it), or only its supervisor.

    `job` is its name, `folder` that of its folder. `began` and `ended` are seconds since the epoch, in the time of the
    host's samples; `ended` is None while it still stands, and where it was killed before it went on.
    """

    host: str
    job: str
    folder: str
    what: str
    began: float
    ended: float | None

    def __str__(self) -> str:
        who = self.job if self.what == "command" else f"the supervisor of {self.job}"
        until = f" until {utc(self.ended)}" if self.ended else " and has not gone on"
        return f"{who} on {self.host} was stopped at {utc(self.began)}{until}"


def stops(host: Host, session: str) -> list[Stop]:
    """Return all that the jobs of this session have stood still on a host so far, as the agent wrote it down."""
    data = host.read(host.path("jobs", f"{session}.stops"))
    # Of a line that is being written, or that a full disk cut short, only a part is there.
    whole = [line for line in data.decode().splitlines() if line.endswith("}")]
    return stops_in(host.name, whole)


def stops_in(host: str, lines: Iterable[str]) -> list[Stop]:
    """Return the lines of one host's file, each command's "stopped" and "continued" put together."""
    found: list[Stop] = []
    standing: dict[str, int] = {}
    for line in lines:
        event = json.loads(line)
        folder, at = event["job"], event["t"]
        job = folder.rpartition("-")[0]
        if event["state"] == "late":
            found.append(Stop(host, job, folder, "supervisor", at - event["late_s"], at))
        elif event["state"] == "stopped":
            standing[folder] = len(found)
            found.append(Stop(host, job, folder, "command", at, None))
        elif folder in standing:
            begun = standing.pop(folder)
            found[begun] = replace(found[begun], ended=at)
    return found
