"""The files of a campaign: all trials of a design, resumable; kept in `data/runs/<report>/<campaign>/`.

plan.json          what was asked for, the seed, and every trial in its run order; written first
environment.json   host facts, what was waived, systems with versions and configurations
trials/            the records that are whole          failed/   one record per failed attempt
disturbed/         one record per measurement that something interfered with: kept, shown, never counted
trials.parquet     a row per trial (see `analysis.trials`): made of the records, and made anew where one is newer
"""

from __future__ import annotations

import filecmp
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from glob import escape
from pathlib import Path

import pandas as pd

from benchbook import paths
from benchbook.campaign import record
from benchbook.campaign.design import Cell, Plan, PlannedFrom, RunForecast, Trial, conditions_of, digest
from benchbook.campaign.environment import IMPORTED, Asked, Environment
from benchbook.campaign.record import Record, RecordBroken, RecordFolder, file_version, flush, in_short
from benchbook.campaign.scaled_levels import LevelScaling, of_plan
from benchbook.errors import BadInput, writing

# As `start_or_continue` names a campaign: when it was begun, and what was asked for.
_MOMENT = "%Y%m%dT%H%M%S%f"
_ID = re.compile(r"\d{8}T\d{12}-[0-9a-f]+")


class PlanBroken(BadInput):
    """The plan of a campaign cannot be read: nobody knows what it was to measure."""


