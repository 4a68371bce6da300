"""The Python of the client host that has this kit: it runs our own transfer, loads the data set and proves the copy."""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchbook import paths
from benchbook.errors import HostUnusable, SystemFailed, TrialFailed
from benchbook.hosts.about import Json
from benchbook.hosts.agent import LONGEST_S, Command, Job
from benchbook.hosts.fanout import together
from benchbook.hosts.host import Host
from benchbook.hosts.lab_host import has_account
from benchbook.hosts.session import Session
from benchbook.systems.mongo import MongoServer
from mongo_transfer.settings import MongoEndpoint

PROGRAM = "benchbook-python"
# Of the data set, on both servers.
DATABASE = "ddt"
# The word that a reader waits for, in its job's folder.
_WHEN = "when"
# What a tool does to the documents takes seconds for a million; what hangs must not hang the campaign.
_LEAST_S, _PER_DOCUMENT_S = 600.0, 0.002


def python(host: Host) -> str:
    """Its path there: named by the inventory, or in a lab the driver's own. Raises HostUnusable if it lacks the kit."""
    inventory = host.inventory
    program = python_path(host)
    words = [f"{key}={value}" for key, value in environment(host).items()]
    asked = host.run(["env", *words, program, "-c", "import mongo_transfer.command"], check=False)
    if asked.exited != 0:
        raise HostUnusable(
            f"this Python on host {host.name} cannot run the transfer",
            file=inventory.file,
            key=f"programs.{PROGRAM}",
            value=program,
            fix="on that host make a virtual environment, `pip install` this project into it, and name "
            f"its python under `programs: {{{PROGRAM}: ...}}`",
        )
    return program


def environment(host: Host) -> dict[str, str]:
    """A lab's hosts are this machine: they take the kit, and its packages, from where the driver has them."""
    places = [str(Path(paths.__file__).parents[1]), sysconfig.get_path("purelib")]
    return {"PYTHONPATH": os.pathsep.join(places)} if host.inventory.lab else {}


def longest_s(documents: int) -> float:
    """How long a tool may take over so many documents."""
    return _LEAST_S + _PER_DOCUMENT_S * documents


def tool(session: Session, host: Host, name: str, server: MongoEndpoint, *options: object, within_s: float) -> Json:
    """`python -m mongo_transfer.tools NAME` on the host, for the data set's database on this server.

    Returns the JSON it prints, {} without any. Raises SystemFailed with its last words.
    """
    with session.following(host, f"tool-{name}", _command(host, name, server, options, within_s)) as job:
        return _printed(job, name)


@contextmanager
def reader(session: Session, host: Host, server: MongoEndpoint, *, within_s: float) -> Iterator[Callable[[], Json]]:
    """The tool `digest`, started and held until its result is asked for.

    Of the proof of a small copy a third is this start. What is yielded reads the server, which may take
    `within_s`, and returns what `tool` does.
    """
    command = _command(host, "digest", server, ["--when", f"{{job}}/{_WHEN}"], LONGEST_S)
    with session.following(host, "tool-reader", command) as job:

        def read() -> Json:
            until = time.monotonic() + within_s

            def look() -> None:
                if time.monotonic() > until:
                    raise SystemFailed(f"the data set was not read back within {within_s:g} s")

            job.leave(_WHEN)
            return _printed(job, "digest", look)

        yield read


def _command(host: Host, name: str, server: MongoEndpoint, options: Sequence[object], timeout_s: float) -> Command:
    secrets = {"password": server.password} if server.password else {}
    files = ["--password-file", "{job}/password"] if secrets else []
    where = ["--url", server.url, "--database", DATABASE]
    argv = [python_path(host), "-m", "mongo_transfer.tools", name, *where, *options, *files]
    return Command(argv, timeout_s=timeout_s, env=environment(host), secrets=secrets)


def _printed(job: Job, name: str, on_look: Callable[[], None] = lambda: None) -> Json:
    ended = job.wait(every_s=0.1, on_look=on_look)
    if outside := ended.from_outside(f"{name} of the data set on {job.host.name}"):
        raise SystemFailed(outside)
    if ended.exit != 0:
        said = job.stderr().strip()[-500:] or f"ended with {ended.exit}"
        raise SystemFailed(f"{name} of the data set: {said}")
    stdout = job.stdout().decode(errors="replace")
    found: Json = json.loads(stdout) if stdout.strip() else {}
    return found


def python_path(host: Host) -> str:
    """As `python`, without asking the host again."""
    # Root's own Python may lie where the account that runs root's labs cannot reach it.
    own = host.inventory.lab and not has_account()
    return host.inventory.programs.get(PROGRAM, sys.executable if own else "python3")


# -- the proof --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Held:
    """What a server held: its collections by namespace, and when they were read (s since the epoch)."""

    collections: dict[str, Json]
    at: float

    @property
    def documents(self) -> int:
        return sum(int(each["documents"]) for each in self.collections.values())


@dataclass
class EqualSides:
    """Source and target of `documents` documents, read back by the client host."""

    session: Session
    client: Host
    source: MongoServer
    target: MongoServer
    documents: int
    # Of the source, and what it weighed then.
    _held: Held | None = field(init=False, default=None)
    _weight: int = field(init=False, default=0)

    def reader(self) -> AbstractContextManager[Callable[[], Json]]:
        """What reads the target back once its copy is over, started while there is none yet."""
        return reader(self.session, self.client, self.target.endpoint, within_s=longest_s(self.documents))

    def prove(self, output: str, read_target: Callable[[], Json]) -> Json:
        """The evidence, for a record. Raises TrialFailed with the engine's `output` on any difference."""
        before = self._held
        source, target = together(self._source, lambda: _held(time.time(), read_target()))
        if source is before and source.collections != target.collections:
            source = self._held = self._read_source()
        names = sorted({*source.collections, *target.collections})
        found = [
            {"namespace": name, "source": source.collections.get(name), "target": target.collections.get(name)}
            for name in names
        ]
        wrong = [each["namespace"] for each in found if each["source"] != each["target"]]
        if wrong or source.documents != self.documents:
            raise TrialFailed(
                f"source and target differ after the transfer ({', '.join(map(str, wrong)) or 'in number'}); the "
                f"source holds {source.documents} of {self.documents} documents",
                output=output + json.dumps(found),
            )
        return {"agrees": True, "documents": source.documents, "collections": found, "source_read": source.at}

    def _source(self) -> Held:
        weight = self.source.weigh()
        # Nobody knows whether a server that tells no weight is written to.
        if self._held is None or not weight or weight != self._weight:
            self._held, self._weight = self._read_source(), weight
        return self._held

    def _read_source(self) -> Held:
        """Every collection of it, read whole. Raises SystemFailed."""
        within_s = longest_s(self.documents)
        return _held(time.time(), tool(self.session, self.client, "digest", self.source.endpoint, within_s=within_s))


def _held(at: float, found: Json) -> Held:
    return Held({each["namespace"]: each for each in found["collections"]}, at)
