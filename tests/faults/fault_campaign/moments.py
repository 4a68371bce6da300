"""The moments of a run at which something is broken, each told by a sign that the run itself gives: never by a clock.

Signs are the files of a run: its progress, the folders of its jobs on the hosts, what they have printed, the records.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fault_campaign import catalogue, process_table
from fault_campaign.catalogue import Fault, Phase
from fault_campaign.home import CLIENT, SERVER, RoundHome

LOAD_JOB, PREPARE_JOB, SERVER_JOB, PROBE_JOB = "sysbench", "prepare", "mariadb", "probe-host"


class RunSigns:
    """What can be seen of the run that began when this was made; older runs' signs do not count."""

    def __init__(self, home: RoundHome) -> None:
        self.home = home
        self._before = {*home.path.glob("tmp/*/progress.jsonl")}
        self._old_jobs = {*home.lab.glob("*/*/work/jobs/*")}
        self._old_attempts = {*_attempts(home)}

    def jobs(self, host: str, name: str) -> list[Path]:
        """Folders of the jobs of this name that were started, oldest first."""
        pids = (self.home.work(host) / "jobs").glob(f"{name}-*/pid")
        started: list[tuple[int, Path]] = []
        for pid in pids:
            # A run removes while we look.
            with suppress(FileNotFoundError):
                started.append((pid.stat().st_mtime_ns, pid.parent))
        return [folder for _, folder in sorted(started) if folder not in self._old_jobs]

    def printed(self, host: str, name: str, words: str) -> bool:
        """Has the latest job of this name printed these words?"""
        for folder in self.jobs(host, name)[-1:]:
            return words in _text(folder / "stdout")
        return False

    def ended(self, host: str, name: str) -> bool:
        """Has the latest job of this name ended?"""
        return any((folder / "status.json").exists() for folder in self.jobs(host, name)[-1:])

    def kernel(self) -> bool:
        """Does the run's kernel run? It is looked for once the file is there that tells it whom to speak with."""
        told = any(True for _ in self.home.path.glob("tmp/tmp*.json"))
        return told and any("ipykernel_launcher" in one.words for one in process_table.of_folder(self.home.path))

    def logged_in(self) -> bool:
        """Has the run logged in to both hosts, and made the folder for its jobs there?"""
        return all((self.home.work(host) / "jobs").is_dir() for host in (CLIENT, SERVER))

    def progress(self) -> list[dict[str, object]]:
        """What the run has said of its progress so far."""
        lines = [line for path in self._told() for line in _text(path).splitlines()]
        return [json.loads(line) for line in lines if line.endswith("}")]

    def step(self) -> str:
        """The step that the run has named last, read off the end of its progress."""
        for path in self._told():
            with suppress(FileNotFoundError), path.open("rb") as source:
                source.seek(max(0, path.stat().st_size - 2000))
                last = source.read().decode(errors="replace").splitlines()[-1:]
                return "".join(last).partition('"step": "')[2].partition('"')[0]
        return ""

    def _told(self) -> list[Path]:
        return [path for path in self.home.path.glob("tmp/*/progress.jsonl") if path not in self._before]

    def records(self) -> int:
        """How many trials are recorded."""
        whole = self.home.runs.glob("*/*/trials/*/record.json")
        return sum(not path.parent.name.endswith(".partial") for path in whole)

    def being_written(self) -> bool:
        """Is a record half written?"""
        return any(True for _ in self.home.runs.glob("*/*/trials/*.partial"))

    def failed(self) -> bool:
        """Has an attempt at a trial of this run failed? It is on record before the run tries again."""
        new = any(path not in self._old_attempts for path in _attempts(self.home))
        return new or any(said.get("failed") for said in self.progress())


@dataclass(frozen=True)
class Moment:
    """A moment of a phase: the sign, asked with the number of records to wait for, and the processes that are there.

    A `brief` one is over within milliseconds.
    """

    name: str
    sign: Callable[[RunSigns, int], bool]
    alive: tuple[str, ...]
    brief: bool = False

    def has(self, fault: Fault) -> bool:
        """Is what the fault is done to there at this moment?"""
        return not fault.target or fault.target in self.alive