class Campaign:
    """The files of one campaign. Only reading and writing: `run` drives it. Raise PlanBroken."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.id = folder.name
        self._plan_seen, self._plan = file_version(folder / "plan.json"), _plan(folder / "plan.json")
        self._whole, self._failed = RecordFolder(folder / "trials"), RecordFolder(folder / "failed")
        self._disturbed = RecordFolder(folder / "disturbed")

    def __repr__(self) -> str:
        return f"<Campaign {self.id} of {self.report}: {len(self.done())} of {len(self.trials)} trials done>"

    @property
    def plan(self) -> Plan:
        """What was asked for, and every trial; read anew where another process has added trials. Raise PlanBroken."""
        now = file_version(self.folder / "plan.json")
        # A folder that was removed meanwhile is still known to who holds it.
        if now and now != self._plan_seen:
            self._plan_seen, self._plan = now, _plan(self.folder / "plan.json")
        return self._plan

    @property
    def place_in_time(self) -> tuple[str, str]:
        """Campaigns sorted by it stand oldest first, as `begun` has them."""
        return _moment(self.folder), self.id

    @property
    def report(self) -> str:
        return self.plan.report

    @property
    def trials(self) -> list[Trial]:
        """The trials of the plan, with those that were added."""
        return self.plan.trials

    @property
    def asked(self) -> Asked:
        """The conditions that all trials share."""
        return self.plan.asked

    @property
    def profile(self) -> str:
        """Name of the profile that was asked for; empty where none was."""
        return str(self.asked.get("profile", ""))

    @property
    def inventory(self) -> str:
        """Name of the inventory that it runs on; empty where none was asked for."""
        return str(self.asked.get("inventory", ""))

    @property
    def imported(self) -> bool:
        """Whether it was made of logs, of which nobody knows on what they ran."""
        return IMPORTED in self.asked

    def records(self) -> list[Record]:
        """Whole records of planned trials, in run order."""
        wanted = {trial.id: trial.identity for trial in self.trials}
        return [r for r in self._whole.records() if wanted.get(r.id) == r.identity]

    def done(self) -> set[str]:
        """Ids of the planned trials that have a whole record."""
        found = {record.id: record.identity for record in self._whole.records()}
        return {trial.id for trial in self.trials if found.get(trial.id) == trial.identity}

    def failures(self) -> list[Record]:
        """Return the last failed attempt of each trial that has no whole record."""
        done, attempts = self.done(), self._failed.records()
        # By number: as text, attempt 10 comes before attempt 9.
        last = {r.id.rpartition(".")[0]: r for r in sorted(attempts, key=lambda r: int(r.id.rpartition(".")[2]))}
        return sorted((r for name, r in last.items() if name not in done), key=lambda r: r.order)

    def missing(self) -> list[Trial]:
        done = self.done()
        return [trial for trial in self.trials if trial.id not in done]

    def series(self, trial: str, folder: str = "trials") -> pd.DataFrame:
        """Return what was sampled during a trial; a disturbed trial's are in the `folder` of that name."""
        return record.load_series(self.folder / folder / trial)

    def disturbed(self) -> list[Record]:
        """Measurements that something interfered with, in run order; whoever counts does not ask for these."""
        return self._disturbed.records()

    def attempts(self) -> list[Record]:
        """Return every failed attempt, in run order, those at trials that were measured in the end among them."""
        return self._failed.records()

    def keep(self, done: Record, series: pd.DataFrame, output: str) -> None:
        """Keep a record; a failed attempt and a disturbed one go beside those that count, under their own numbers."""
        if done.status == "done":
            record.save(self.folder / "trials", done, series, output)
            return
        beside = self.folder / done.status
        numbers = (path.name.removeprefix(f"{done.id}.") for path in beside.glob(f"{escape(done.id)}.*"))
        last = max((int(number) for number in numbers if number.isdecimal()), default=0)
        record.save(beside, done.model_copy(update={"id": f"{done.id}.{last + 1}"}), series, output)

    def extend(self, trials: Sequence[Trial], ahead: Sequence[list[Cell]] = ()) -> None:
        """Add a block to the plan, and those that are to follow it; how many were planned at first stays `planned`."""
        self._keep_in_plan(planned=self.planned, trials=[*self.trials, *trials], ahead=list(ahead))

    def keep_forecast(self, made: RunForecast) -> None:
        """Keep with the plan what is known before the first trial."""
        self._keep_in_plan(forecast=made)

    def keep_looks(self, after: Sequence[Sequence[int]]) -> None:
        """Keep with the plan after which repetitions it is compared with the campaign that it takes turns with."""
        self._keep_in_plan(looks_after=list(map(list, after)))

    def _keep_in_plan(self, **changes: object) -> None:
        # Dumped and read anew: a copy would be written with the keys that it had before.
        changed = Plan.model_validate({**self.plan.model_dump(), **changes})
        _write(self.folder / "plan.json", changed.model_dump())

    @property
    def planned(self) -> int:
        """How many trials the plan had at first, before any was added."""
        return len(self.trials) if self.plan.planned is None else self.plan.planned

    @property
    def scaling(self) -> LevelScaling | None:
        """Which level stands for which published one; None where the published levels were run."""
        return of_plan(self.asked)

    @property
    def shares(self) -> float:
        """Among how many looks at the claims of this campaign their error rate is shared out; 1 if there is but one.

        A rule without `looks`, as the sample's, is of a campaign whose claims were judged after every added block.
        """
        if self.plan.looks_after:
            return 1 / self.plan.share_of_a_look
        rule = self.asked.get("repeat")
        if not rule:
            return 1
        first = max(trial.repetition for trial in self.trials[: self.planned])
        blocks = max(0, int(rule["most_repetitions"]) - first)
        if "looks" not in rule:
            return blocks + 1
        return self.environment().looks or min(int(rule["looks"]), blocks + 1)

    @property
    def spent_s(self) -> float:
        """Wall time that the campaign's runs have taken, in seconds."""
        return self.environment().spent_s

    def figure(self, name: str) -> Path:
        """Return where the figure of this name is kept, as a PNG."""
        return self.folder / "figures" / f"{name.replace(':', '_')}.png"

    def environment(self) -> Environment:
        """Return where it ran and on what; empty before its first run. Raise RecordBroken."""
        path = self.folder / "environment.json"
        try:
            return Environment.model_validate(json.loads(path.read_bytes())) if path.exists() else Environment()
        except ValueError as problem:
            fix = "bring it back from a copy, name another campaign, or remove its folder"
            raise RecordBroken(f"not a campaign's environment: {in_short(problem)}", file=path, fix=fix) from problem

    def note(self, part: Environment) -> None:
        """Add to environment.json: what `part` was given takes the place of what stands there under the same keys."""
        _write(self.folder / "environment.json", {**self.environment().model_dump(), **part.model_dump()})


