"""A campaign: all trials of a design, run to the end, resumable; kept in `data/runs/<report>/<campaign>/`.

plan.json          what was asked for, the seed, and every trial in its run order; written first
environment.json   host facts, what was waived, systems with versions and configurations
trials/            the records that are whole          failed/   one record per failed attempt
"""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from benchbook import paths, record
from benchbook.design import Trial, blocks, digest
from benchbook.errors import BadInput, BenchbookError, TrialFailed
from benchbook.experiment import Experiment, Measurement
from benchbook.hosts.jobs import JobLost
from benchbook.hosts.remote_host import ConnectionLost
from benchbook.progress import Listener, Tracker
from benchbook.record import Failure, Record

# What may go wrong in one trial without ending the campaign; everything else is a defect or the user's to mend.
SURVIVABLE = (TrialFailed, JobLost, ConnectionLost)
# A system that did not come up so many times in a row will not come up for the rest of the plan either.
BEGIN_TRIES = 3


class CampaignStopped(BenchbookError):
    """The system under test does not come up: going on would only fail every trial that is left."""


class Campaign:
    """The files of one campaign. Only reading and writing; `run` below drives it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.id = folder.name
        self.plan: dict[str, Any] = json.loads((folder / "plan.json").read_text())
        self.report: str = self.plan["report"]
        self.trials = [Trial.model_validate(trial) for trial in self.plan["trials"]]

    @property
    def asked(self) -> dict[str, Any]:
        asked: dict[str, Any] = self.plan["asked"]
        return asked

    def records(self) -> list[Record]:
        """Whole records of planned trials, in run order."""
        wanted = {trial.id: trial.identity for trial in self.trials}
        return [r for r in record.load_all(self.folder / "trials") if wanted.get(r.id) == r.identity]

    def failures(self) -> list[Record]:
        """The last failed attempt of each trial that has no whole record."""
        done = {r.id for r in self.records()}
        attempts = record.load_all(self.folder / "failed")
        # By number: as text, attempt 10 comes before attempt 9.
        last = {r.id.rpartition(".")[0]: r for r in sorted(attempts, key=lambda r: int(r.id.rpartition(".")[2]))}
        return sorted((r for name, r in last.items() if name not in done), key=lambda r: r.order)

    def missing(self) -> list[Trial]:
        done = {r.id for r in self.records()}
        return [trial for trial in self.trials if trial.id not in done]

    def series(self, trial: str) -> pd.DataFrame:
        return record.load_series(self.folder / "trials" / trial)

    def keep(self, done: Record, series: pd.DataFrame, output: str) -> None:
        """Keep a record; a failed attempt goes beside the whole ones, under its own number."""
        if done.status == "done":
            record.save(self.folder / "trials", done, series, output)
            return
        attempts = len(list((self.folder / "failed").glob(f"{done.id}.*")))
        record.save(self.folder / "failed", done.model_copy(update={"id": f"{done.id}.{attempts + 1}"}), series, output)

    def extend(self, trials: Sequence[Trial]) -> None:
        """Add trials to the plan; how many were planned at first stays on record as `planned`."""
        whole = [*self.trials, *trials]
        first = self.plan.get("planned", len(self.trials))
        self.plan = {**self.plan, "planned": first, "trials": [trial.model_dump() for trial in whole]}
        _write(self.folder / "plan.json", self.plan)
        self.trials = whole

    def environment(self) -> dict[str, Any]:
        path = self.folder / "environment.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def note(self, **about: Any) -> None:
        """Add to environment.json."""
        _write(self.folder / "environment.json", {**self.environment(), **about})


def _write(path: Path, value: Any) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(value, indent=1, default=str))
    partial.rename(path)


def start_or_continue(report: str, asked: dict[str, Any], trials: Sequence[Trial], *, seed: int) -> Campaign:
    """The latest campaign that was asked for the same and is not finished, else a new one, whose plan is written."""
    what = digest([asked, [trial.identity for trial in trials]])
    for folder in sorted(paths.runs_dir(report).glob(f"*-{what}"), reverse=True):
        campaign = Campaign(folder)
        if campaign.missing():
            return campaign
    folder = paths.runs_dir(report) / f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{what}"
    folder.mkdir(parents=True)
    plan = {"version": 1, "report": report, "seed": seed, "asked": asked, "made": datetime.now(UTC).isoformat()}
    _write(folder / "plan.json", {**plan, "trials": [trial.model_dump() for trial in trials]})
    return Campaign(folder)


def recorded(report: str = "*") -> list[Path]:
    """Folders of campaigns with a whole record, of one report or of all, oldest first: an id begins with its time."""
    plans = paths.runs_dir(report).parent.glob(f"{report}/*/plan.json")
    folders = [plan.parent for plan in plans if any(plan.parent.glob("trials/*/record.json"))]
    return sorted(folders, key=lambda folder: folder.name)


def latest(report: str, which: str = "") -> Campaign:
    """The campaign of this id, or the latest that has a record; for replay. Raises BadInput when there is none."""
    folders = sorted(plan.parent for plan in paths.runs_dir(report).glob("*/plan.json"))
    chosen = [folder for folder in folders if folder.name == which] if which else recorded(report)
    if not chosen:
        raise BadInput(
            "no recorded campaign to replay", file=paths.runs_dir(report), key="campaign", value=which,
            fix=f"run it first (`make report REPORT={report}`), or name one of {[f.name for f in folders]}",
        )  # fmt: skip
    return Campaign(chosen[-1])


@contextmanager
def _alone(inventory: str) -> Iterator[None]:
    """One campaign at a time on an inventory, from this machine; the lock goes with the process that holds it."""
    path = paths.home() / "data" / "runs" / f".lock-{inventory}"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as problem:
            raise BadInput(
                "another campaign is running on these hosts", file=path, key="inventory", value=inventory,
                fix="wait for its end or interrupt it",
            ) from problem  # fmt: skip
        yield


def run(campaign: Campaign, experiment: Experiment, listen: Listener) -> None:
    """Run every trial of the plan that has no whole record yet. A failed trial is recorded; the rest goes on."""
    todo = campaign.missing()
    tracker = Tracker(listen, total=len(campaign.trials), done=len(campaign.trials) - len(todo))
    if not todo:
        tracker.finish()
        return
    began = time.time()
    with _alone(campaign.asked["inventory"]), experiment.running() as environment:
        _same_hosts(campaign, environment)
        campaign.note(**environment)
        for block in blocks(todo):
            _run_block(campaign, experiment, block, tracker)
    campaign.note(runs=[*campaign.environment().get("runs", []), {"began": began, "ended": time.time()}])
    tracker.finish()


def _run_block(campaign: Campaign, experiment: Experiment, block: list[Trial], tracker: Tracker) -> None:
    """After a failed trial the state of the system is unknown: the rest of the block begins anew."""
    fresh, unable = False, 0
    for index, trial in enumerate(block):
        tracker.trial(trial.id, experiment.expected_s(trial))
        try:
            if not fresh:
                unable += 1
                about = experiment.begin(block[index:], tracker.say)
                _note_systems(campaign, about)
                fresh, unable = True, 0
            measured = experiment.measure(trial, tracker.rate)
            campaign.keep(_done(campaign, trial, measured), measured.series, measured.output)
            tracker.ended(ok=True)
        except SURVIVABLE as problem:
            fresh = False
            campaign.keep(_failed(campaign, trial, problem), pd.DataFrame(), getattr(problem, "output", ""))
            tracker.ended(ok=False, why=str(problem))
            if unable == BEGIN_TRIES:
                raise CampaignStopped(
                    f"{trial.cell.system} did not come up {unable} times in a row: {problem}"
                ) from problem


def _same_hosts(campaign: Campaign, environment: dict[str, Any]) -> None:
    """Trials of one campaign are pooled: they must come from the same machines."""
    before, now = campaign.environment().get("hosts", {}), environment.get("hosts", {})
    for name, facts in before.items():
        for key in ("cpu_model", "cores", "memory_bytes", "kernel"):
            if name in now and now[name].get(key) != facts.get(key):
                raise _other("host", f"{name}.{key}", now[name].get(key), facts.get(key), campaign)


def _note_systems(campaign: Campaign, about: dict[str, Any]) -> None:
    """Keep what a system is; another version than the one that the campaign began with is refused."""
    before = campaign.environment().get("systems", {})
    for name, system in about.items():
        if name in before and before[name].get("version") != system.get("version"):
            raise _other("system", f"{name}.version", system.get("version"), before[name].get("version"), campaign)
    campaign.note(systems={**before, **about})


def _other(what: str, key: str, now: Any, before: Any, campaign: Campaign) -> BadInput:
    return BadInput(
        f"the unfinished campaign was begun on another {what} ({before!r})", file=campaign.folder, key=key, value=now,
        fix="finish it there, or remove its folder (or change `seed`) to begin a new one",
    )  # fmt: skip


def _common(campaign: Campaign, trial: Trial) -> dict[str, Any]:
    return {
        "id": trial.id, "identity": trial.identity, "report": campaign.report, "campaign": campaign.id,
        "table": trial.cell.table, "system": trial.cell.system, "levels": trial.cell.levels,
        "repetition": trial.repetition, "order": trial.order, "asked": campaign.asked,
    }  # fmt: skip


def _done(campaign: Campaign, trial: Trial, m: Measurement) -> Record:
    return Record(
        **_common(campaign, trial), status="done", command=m.command, client=m.client, started=m.started,
        ended=m.ended, exit_status=m.exit_status, summary=m.summary, histogram=m.histogram, proof=m.proof,
    )  # fmt: skip


def _failed(campaign: Campaign, trial: Trial, problem: BenchbookError) -> Record:
    tail = getattr(problem, "output", "").strip().splitlines()[-10:]
    why = Failure(kind=type(problem).__name__, message=str(problem), tail=tail)
    return Record(**_common(campaign, trial), status="failed", failure=why)
