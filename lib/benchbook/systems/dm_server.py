"""DM 1.0: one dm-worker beside its files, one dm-master, and dm-ctl, which is how tasks are told what to do."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from benchbook import paths
from benchbook.build import programs
from benchbook.errors import ConnectionLost, HostUnusable, OutputNotParseable, SystemFailed, WorkloadFailed
from benchbook.hosts.agent import Command, Job
from benchbook.hosts.command_line import quote
from benchbook.hosts.endpoint import Endpoint, at
from benchbook.hosts.fanout import in_parallel
from benchbook.hosts.host import Host
from benchbook.hosts.host_models import Json
from benchbook.hosts.http import UNANSWERED, HttpServer
from benchbook.hosts.session import Session
from benchbook.hosts.timeouts import LONGEST_S
from benchbook.systems import dm_config
from benchbook.systems.base import About
from benchbook.systems.health import await_answer, check_jobs

_LONGEST_MESSAGE = 400
# What gRPC says of who does not answer; dm-ctl prints it as it is, and ends with status 0.
_NO_MASTER = "rpc error: code = Unavailable"
# Some messages carry a Go stack: it begins with the first package path on a line of its own.
_STACK = re.compile(r"\n[\w.-]+\.\w+/.*", re.DOTALL)


class CommandRefused(SystemFailed):
    """DM's master or worker did not do what dm-ctl asked for; carries DM's own message."""


class WorkerUnreachable(CommandRefused):
    """dm-master has no answer from the worker: it is down, or it is starting."""


class UnknownTask(CommandRefused):
    """dm-master knows of no such task."""


class TaskPaused(WorkloadFailed):
    """DM has paused the task, or its relay log, with an error; carries DM's own messages."""


@dataclass(frozen=True)
class Status:
    """One task on its worker: stage (New, Running, Paused, Stopped, Finished) and unit (Check, Dump, Load, Sync).

    Bytes are those of a load's data files; None in other units.
    """

    stage: str
    unit: str
    errors: tuple[str, ...]
    relay_errors: tuple[str, ...]
    loaded_bytes: int | None = None
    load_bytes: int | None = None

    @property
    def where(self) -> str:
        """How far the task is, in words that change when it moves; of a dump DM tells nothing but that it runs."""
        loaded = f", {self.loaded_bytes} of {self.load_bytes} B loaded" if self.loaded_bytes is not None else ""
        return f"unit {self.unit}, stage {self.stage}{loaded}"

    def check(self) -> None:
        """Raise TaskPaused when an error has stopped the task or its relay log. A pause by request is no error."""
        if said := [*self.errors, *(f"relay log: {each}" for each in self.relay_errors)]:
            raise TaskPaused(f"DM paused the task in unit {self.unit}: {' | '.join(dict.fromkeys(said))}")


def parse(text: str) -> Status:
    """`dm-ctl query-status TASK`. Raise OutputNotParseable, and CommandRefused or a kind of it."""
    answer = _answer(text)
    workers = answer.get("workers") or []
    if not answer["result"] or not workers:
        raise _refusal(str(answer.get("msg", "")))
    if len(workers) > 1:
        raise OutputNotParseable(f"a task on {len(workers)} workers: only tasks with one upstream are read here")
    return _status(workers[0])


def confirm(text: str) -> None:
    """The answer to start-, stop-, pause-, resume-task. Raise CommandRefused if any part of it says no."""
    answer = _answer(text)
    for part in (answer, *_parts(answer)):
        if not part["result"]:
            raise _refusal(str(part.get("msg", "")), part.get("worker"))


def _answer(text: str) -> Json:
    try:
        answer = json.loads(text)
    except json.JSONDecodeError as problem:
        if _NO_MASTER in text:
            raise CommandRefused(f"dm-master does not answer: {' '.join(_short(text).split())}") from problem
        raise OutputNotParseable(f"dm-ctl printed no JSON: {text.strip()[:_LONGEST_MESSAGE]!r}") from problem
    if not isinstance(answer, dict) or "result" not in answer:
        raise OutputNotParseable(f"dm-ctl's answer has no result: {text.strip()[:_LONGEST_MESSAGE]!r}")
    return answer


def _parts(answer: Json) -> Iterator[Json]:
    """Yield the workers' answers: start-task has them plain, the other commands under `meta`."""
    for worker in answer.get("workers") or []:
        part = worker.get("meta", worker)
        if "result" not in part:
            raise OutputNotParseable(f"a worker's answer has no result: {json.dumps(worker)[:_LONGEST_MESSAGE]}")
        yield part


def _refusal(message: str, worker: str | None = None) -> CommandRefused:
    said = _short(message)
    where = f"dm-worker {worker}" if worker else "dm-master"
    kind: type[CommandRefused] = CommandRefused
    if "grpc request error" in said:
        kind = WorkerUnreachable
    elif "has no workers or not exist" in said:
        kind = UnknownTask
    return kind(f"{where}: {said or 'refused without a word'}")


