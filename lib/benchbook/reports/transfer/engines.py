"""The programs that can move the documents: our own transfer, DDT, and mongodump piped into mongorestore.

Each says how it is started from the levels of a trial, and reads from what it left how much it moved in which time.
"""

from __future__ import annotations

import json
import re
import shlex
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar

from benchbook.build import programs
from benchbook.campaign.design import Levels
from benchbook.errors import BadInput, HostUnusable, OutputNotParseable, WorkloadFailed
from benchbook.hosts.agent import Command
from benchbook.hosts.file_hashes import file_hash
from benchbook.hosts.host import Host
from benchbook.hosts.host_models import Json
from benchbook.reports.transfer import ddt
from benchbook.reports.transfer.client_python import DATABASE, environment, python
from benchbook.systems.base import About
from benchbook.systems.health import last_words
from benchbook.user_input.choices import one_of
from mongo_transfer.settings import MongoEndpoint

_COUNTED = re.compile(
    r"(?:done (?P<dumped>dumping)|finished restoring) (?P<namespace>\S+) \((?P<documents>\d+) documents?[,)]"
)
_TOTAL = re.compile(r"(?P<documents>\d+) document\(s\) restored successfully\. (?P<failures>\d+) document\(s\) failed")

PEER = "mongodump"
# No trial takes longer; a transfer that hangs must not hang the campaign.
LONGEST_S = 12 * 3600


@dataclass(frozen=True)
class CopyCounts:
    """What an engine says of its run: how many documents, and from when until when it copied them.

    `began` and `ended` are seconds since the epoch by its host's clock; None: its program's start, or end. One that is
    not `exact` only knows that it was done by then. `cache_full` is the highest share of the cache in use, `complaint`
    the first error that it told, "" without any.
    """

    documents: int
    began: float | None = None
    ended: float | None = None
    exact: bool = True
    cache_full: float | None = None
    complaint: str = ""
    about: Json = field(default_factory=dict)

    def refuse_part(self, documents: int, who: str) -> None:
        """Raise WorkloadFailed, with the first cause, unless this is how many documents it moved."""
        if self.documents != documents:
            why = f": {self.complaint}" if self.complaint else ""
            raise WorkloadFailed(f"{who} wrote {self.documents:,} of {documents:,} documents{why}")


class Engine(ABC):
    """One way of moving the documents, on the client host."""

    name: str
    # Whether cache and threads are its knobs too: if not, it has one cell.
    has_knobs: ClassVar[bool] = True
    # The file in its job's folder in which it tells, while it runs, how far it is.
    tells = "stdout"
    # With which its program ends when all is copied.
    good_statuses: tuple[int, ...] = (0,)
    # How long it may do nothing once everything is copied.
    idles_s = 0.0
    # What a run takes beside the copying, for the time to go only.
    beside_s = 2.0

    def __init__(self, host: Host) -> None:
        self.host = host

    @abstractmethod
    def install(self) -> None:
        """Raise HostUnusable where its program is missing on the client host."""

    @abstractmethod
    def command(self, levels: Levels, source: MongoEndpoint, target: MongoEndpoint) -> Command: ...

    @abstractmethod
    def read(self, stdout: str, stderr: str) -> CopyCounts:
        """Raise OutputNotParseable or WorkloadFailed."""

    def kept(self, output: str) -> str:
        """Return what of its output may be kept: no documents."""
        return output

    @abstractmethod
    def news(self, told: str) -> set[str]:
        """How far it is, by these lines of what it tells: nothing that it had not told before means that it stands."""

    @abstractmethod
    def about(self) -> About: ...


def secrets(source: MongoEndpoint, target: MongoEndpoint) -> dict[str, str]:
    """Files for the passwords that there are."""
    return {f"{side}_password": e.password for side, e in (("source", source), ("target", target)) if e.password}


