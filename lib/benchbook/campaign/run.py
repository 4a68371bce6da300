"""Runs a campaign: every trial of its plan that has no whole record yet, block by block. Reads from top to bottom."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import pandas as pd

from benchbook.campaign.design import Trial, blocks
from benchbook.campaign.environment import Environment, RunTimes, SystemDescription
from benchbook.campaign.experiment import Experiment, Measurement
from benchbook.campaign.origin import of_this_checkout
from benchbook.campaign.progress import Forecast, Listener, Tracker
from benchbook.campaign.record import Failure, Record, Status
from benchbook.campaign.retry_policy import TRIES, RetryPolicy, measure_undisturbed
from benchbook.campaign.store import Campaign
from benchbook.errors import BadInput, BenchbookError, NotWritten, RemoteFailed, ReservationLost, TrialFailed, cut

T = TypeVar("T")

# Seconds after which a system that did not come up is tried again, and once more: whatever lasts shorter, together with
# the lease that a host may be away for, costs no trial. One that stays down will not come up for the rest of the plan.
BEGIN_WAITS_S = (5.0, 30.0)
# What no further trial can do any better; everything else that is raised on purpose fails one trial.
ENDING = (NotWritten, ReservationLost)


GO_ON = "what was recorded stays; run the cell again, and it goes on from there"


class CampaignStopped(BenchbookError):
    """The system under test does not come up: going on would only fail every trial that is left."""


class RunStopped(BenchbookError):
    """The user asked for the run to end, and the trial that was running is recorded."""


class RunInterrupted(BenchbookError):
    """The user interrupted the run; the trial that was running is lost, and what ran on the hosts was ended."""


def are_left(count: int) -> str:
    """Return "1 trial is left", "2 trials are left"."""
    return f"{count} trial{' is' if count == 1 else 's are'} left"


def run(
    campaign: Campaign,
    experiment: Experiment,
    listen: Listener,
    another: Callable[[], bool] = lambda: False,
    stop: Callable[[], bool] = lambda: False,
    *,
    tries: int = TRIES,
    repetition: int | None = None,
) -> None:
    """Run every trial of the plan that has no whole record yet. A failed trial is recorded; the rest goes on.

    When the plan is through, `another` may extend it, and says whether it did: the hosts stay connected meanwhile.
    `stop` is asked after every trial whether to end here: raises RunStopped, once all that runs on the hosts is ended.
    `tries`: a trial from whose hosts others took CPU is measured at most so often. `repetition`: run its trials alone.
    """
    todo = campaign.missing() or (campaign.missing() if another() else [])
    if repetition is not None:
        todo = [trial for trial in todo if trial.repetition == repetition]
    tracker = Tracker(listen, total=len(campaign.trials), done=len(campaign.trials) - len(todo))
    if not todo:
        tracker.finish()
        return
    began, earlier, kit = time.time(), campaign.environment().runs, of_this_checkout().called

    def note_times() -> None:
        campaign.note(Environment(runs=[*earlier, RunTimes(began=began, ended=time.time(), kit=kit)]))

    try:
        with ExitStack() as stack:
            environment = stack.enter_context(experiment.running())
            _same_hosts(campaign, environment)
            campaign.note(environment)
            one = _Run(campaign, experiment, tracker, RetryPolicy(tries), Forecast(experiment.expected_s), stop)
            while todo:
                later = todo
                for block in blocks(todo):
                    later = later[len(block) :]
                    one.block(block, later)
                    # Of a driver that is killed in the next block, the time of those before is known.
                    note_times()
                todo = campaign.missing() if another() else []
                tracker.extended(len(campaign.trials))
                # The last trial of the plan had none after it.
                one.stop_if_asked(block[-1], todo)
    finally:
        # However it ended, Ctrl-C too: the time has passed.
        if tracker.now.loaded:
            note_times()
    tracker.finish()


@dataclass(frozen=True)
class _Run:
    """A run, and what goes with it from trial to trial."""

    campaign: Campaign
    experiment: Experiment
    tracker: Tracker
    retry_policy: RetryPolicy
    forecast: Forecast
    stop: Callable[[], bool]

    def block(self, block: list[Trial], later: Sequence[Trial]) -> None:
        """After a failed trial the state of the system is unknown: the rest of the block begins anew."""
        fresh = False
        for index, trial in enumerate(block):
            self.tracker.trial(trial.id, self.experiment.rate_unit(trial))
            began = time.monotonic()
            if not fresh:
                self._begin(block[index:])
                self.forecast.began(trial.cell.system, time.monotonic() - began)
                began = time.monotonic()
            measure, keep = partial(self.experiment.measure, trial, self.tracker.rate), partial(self._keep, trial)
            measured = self._attempt(
                trial, partial(measure_undisturbed, measure, self.tracker.say, keep, self.retry_policy)
            )
            problem = measured if isinstance(measured, BenchbookError) else None
            fresh = problem is None
            if not isinstance(measured, BenchbookError):
                self._keep(trial, measured)
            self.forecast.took(trial, time.monotonic() - began)
            left = [*block[index + 1 :], *later]
            left_s = self.forecast.left_s(left, in_block=index + 1 < len(block))
            preparing = " and ".join(self.forecast.unprepared(left))
            self.tracker.ended(ok=fresh, why=str(problem or ""), left_s=left_s, preparing=preparing)
            self.stop_if_asked(trial, left)

    def stop_if_asked(self, trial: Trial, left: Sequence[Trial]) -> None:
        """Raise RunStopped where the user asked for the end during this trial, and others are left."""
        if left and self.stop():
            raise RunStopped(f"stopped after {trial.id}, as you asked; {are_left(len(left))}: {GO_ON}")

    def _begin(self, block: list[Trial]) -> None:
        """Bring up the block's system; again while it may yet come, so that what broke meanwhile costs no more trials.

        Raise CampaignStopped when it does not.
        """

        def bring() -> None:
            _note_systems(self.campaign, self.experiment.begin(block, self.tracker.say))

        for wait_s in (*BEGIN_WAITS_S, None):
            problem = self._attempt(block[0], bring)
            if problem is None:
                return
            if wait_s is not None:
                self.tracker.say(f"trying again in {wait_s:g} s: {problem}")
                time.sleep(wait_s)
        self.tracker.ended(ok=False, why=str(problem))
        tries = len(BEGIN_WAITS_S) + 1
        said = f"{block[0].cell.system} did not come up {tries} times in a row: {problem}".rstrip(".")
        mended = "Once that is mended, run the same again: only what is missing is run"
        raise CampaignStopped(f"{said}. {mended}") from problem

    def _attempt(self, trial: Trial, step: Callable[[], T]) -> T | BenchbookError:
        """Return what the step returns, or what went wrong in it, recorded as a failed attempt at the trial.

        Raise BadInput before any load has begun: that is the user's to mend. Later it is one more thing that went
        wrong. Raise what ENDING names at any time.
        """
        try:
            return step()
        except BenchbookError as problem:
            if isinstance(problem, ENDING) or (isinstance(problem, BadInput) and not self.tracker.now.loaded):
                raise
            output = problem.output if isinstance(problem, (TrialFailed, RemoteFailed)) else ""
            tail = [cut(line) for line in output.strip().splitlines()[-10:]]
            why = Failure(kind=type(problem).__name__, message=str(problem), tail=tail)
            self.campaign.keep(_record(self.campaign, trial, "failed", failure=why), pd.DataFrame(), output)
            return problem

    def _keep(self, trial: Trial, measured: Measurement, disturbed: Sequence[str] = ()) -> None:
        """Keep the record of a measurement: one that counts, or one that was disturbed, and how."""
        names = ("command", "client", "started", "ended", "exit_status", "summary", "histogram", "proof")
        found = {name: getattr(measured, name) for name in names}
        status: Status = "disturbed" if disturbed else "done"
        record = _record(self.campaign, trial, status, disturbed=list(disturbed), **found)
        self.campaign.keep(record, measured.series, measured.output)


def _same_hosts(campaign: Campaign, environment: Environment) -> None:
    """Trials of one campaign are pooled: they must come from the same machines, set alike, and one load generator."""
    known = campaign.environment()
    for name, before in known.hosts.items():
        now = environment.hosts.get(name, before)
        for key in now.differing(before):
            raise _other("host", f"{name}.{key}", getattr(now, key), getattr(before, key), campaign)
    if known.load_generator not in (None, environment.load_generator):
        loads = environment.load_generator, known.load_generator
        raise _other("load generator", "load_generator", *loads, campaign)


def _note_systems(campaign: Campaign, about: Mapping[str, SystemDescription]) -> None:
    """Keep what a system is; another version than the one that the campaign began with is refused."""
    before = campaign.environment().systems
    for name, system in about.items():
        if name in before and before[name].version != system.version:
            raise _other("system", f"{name}.version", system.version, before[name].version, campaign)
    campaign.note(Environment(systems={**before, **about}))


def _other(what: str, key: str, now: object, before: object, campaign: Campaign) -> BadInput:
    said = f"the unfinished campaign was begun on another {what} ({before!r})"
    fix = "finish it as it was begun, or remove its folder (or change `seed`) to begin a new one"
    return BadInput(said, file=campaign.folder, key=key, value=now, fix=fix)


def _record(campaign: Campaign, trial: Trial, status: Status, **found: object) -> Record:
    common = {
        "id": trial.id,
        "identity": trial.identity,
        "status": status,
        "report": campaign.report,
        "campaign": campaign.id,
        "table": trial.cell.table,
        "system": trial.cell.system,
        "levels": trial.cell.levels,
        "repetition": trial.repetition,
        "order": trial.order,
        "asked": campaign.asked,
    }
    return Record.model_validate({**common, **found})