def _status(worker: Json) -> Status:
    if not worker["result"]:
        raise _refusal(worker["msg"], worker["worker"])
    tasks = worker["subTaskStatus"]
    if len(tasks) != 1:
        raise UnknownTask(f"dm-worker {worker['worker']}: {worker['msg'] or f'{len(tasks)} tasks in one answer'}")
    try:
        return Status(**_of_task(tasks[0]), relay_errors=_errors(worker["relayStatus"]["result"]))
    except (KeyError, TypeError, ValueError) as problem:
        raise OutputNotParseable(f"the status of a task lacks {problem}: {json.dumps(tasks[0])[:400]}") from problem


def _of_task(task: Json) -> Json:
    common = {"stage": task["stage"], "unit": task["unit"], "errors": _errors(task["result"])}
    load = task.get("load")
    return common | (
        {"loaded_bytes": int(load["finishedBytes"]), "load_bytes": int(load["totalBytes"])} if load else {}
    )


def _errors(result: Json | None) -> tuple[str, ...]:
    """The messages of a unit's result. `msg` is empty where `error` is given; a message may carry a whole INSERT."""
    return tuple(_said(error) for error in (result or {}).get("errors") or [])


def _said(error: Json) -> str:
    detail = error.get("error") or {}
    message, cause = _short(detail.get("Message") or error["msg"]), _short(detail.get("RawCause") or "")
    return message if cause in message else f"{message} ({cause})"


def _short(message: str) -> str:
    bare = _STACK.sub("", message).strip()
    return bare if len(bare) <= _LONGEST_MESSAGE else f"{bare[:_LONGEST_MESSAGE]}..."


# -- the two servers --------------------------------------------------------------------------------------------------


MASTER, WORKER = "dm-master", "dm-worker"
# A worker that has just started is not reached by the master until gRPC has given up backing off.
BACK_OFF_S = 15.0


