"""Long commands on a host: detached from the connection, supervised there, alive only while their lease is renewed."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_exponential

from benchbook.errors import ConnectionLost, HostUnusable, JobLost

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost

# What stands as long as a session (servers, settings) outlives many trials; its job still has an end, in case all else
# fails.
LONGEST_S = 7 * 86_400


@dataclass(frozen=True)
class Command:
    """A long command. `secrets` are files (name -> content), mode 600, in the job's folder, removed at its end."""

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
    host over), timeout. `cpu_s`: user and system time that
    the command used, with those of its children that it waited for.
    """

    reason: str
    exit: int | None
    signal: int | None
    started: float
    ended: float
    cpu_s: float = 0.0


class Job:
    """A command that runs on a host. Made by `start`."""

    def __init__(self, host: RemoteHost, folder: str, supervisor: str) -> None:
        self.host, self.folder, self._supervisor = host, folder, supervisor

    @classmethod
    def start(
        cls, host: RemoteHost, name: str, command: Command, lease: str, fence: Mapping[str, object] | None = None
    ) -> Job:
        """Start `command` on `host` under the lease file `lease`; returns once it runs.

        `fence` names the reservation that it lives by as well. Raises ReservationLost when that is another's.
        """
        supervisor = host.push(remote_program("hosts", "supervise.py"))
        folder = host.path("jobs", f"{name}-{uuid.uuid4().hex[:8]}")
        host.make_folder(folder)
        for secret, content in command.secrets.items():
            host.write(f"{folder}/{secret}", content)
        host.write(f"{folder}/job.json", json.dumps(_description(host, command, folder, lease, fence)))
        said = host.start(["python3", supervisor, "start", folder]).stdout
        if said.strip() == "refused":
            host.still_ours()
            raise JobLost(f"{host.name}: `{name}` was refused: the host is reserved for another driver")
        return cls(host, folder, supervisor)

    def status(self) -> Ended | None:
        """None while it runs. Raises ReservationLost when it ended so and another driver has a host of the session."""
        text = self.host.read(f"{self.folder}/status.json")
        ended = Ended(**json.loads(text)) if text else None
        if ended and ended.reason in ("lease", "reservation"):
            self.host.still_ours()
        return ended

    def stdout(self, offset: int = 0) -> bytes:
        return self.host.read(f"{self.folder}/stdout", offset=offset)

    def stderr(self) -> str:
        return self.host.read(f"{self.folder}/stderr").decode(errors="replace")

    def wait(
        self, *, on_output: Callable[[bytes], None] = lambda _: None, every_s: float = 0.25, expected_s: float = 0.0
    ) -> Ended:
        """Follow the job to its end, passing on what it prints; goes on after lost connections.

        On a small machine looking costs the load something. So it looks once a second until `expected_s` have passed;
        without them, after every twentieth of the time that has passed, and at least once a second.

        Raises JobLost when the host stays out of reach for longer than the lease.
        """
        offset, began = 0, time.monotonic()
        patient = Retrying(
            retry=retry_if_exception_type((ConnectionLost, HostUnusable)),
            stop=stop_after_delay(self.host.inventory.ssh.lease_s),
            wait=wait_exponential(0.2, max=3),
            reraise=True,
        )
        while True:
            try:
                ended, fresh = patient(self._look, offset)
            except (ConnectionLost, HostUnusable) as problem:
                raise JobLost(f"{self.host.name}: out of reach for longer than the lease: {problem}") from problem
            if fresh:
                offset += len(fresh)
                on_output(fresh)
            if ended:
                return ended
            passed = time.monotonic() - began
            time.sleep(max(every_s, min(1.0, expected_s - passed if passed < expected_s else passed / 20)))

    def _look(self, offset: int) -> tuple[Ended | None, bytes]:
        """Status first: what is printed before the end is then surely in the output that is read after it."""
        ended = self.status()
        return ended, self.stdout(offset)

    def stop(self, *, timeout: float = 60.0) -> Ended | None:
        """End the job and wait for its end; its status, or None if the supervisor itself was killed."""
        self.host.run(["python3", self._supervisor, "stop", self.folder], timeout=timeout)
        return self.status()

    def leave(self, name: str) -> None:
        """Put an empty file into the job's folder: a word to a program that looks for it."""
        self.host.write(f"{self.folder}/{name}", "")

    def fetch(self, name: str, local: Path) -> None:
        self.host.fetch(f"{self.folder}/{name}", local)

    def remove(self) -> None:
        """Its folder is no longer needed: it goes before the connection closes."""
        self.host.discard(self.folder)


def _description(
    host: RemoteHost, command: Command, folder: str, lease: str, fence: Mapping[str, object] | None
) -> dict[str, object]:
    return {
        "argv": [str(word).replace("{job}", folder) for word in command.argv],
        "env": dict(command.env),
        "cwd": command.cwd,
        "cpus": list(host.host.cpus),
        "lease": lease,
        "fence": fence,
        "lease_s": host.inventory.ssh.lease_s,
        "grace_s": command.grace_s,
        "timeout_s": command.timeout_s,
        "secret_files": list(command.secrets),
    }


def remote_program(package: str, name: str) -> Path:
    """A program of ours that runs on hosts, as a file to push."""
    return Path(str(resources.files(f"benchbook.{package}.remote").joinpath(name)))


def reap(host: RemoteHost, own_lease: str, displaced: Iterable[tuple[str, str]] = ()) -> list[str]:
    """End the jobs that a driver which is gone left on `host`; returns their names.

    `displaced` are folders of jobs, each with the lease of a driver whose reservation was taken over.

    Raises HostUnusable when another driver is at work there: two loads on one host measure neither.
    """
    supervisor = host.push(remote_program("hosts", "supervise.py"))
    words = ["python3", supervisor, "reap", host.path("jobs"), own_lease, *chain.from_iterable(displaced)]
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