def _plan(path: Path) -> Plan:
    try:
        return Plan.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as problem:
        fix = "restore it, name another campaign, or remove this folder"
        raise PlanBroken(f"not a campaign's plan: {in_short(problem)}", file=path, fix=fix) from problem


def _write(path: Path, value: object) -> None:
    partial = path.with_suffix(".partial")
    with writing(path):
        partial.write_text(json.dumps(value, indent=1, default=str))
        flush(partial)
        partial.rename(path)
        flush(path.parent)


def start_or_continue(
    report: str,
    asked: Asked,
    trials: Sequence[Trial],
    *,
    seed: int,
    again: bool = True,
    planned_from: PlannedFrom | None = None,
) -> Campaign:
    """The latest campaign that was asked for the same: one that is not finished is gone on with, before a copy of it.

    Where all are finished: the latest of them, or with `again` a new one. A new one's plan is written.
    """
    what = digest([conditions_of(asked), [trial.identity for trial in trials]])
    alike = sorted(paths.runs_dir(report).glob(f"*-{what}"), key=_own_id_last, reverse=True)
    known = list(_planned(alike))
    for campaign in known:
        if campaign.missing():
            return campaign
    if known and not again:
        return known[0]
    folder = paths.runs_dir(report) / f"{_next_moment(report)}-{what}"
    return begin_at(folder, report, asked, trials, seed=seed, planned_from=planned_from)


def _own_id_last(folder: Path) -> tuple[bool, str]:
    """Folders sorted by it: renamed ones, then those that have their id still, the latest at the end."""
    return _ID.fullmatch(folder.name) is not None, folder.name


def _next_moment(report: str) -> str:
    """Now, and later than every campaign there is: whose clock was set back meanwhile still finds her latest run."""
    now = datetime.now(UTC)
    for folder in reversed(begun(report)):
        with suppress(ValueError):
            last = datetime.strptime(_moment(folder), _MOMENT).replace(tzinfo=UTC)
            return _as_moment(max(now, last + timedelta(microseconds=1)))
    return _as_moment(now)


def begin_at(
    folder: Path,
    report: str,
    asked: Asked,
    trials: Sequence[Trial],
    *,
    seed: int,
    planned_from: PlannedFrom | None = None,
) -> Campaign:
    """Return the campaign of this folder; where there is none, a new one, whose plan is written. Raise PlanBroken."""
    if not (folder / "plan.json").exists():
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        made = datetime.now(UTC).isoformat()
        what = {"report": report, "seed": seed, "asked": asked, "planned_from": planned_from}
        plan = Plan.model_validate({"version": 1, **what, "made": made, "trials": list(trials)})
        _write(folder / "plan.json", plan.model_dump())
    return Campaign(folder)


def readable(folders: Iterable[Path]) -> Iterator[Campaign]:
    """Yield the campaigns of these folders whose files can all be read. One that is broken costs no other one.

    Each that is left out is named on the standard error, in one line and once.
    """
    for campaign in _planned(folders):
        try:
            campaign.environment()
            campaign.done()
        except RecordBroken as problem:
            leave_out(str(problem))
        else:
            yield campaign


def _planned(folders: Iterable[Path]) -> Iterator[Campaign]:
    for folder in folders:
        try:
            yield Campaign(folder)
        except PlanBroken as problem:
            leave_out(str(problem))


@cache
def leave_out(why: str) -> None:
    """Name what cannot be read on the standard error, in one line and once."""
    print(f"left out: {' '.join(why.split())}", file=sys.stderr)


