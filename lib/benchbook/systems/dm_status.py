"""What `dm-ctl` prints, as a small model. It exits with 0 even when a command was refused: the JSON has to be read.

Two things of DM 1.0.7 to know. `syncerBinlog` is the checkpoint that was last flushed (every 30 s by default, and only
when an event arrives), not how far the task has come: `synced` turns true up to a minute after the last row was
applied. `pause-task` flushes at once. And DM's relay log renames files: `mysql-bin|000001.000002` is the upstream's
`mysql-bin.000002`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from benchbook.errors import OutputNotParseable, SystemFailed, WorkloadFailed
from benchbook.hosts.about import Json
from benchbook.systems.mysql import BinlogPosition

_LONGEST_MESSAGE = 400
# What gRPC says of who does not answer; dm-ctl prints it as it is, and ends with status 0.
_NO_MASTER = "rpc error: code = Unavailable"
_POSITION = re.compile(r"\((?P<file>.*), (?P<offset>\d+)\)")
_RELAY_SUFFIX = re.compile(r"\|\d+(?=\.\d+$)")
# Some messages carry a Go stack: it begins with the first package path on a line of its own.
_STACK = re.compile(r"\n[\w.-]+\.\w+/.*", re.DOTALL)


class CommandRefused(SystemFailed):
    """DM's master or worker did not do what dm-ctl asked for; carries DM's own message."""


class MasterUnreachable(CommandRefused):
    """dm-ctl has no answer from dm-master: it is down, or it is starting."""


class WorkerUnreachable(CommandRefused):
    """dm-master has no answer from the worker: it is down, or it is starting."""


class UnknownTask(CommandRefused):
    """dm-master knows of no such task."""


class TaskPaused(WorkloadFailed):
    """DM has paused the task, or its relay log, with an error; carries DM's own messages."""


@dataclass(frozen=True)
class Status:
    """One task on its worker. Fields that only one unit has are None in the others.

    stage is New, Running, Paused, Stopped or Finished; unit is Check, Dump, Load or Sync. Bytes of a load are those of
    its data files. Events are row changes applied. Positions: upstream, last flushed checkpoint, relay log.
    """

    stage: str
    unit: str
    errors: tuple[str, ...]
    relay_stage: str
    relay_errors: tuple[str, ...]
    relay_position: BinlogPosition | None
    relay_caught_up: bool
    loaded_bytes: int | None = None
    load_bytes: int | None = None
    events: int | None = None
    upstream: BinlogPosition | None = None
    checkpoint: BinlogPosition | None = None
    synced: bool | None = None

    @property
    def progress(self) -> float | None:
        """Share of a load that is done, 0 to 1."""
        return self.loaded_bytes / self.load_bytes if self.load_bytes and self.loaded_bytes is not None else None

    @property
    def where(self) -> str:
        """How far the task is, in words that change when it moves; of a dump DM tells nothing but that it runs."""
        loaded = f", {self.loaded_bytes} of {self.load_bytes} B loaded" if self.loaded_bytes is not None else ""
        return f"unit {self.unit}, stage {self.stage}{loaded}"

    def check(self) -> None:
        """Raises TaskPaused when an error has stopped the task or its relay log. A pause by request is no error."""
        if said := [*self.errors, *(f"relay log: {each}" for each in self.relay_errors)]:
            raise TaskPaused(f"DM paused the task in unit {self.unit}: {' | '.join(dict.fromkeys(said))}")


def parse(text: str) -> Status:
    """`dm-ctl query-status TASK`. Raises OutputNotParseable, and CommandRefused or a kind of it."""
    answer = _answer(text)
    workers = answer.get("workers") or []
    if not answer["result"] or not workers:
        raise _refusal(str(answer.get("msg", "")))
    if len(workers) > 1:
        raise OutputNotParseable(f"a task on {len(workers)} workers: only tasks with one upstream are read here")
    return _status(workers[0])


def confirm(text: str) -> None:
    """The answer to start-, stop-, pause-, resume-task. Raises CommandRefused if any part of it says no."""
    answer = _answer(text)
    for part in (answer, *_parts(answer)):
        if not part["result"]:
            raise _refusal(str(part.get("msg", "")), part.get("worker"))


def position(text: str) -> BinlogPosition | None:
    """`(mysql-bin|000001.000002, 4711)` as the upstream's position; None while DM has none yet, which is `(, 4)`."""
    match = _POSITION.fullmatch(text)
    if not match:
        raise OutputNotParseable(f"{text!r} is no binlog position")
    return BinlogPosition(_RELAY_SUFFIX.sub("", match["file"]), int(match["offset"])) if match["file"] else None


def _answer(text: str) -> Json:
    try:
        answer = json.loads(text)
    except json.JSONDecodeError as problem:
        if _NO_MASTER in text:
            raise MasterUnreachable(f"dm-master does not answer: {' '.join(_short(text).split())}") from problem
        raise OutputNotParseable(f"dm-ctl printed no JSON: {text.strip()[:_LONGEST_MESSAGE]!r}") from problem
    if not isinstance(answer, dict) or "result" not in answer:
        raise OutputNotParseable(f"dm-ctl's answer has no result: {text.strip()[:_LONGEST_MESSAGE]!r}")
    return answer


def _parts(answer: Json) -> Iterator[Json]:
    """The workers' answers: start-task has them plain, the other commands under `meta`."""
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
        return Status(**_of_task(tasks[0]), **_of_relay(worker["relayStatus"]))
    except (KeyError, TypeError, ValueError) as problem:
        raise OutputNotParseable(f"the status of a task lacks {problem}: {json.dumps(tasks[0])[:400]}") from problem


def _of_task(task: Json) -> Json:
    common = {"stage": task["stage"], "unit": task["unit"], "errors": _errors(task["result"])}
    if load := task.get("load"):
        return {**common, "loaded_bytes": int(load["finishedBytes"]), "load_bytes": int(load["totalBytes"])}
    if sync := task.get("sync"):
        places = {"upstream": position(sync["masterBinlog"]), "checkpoint": position(sync["syncerBinlog"])}
        return {**common, **places, "events": int(sync["totalEvents"]), "synced": sync["synced"]}
    return common


def _of_relay(relay: Json) -> Json:
    return {
        "relay_stage": relay["stage"],
        "relay_errors": _errors(relay["result"]),
        "relay_position": position(relay["relayBinlog"]),
        "relay_caught_up": relay["relayCatchUpMaster"],
    }


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