_ALWAYS = (catalogue.DRIVER, catalogue.SSHD)
_RUNNING = (*_ALWAYS, catalogue.KERNEL, catalogue.SSHD_SESSION)
_SERVING = (*_RUNNING, catalogue.SERVER, catalogue.SUPERVISOR)


def moments(phase: Phase) -> tuple[Moment, ...]:
    """The moments of a phase, in their order."""
    return _MOMENTS[phase]


def _loading(signs: RunSigns, records: int) -> bool:
    """Does a load run after so many records?"""
    begun = signs.records() >= records and len(signs.jobs(CLIENT, LOAD_JOB)) > records
    return begun and not signs.ended(CLIENT, LOAD_JOB)


def _prepared(signs: RunSigns) -> bool:
    return any(True for _ in (signs.home.work(SERVER) / "mariadb" / "datasets").glob("*.partial"))


def _writing(signs: RunSigns, records: int) -> bool:
    """Is the record after so many half written? Who looks too late, on a busy machine, sees that it just was."""
    return (signs.records() >= records and signs.being_written()) or signs.records() > records


_CONNECT = (
    Moment("the command has started", lambda signs, _: True, _ALWAYS),
    Moment("the kernel has started", lambda signs, _: signs.kernel(), (*_ALWAYS, catalogue.KERNEL)),
    Moment("both hosts are reached", lambda signs, _: signs.logged_in(), _RUNNING),
)
_PREPARE = (
    Moment("the server's first folder is made", lambda s, _: (s.home.work(SERVER) / "mariadb/data").exists(), _RUNNING),
    Moment("the first server has started", lambda signs, _: bool(signs.jobs(SERVER, SERVER_JOB)), _SERVING),
    Moment(
        "sysbench fills the tables",
        lambda signs, _: bool(signs.jobs(CLIENT, PREPARE_JOB)),
        (*_SERVING, catalogue.GENERATOR),
        brief=True,
    ),
    Moment("the filled data is set aside", lambda signs, _: _prepared(signs), _RUNNING),
)
_RESET = (
    Moment(
        "the second block is begun",
        lambda signs, records: signs.records() >= records and "starting state" in signs.step(),
        (*_RUNNING, catalogue.PROBE),
    ),
    Moment(
        "the server of the second block has started",
        lambda signs, records: signs.records() >= records and len(signs.jobs(SERVER, SERVER_JOB)) > 2,
        (*_SERVING, catalogue.PROBE),
    ),
)
_LOAD = (
    Moment(
        "the load has started",
        _loading,
        (*_SERVING, catalogue.PROBE, catalogue.GENERATOR),
    ),
    Moment(
        "the load has told its first second",
        lambda signs, records: _loading(signs, records) and signs.printed(CLIENT, LOAD_JOB, "[ 1s ]"),
        (*_SERVING, catalogue.PROBE, catalogue.GENERATOR),
    ),
)
_WRITE = (
    Moment(
        "the load has ended",
        lambda signs, records: len(signs.jobs(CLIENT, LOAD_JOB)) > records and signs.ended(CLIENT, LOAD_JOB),
        (*_SERVING, catalogue.PROBE),
    ),
    Moment("the record is being written", _writing, (*_SERVING, catalogue.PROBE), brief=True),
)
_MOMENTS: dict[Phase, tuple[Moment, ...]] = {
    "connect": _CONNECT,
    "prepare": _PREPARE,
    "reset": _RESET,
    "load": _LOAD,
    "write": _WRITE,
}


def _attempts(home: RoundHome) -> Iterable[Path]:
    return home.runs.glob("*/*/failed/*/record.json")


def _text(path: Path) -> str:
    """Empty where the file is not there, or not any more: a run removes while we look."""
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return ""