def begun(report: str = "*") -> list[Path]:
    """Return the folders of campaigns that have a plan, of one report or of all, oldest first.

    As long as nothing has been recorded here, there is the sample that the kit brings: notebooks open on something.
    """
    runs = paths.runs_dir("")
    root = runs if any(True for _ in runs.glob("*/*/plan.json")) else paths.find("data", "sample")
    return _in_order(plan.parent for plan in root.glob(f"{report}/*/plan.json"))


def recorded(report: str = "*") -> list[Path]:
    """The same of those with a whole record.

    A copy that lies beside its campaign is no second measurement: it is left out, and named on the standard error.
    """
    return _in_order(_originals([folder for folder in begun(report) if any(True for _ in whole_records(folder))]))


def _in_order(folders: Iterable[Path]) -> list[Path]:
    return sorted(folders, key=lambda folder: (_moment(folder), folder.name))


def _moment(folder: Path) -> str:
    """When a campaign was begun: its id begins with that, and of a renamed one the plan says it."""
    return folder.name.partition("-")[0] if _ID.fullmatch(folder.name) else _made(folder)


def _made(folder: Path) -> str:
    """When its plan was made, as an id says it; its name where no plan says that."""
    try:
        made = datetime.fromisoformat(json.loads((folder / "plan.json").read_bytes())["made"])
    except (OSError, ValueError, KeyError, TypeError):
        return folder.name
    return _as_moment(made)


def _as_moment(when: datetime) -> str:
    return f"{when.astimezone(UTC):{_MOMENT}}"


def _originals(folders: Sequence[Path]) -> Iterator[Path]:
    """Yield each campaign once: one that has its id still is no copy of one with a name of its own."""
    renamed = [folder for folder in folders if not _ID.fullmatch(folder.name)]
    kept: list[Path] = [folder for folder in folders if folder not in renamed]
    for folder in sorted(renamed):
        original = next((other for other in kept if _same_measurement(other, folder)), None)
        if original is None:
            kept.append(folder)
        else:
            leave_out(f"{folder}: a copy of {original.name}, which counts once")
    yield from kept


def _same_measurement(one: Path, other: Path) -> bool:
    """Whether two folders are of one plan, and share the record of a trial: such things are not measured twice."""
    if one.parent != other.parent or _made(one) != _made(other):
        return False
    records = (one / path.relative_to(other) for path in whole_records(other))
    return any(mine.is_file() and filecmp.cmp(mine, other / mine.relative_to(one), shallow=False) for mine in records)


def whole_records(folder: Path) -> Iterator[Path]:
    """The files of a campaign's whole records; a killed run leaves half-written ones beside them, which are none."""
    return (path for path in folder.glob("trials/*/record.json") if not record.half_written(path.parent.name))


def latest(report: str, which: str = "") -> Campaign:
    """Return the campaign of this id, or the latest that has a record and can be read; for replay.

    Raise BadInput where there is none, and PlanBroken for one that is named and cannot be read.
    """
    folders = begun(report)
    named = [folder for folder in folders if which and folder.name == which]
    chosen = Campaign(named[0]) if named else None if which else next(readable(reversed(recorded(report))), None)
    if chosen is None:
        raise _none(report, which, [folder.name for folder in folders])
    return chosen


def _none(report: str, which: str, known: Sequence[str]) -> BadInput:
    """Why there is no campaign to replay: nothing was recorded, no such id, or none that can be read."""
    file, run = paths.runs_dir(report), f"benchbook report {report}"
    if which and known:
        fix = f"name one of {', '.join(known)}"
        return BadInput("no recorded campaign to replay", file=file, key="campaign", value=which, fix=fix)
    if recorded(report):
        fix = f"restore one, or run it again: {run}"
        return BadInput("no recorded campaign to replay can be read", file=file, fix=fix)
    return BadInput(f"nothing has been recorded of {report}", file=file, fix=f"run it first: {run}")