class Pymongo(Engine):
    """`mongo_transfer`, with the report's knobs."""

    name = "pymongo"
    tells = "samples"

    def install(self) -> None:
        self.program = python(self.host)

    def command(self, levels: Levels, source: MongoEndpoint, target: MongoEndpoint) -> Command:
        knobs = {
            "--source-threads": levels["source_threads"],
            "--target-threads": levels["target_threads"],
            "--cache-bucket-size": levels["cache_bucket_size"],
            "--cache-bucket-num": levels["cache_bucket_num"],
            "--batch-size": levels["data_batch_size"],
            "--databases": DATABASE,
            "--samples": "{job}/samples",
        }
        hidden = secrets(source, target)
        files = [word for name in hidden for word in (f"--{name.replace('_', '-')}-file", f"{{job}}/{name}")]
        options = [word for pair in knobs.items() for word in pair]
        argv = [self.program, "-m", "mongo_transfer", "--source-url", source.url, "--target-url", target.url]
        return Command(
            [*argv, *options, *files, "--quiet"], timeout_s=LONGEST_S, secrets=hidden, env=environment(self.host)
        )

    def read(self, stdout: str, stderr: str) -> CopyCounts:
        try:
            found = json.loads(stdout)
        except ValueError as problem:
            raise OutputNotParseable(f"the transfer printed no report: {stderr[-300:] or 'no word'}") from problem
        if found["status"] != "complete":
            raise WorkloadFailed(f"the transfer {found['status']}: {found['error']}")
        within = min(found["knobs"]["documents_in_flight_bound"], found["documents"]) or 1
        return CopyCounts(
            found["documents"],
            found["began"],
            found["began"] + found["seconds"],
            cache_full=found["most_documents_in_flight"] / within,
            about=found,
        )

    def news(self, told: str) -> set[str]:
        """Documents so far."""
        return {f"{json.loads(line)['documents']} documents" for line in told.splitlines()}

    def about(self) -> About:
        notes = ("documents pass through undecoded; one process a core, threads divided among the processes",)
        return About(self.name, f"PyMongo {version('pymongo')}", "mongo_transfer", "DDT", notes, (self.host.name,))


class Ddt(Engine):
    """The user's DDT jar. It runs in a folder below its job's: its log files go to `../logs`."""

    name = "ddt"
    # It ends with 1 when it has copied everything, as when it has copied nothing.
    good_statuses = (0, 1)
    # 140 s were seen; before that, it splits for 40 s.
    idles_s = 300.0
    beside_s = 180.0

    def __init__(self, host: Host, jar: str, heap_mb: int) -> None:
        super().__init__(host)
        self.jar, self.heap_mb, self.digest = jar, heap_mb, ""

    def install(self) -> None:
        if self.host.run(["test", "-f", self.jar], check=False).exited != 0:
            fix = "copy it there, and give its absolute path on that host"
            raise HostUnusable(f"DDT's jar is not on host {self.host.name}", key="ddt_jar", value=self.jar, fix=fix)
        self.digest = self.host.run(["sha256sum", "--", self.jar]).stdout.split()[0].lstrip("\\")
        self.java = self.host.require_program("java", package="default-jre-headless")

    def command(self, levels: Levels, source: MongoEndpoint, target: MongoEndpoint) -> Command:
        text = ddt.properties(levels, source, target, rf"{DATABASE}\..+")
        argv = ddt.command(Path(self.jar), Path("{job}/DDT.properties"), heap_mb=self.heap_mb, java=self.java)
        return Command(argv, timeout_s=LONGEST_S, cwd="{job}/run", secrets={"DDT.properties": text})

    def read(self, stdout: str, stderr: str) -> CopyCounts:
        """`end execute task` is needed, and proves nothing: it printed that having written nothing, too."""
        log = ddt.parse(stdout)
        if not log.has_ended:
            why = log.first_cause or last_words(self.kept(stdout + stderr)) or "no word"
            raise WorkloadFailed(f"DDT ended before its work was done, without `end execute task`: {why}")
        if not log.counts:
            raise OutputNotParseable("DDT's log has no line `number of bars written`")
        said = {"errors": log.errors, "errors_in_all": log.errors_in_all, "slowed_itself": log.slowed}
        at = (log.began, log.complete_at())
        return CopyCounts(log.documents, *at, exact=False, complaint=log.first_cause, about=said)

    def kept(self, output: str) -> str:
        return ddt.without_documents(output)

    def news(self, told: str) -> set[str]:
        """Collections split, then documents so far; if the source dies while it splits, it goes on for ever."""
        return ddt.progress(told)

    def about(self) -> About:
        notes = (
            f"heap {self.heap_mb} MB",
            f"a batch holds {ddt.BATCH_EXTRA} documents more than its batchSize",
            "it splits the collections before it copies and idles for two minutes after: both are outside of its rate",
            "it slows itself down while it finds its host busy",
        )
        version = f"{Path(self.jar).name} (sha256 {self.digest[:12]})"
        return About(self.name, version, "DDT", None, notes, (self.host.name,), {"jar_sha256": self.digest})