class DM:
    """DM for one upstream. Not a `System`: it keeps no dataset, what it writes is removed with every trial."""

    name = "dm"
    title = "TiDB Data Migration (DM)"

    def __init__(
        self, session: Session, upstream: Endpoint, target: Endpoint, flavor: Literal["mysql", "mariadb"] = "mariadb"
    ) -> None:
        for end in (upstream, target):
            if not end.password.isascii():
                said, file = "DM cannot log in with this password", session.inventory.file
                fix = "mydumper reads ASCII passwords only: choose another"
                raise HostUnusable(said, file=file, key="systems.*.password", value="not ASCII", fix=fix)
        self.session, self._upstream, self.target, self._flavor = session, upstream, target, flavor
        self._jobs: dict[str, Job] = {}
        # mydumper, behind a wrapper that keeps the password out of the process list.
        self.dump_program = self._ctl = ""

    @property
    def worker(self) -> Host:
        return self.session.with_role(WORKER)[0]

    @property
    def master(self) -> Host:
        return self.session.with_role(MASTER)[0]

    def address(self, role: str) -> str:
        host = self.session.with_role(role)[0]
        return at(host.address, self.session.inventory.port(role))

    @property
    def folder(self) -> str:
        """Everything that the worker writes: relay log, metadata, dumps, its log."""
        return self.worker.path("dm")

    @property
    def metrics_url(self) -> str:
        return f"http://{self.address(WORKER)}/metrics"

    # -- verbs --------------------------------------------------------------------------------------------------

    def install(self) -> None:
        """Raise HostUnusable where mydumper is missing on the worker's host."""
        self._programs = programs.artefact("dm")
        self.worker.require_program("mydumper", package="mydumper")
        self.worker.push(self._programs / WORKER, executable=True)
        self.master.push(self._programs / MASTER, executable=True)
        self._ctl = self.master.push(self._programs / "dm-ctl", executable=True)
        wrapper = paths.find("env", "systems") / "dm" / "mydumper-quiet"
        self.dump_program = self.worker.push(wrapper, executable=True)

    def start(self) -> None:
        """The worker first: a master that finds none backs off for seconds."""
        in_parallel(lambda: self.worker.mkdir(self.folder), lambda: self.master.mkdir(self.master.path("dm-master")))
        self._jobs[WORKER] = self._launch(self.worker, WORKER, self._worker_config())
        # Both may be on one host: the worker has taken the login that was opened there as DM ended.
        await_answer(WORKER, self._knock_at_worker, timeout_s=30)
        self._jobs[MASTER] = self._launch(self.master, MASTER, self._master_config())

    def _launch(self, host: Host, program: str, config: str) -> Job:
        argv = [host.push(self._programs / program, executable=True), "-config", "{job}/config.toml"]
        return self.session.start(host, program, Command(argv, LONGEST_S, secrets={"config.toml": config}))

    def _worker_config(self) -> str:
        return dm_config.render(
            "dm-worker.toml",
            worker_address=self.address(WORKER),
            folder=self.folder,
            upstream=self._upstream,
            flavor=self._flavor,
            # Whether the relay log asks for what follows a set of GTIDs, else for what follows a position: MariaDB's
            # sets are others, and were never asked for here.
            gtid=self._flavor == "mysql",
        )

    def _master_config(self) -> str:
        folder, worker = self.master.path("dm-master"), self.address(WORKER)
        return dm_config.render(
            "dm-master.toml", master_address=self.address(MASTER), worker_address=worker, folder=folder
        )

    def _knock_at_worker(self) -> str | None:
        """Through a tunnel, which starts no program on the host."""
        self.check_alive()
        address, port = self.address(WORKER).rsplit(":", 1)
        try:
            self.worker.check_port(address, int(port))
        except ConnectionLost:
            return "it does not listen"
        return None

    def ready(self) -> None:
        """Return once the master reaches the worker and neither knows a task. Raise SystemFailed."""
        await_answer("DM", self._knock, timeout_s=60)

    def _knock(self) -> str | None:
        self.check_alive()
        try:
            self.ask_worker()
        except UnknownTask:
            return None
        except SystemFailed as problem:
            return str(problem)
        return None

    def metrics(self, beginning: str) -> str:
        """Return the lines of dm-worker's metrics that begin so; "" while it does not answer."""
        port = int(self.session.inventory.port(WORKER) or 0)
        try:
            page = HttpServer(self.worker, self.worker.address, port).ask("/metrics", timeout=5).body
        except UNANSWERED:
            return ""
        return "".join(line for line in page.splitlines(keepends=True) if line.startswith(beginning))

    def stop(self) -> None:
        with ThreadPoolExecutor(max_workers=2, thread_name_prefix="dm") as pool:
            list(pool.map(self._end, list(self._jobs)))

    def _end(self, role: str) -> None:
        job = self._jobs[role]
        self.session.end(job)
        del self._jobs[role]
        job.remove()

    def wipe(self) -> None:
        """With stopped servers: no task, no relay log, no dump, no log is left of what ran before."""
        in_parallel(
            lambda: self.worker.run(["rm", "-rf", "--", self.folder], timeout=300),
            lambda: self.master.run(["rm", "-rf", "--", self.master.path("dm-master")]),
        )

    def check_alive(self) -> None:
        """Raise SystemFailed when one of its servers has ended although nobody asked it to."""
        check_jobs({f"{role} on {job.host.name}": job for role, job in self._jobs.items()})

    def about(self) -> About:
        program = self.worker.push(self._programs / WORKER, executable=True)
        words = self.worker.run([program, "-V"]).stdout.split()
        version = words[words.index("Version:") + 1] if "Version:" in words else words[0]
        dumper = self.worker.run([self.session.inventory.program("mydumper"), "--version"]).stdout.strip()
        notes = (
            "v1.0.7 in place of the published version",
            f"it dumps with {dumper.splitlines()[0]}" if dumper else "it dumps with mydumper",
            "in the first 300 s of every sync it rewrites INSERT to REPLACE and UPDATE to DELETE and REPLACE",
        )
        return About(self.name, version, self.title, None, notes, (self.worker.name, self.master.name))

    # -- tasks --------------------------------------------------------------------------------------------------

    def ctl(self, *words: str) -> str:
        """Return what dm-ctl prints; it ends with status 0 even when it was refused."""
        argv = [self._ctl, "-master-addr", self.address(MASTER), *words]
        return self.master.run(argv, timeout=60, check=False).stdout

    def start_task(self, task: dm_config.Task) -> None:
        """Return when dm-master says that it has begun. Raise CommandRefused with DM's own words."""
        file = self.master.path("dm-master", f"task-{uuid.uuid4().hex[:8]}.yaml")
        self.master.write(file, dm_config.task_file(task))
        # The master may not have found the worker yet.
        patient = Retrying(
            stop=stop_after_delay(BACK_OFF_S),
            wait=wait_fixed(0.2),
            reraise=True,
            retry=retry_if_exception_type(WorkerUnreachable),
        )
        try:
            patient(lambda: confirm(self.ctl("start-task", file)))
        finally:
            self.master.run(["rm", "-f", "--", file])

    def status(self) -> Status:
        """Raise SystemFailed when a server has died, and TaskPaused with DM's words when an error stopped the task."""
        self.check_alive()
        found = self.ask_worker()
        found.check()
        return found

    def ask_worker(self) -> Status:
        """Return what the worker says of its one task, by dm-master, which may not know yet that it has begun.

        Whether its servers live or not. Raise CommandRefused with dm-master's words.
        """
        return parse(self.ctl("query-status", "-w", self.address(WORKER)))

    # -- files --------------------------------------------------------------------------------------------------

    def log(self) -> str:
        """dm-worker's log since the last wipe."""
        return self.worker.read(f"{self.folder}/dm-worker.log").decode(errors="replace")

    def bytes_in(self, what: str) -> int:
        """Return bytes on disk below a folder of the worker's; 0 where there is none."""
        place = quote([f"{self.folder}/{what}"])
        return int(self.worker.run(f"du -sb {place} 2>/dev/null | cut -f1 | grep . || echo 0").stdout)