def check_levels(name: str, levels: Levels) -> None:
    """Raise BadInput for a level that this engine would quietly replace."""
    if name == Ddt.name:
        ddt.check(levels)


class Mongodump(Engine):
    """The peer: mongodump and mongorestore joined by a pipe. It has other knobs, which stay at their defaults."""

    name = PEER
    has_knobs = False
    tells = "stderr"

    def install(self) -> None:
        names = ("mongodump", "mongorestore")
        programs = {name: self.host.inventory.program(name) for name in names}
        found = self.host.which(*programs.values())
        self.dump, self.restore = (found.get(programs[name]) or self._pushed(name) for name in names)

    def _pushed(self, name: str) -> str:
        return self.host.push(programs.artefact("mongo") / name, executable=True)

    def command(self, levels: Levels, source: MongoEndpoint, target: MongoEndpoint) -> Command:
        """A password goes into a file of one line, which the tools read by --config: it is in no list of processes."""
        hidden = {f"{name}.yaml": f"password: {json.dumps(word)}\n" for name, word in secrets(source, target).items()}
        common = ["--archive", f"--numParallelCollections={levels['parallel_collections']}"]
        from_, to = (
            [f"--uri={end.url}", *common, *([f"--config={{job}}/{side}_password.yaml"] if end.password else [])]
            for side, end in (("source", source), ("target", target))
        )
        dump = [self.dump, *from_, f"--db={DATABASE}"]
        batches = ["--numInsertionWorkersPerCollection=1", f"--batchSize={levels['data_batch_size']}"]
        restore = [self.restore, *to, f"--nsInclude={DATABASE}.*", *batches]
        # bash, so that a failure of either program is the pipeline's.
        argv = ["bash", "-c", f"set -o pipefail; {shlex.join(dump)} | {shlex.join(restore)}"]
        return Command(argv, timeout_s=LONGEST_S, secrets=hidden)

    def read(self, stdout: str, stderr: str) -> CopyCounts:
        total = _TOTAL.search(stderr)
        if total is None:
            said = " | ".join(stderr.splitlines()[-3:]) or "no output"
            raise OutputNotParseable(f"mongorestore printed no total: {said}")
        if int(total["failures"]):
            raise WorkloadFailed(f"mongorestore could not write {total['failures']} documents")
        counts: dict[str, dict[str, int]] = {"dumped": {}, "restored": {}}
        for found in _COUNTED.finditer(stderr):
            counts["dumped" if found["dumped"] else "restored"][found["namespace"]] = int(found["documents"])
        return CopyCounts(int(total["documents"]), about=counts)

    def news(self, told: str) -> set[str]:
        """Its lines without their times: how much of which collection."""
        return {line.partition("\t")[2].strip() for line in told.splitlines()}

    def about(self) -> About:
        digest = (
            file_hash(programs.artefact("mongo") / "mongodump")[:12] if programs.is_built("mongo") else "of the host"
        )
        notes = ("for comparison: it has no settings for cache and threads, so it is measured in one cell",)
        return About(
            self.name,
            f"mongo-tools of July 2024 ({digest})",
            "mongodump | mongorestore",
            None,
            notes,
            (self.host.name,),
        )


ENGINES: dict[str, type[Engine]] = {kind.name: kind for kind in (Pymongo, Ddt, Mongodump)}
KNOBS = tuple(name for name, kind in ENGINES.items() if kind.has_knobs)


def names(wanted: list[str], jar: str) -> list[str]:
    """Return the engines of a run: those that are wanted, or all that there are. Raise BadInput for an unknown one."""
    for name in wanted:
        one_of(name, ENGINES, "engines", problem="unknown engine")
        if name == Ddt.name and not jar:
            raise BadInput("DDT's jar is not named", key="ddt_jar", value=jar, fix="give its path on the client host")
    return list(dict.fromkeys(wanted)) or [name for name in ENGINES if jar or name != Ddt.name]


def make(name: str, host: Host, jar: str, heap_mb: int) -> Engine:
    return Ddt(host, jar, heap_mb) if name == Ddt.name else ENGINES[name](host)
