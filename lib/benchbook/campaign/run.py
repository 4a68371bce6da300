"""Runs a campaign: every trial of its plan that has no whole record yet, block by block. Reads from top to bottom."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

import pandas as pd

from benchbook.campaign.design import Trial, blocks
from benchbook.campaign.environment import Environment, RunTimes, SystemDescription
from benchbook.campaign.experiment import Experiment, Measurement
from benchbook.campaign.progress import Listener, Tracker
from benchbook.campaign.record import Failure, Record
from benchbook.campaign.stolen import STOLEN, stolen_share
from benchbook.campaign.store import Campaign
from benchbook.errors import BadInput, BenchbookError, ConnectionLost, JobLost, TrialFailed

# What may go wrong in one trial without ending the campaign; everything else is a defect or the user's to mend.
SURVIVABLE = (TrialFailed, JobLost, ConnectionLost)
# A system that did not come up so many times in a row will not come up for the rest of the plan either.
BEGIN_TRIES = 3
# A load from which other virtual machines took CPU is run again, so often in all.
STOLEN_TRIES = 3


class CampaignStopped(BenchbookError):
    """The system under test does not come up: going on would only fail every trial that is left."""


def run(
    campaign: Campaign, experiment: Experiment, listen: Listener, another: Callable[[], bool] = lambda: False
) -> None:
    """Run every trial of the plan that has no whole record yet. A failed trial is recorded; the rest goes on.

    When the plan is through, `another` may extend it, and says whether it did: the hosts stay connected meanwhile.
    """
    todo = campaign.missing() or (campaign.missing() if another() else [])
    tracker = Tracker(listen, total=len(campaign.trials), done=len(campaign.trials) - len(todo))
    if not todo:
        tracker.finish()
        return
    began = time.time()
    with experiment.running() as environment:
        _same_hosts(campaign, environment)
        campaign.note(environment)
        while todo:
            for block in blocks(todo):
                _run_block(campaign, experiment, block, tracker)
            todo = campaign.missing() if another() else []
            tracker.extended(len(campaign.trials))
    campaign.note(Environment(runs=[*campaign.environment().runs, RunTimes(began=began, ended=time.time())]))
    tracker.finish()


def _run_block(campaign: Campaign, experiment: Experiment, block: list[Trial], tracker: Tracker) -> None:
    """After a failed trial the state of the system is unknown: the rest of the block begins anew."""
    fresh, unable = False, 0
    for index, trial in enumerate(block):
        tracker.trial(trial.id, experiment.expected_s(trial), experiment.rate_unit(trial))
        try:
            if not fresh:
                unable += 1
                about = experiment.begin(block[index:], tracker.say)
                _note_systems(campaign, about)
                fresh, unable = True, 0
            measured = _undisturbed(experiment, trial, tracker)
            campaign.keep(_done(campaign, trial, measured), measured.series, measured.output)
            tracker.ended(ok=True)
        except SURVIVABLE as problem:
            fresh = False
            campaign.keep(_failed(campaign, trial, problem), pd.DataFrame(), _output(problem))
            tracker.ended(ok=False, why=str(problem))
            if unable == BEGIN_TRIES:
                raise CampaignStopped(
                    f"{trial.cell.system} did not come up {unable} times in a row: {problem}"
                ) from problem


def _undisturbed(experiment: Experiment, trial: Trial, tracker: Tracker) -> Measurement:
    """The trial, run again where other virtual machines took CPU from its hosts; of all tries, the least disturbed.

    The record keeps the share of every try.
    """
    tries: list[tuple[float, Measurement]] = []
    while len(tries) < STOLEN_TRIES:
        measured = experiment.measure(trial, tracker.rate)
        stolen = stolen_share(measured.series, measured.started, measured.ended)
        tries.append((stolen, measured))
        if stolen <= STOLEN:
            break
        tracker.say(f"{stolen:.0%} of the CPU was taken by other virtual machines")
    share, best = min(tries, key=lambda one: one[0])
    return replace(best, proof={**best.proof, "stolen": round(share, 4), "tries": [round(one, 4) for one, _ in tries]})


def _same_hosts(campaign: Campaign, environment: Environment) -> None:
    """Trials of one campaign are pooled: they must come from the same machines."""
    for name, before in campaign.environment().hosts.items():
        now = environment.hosts[name].identity() if name in environment.hosts else {}
        for key, value in now.items():
            if value != before.identity()[key]:
                raise _other("host", f"{name}.{key}", value, before.identity()[key], campaign)


def _note_systems(campaign: Campaign, about: Mapping[str, SystemDescription]) -> None:
    """Keep what a system is; another version than the one that the campaign began with is refused."""
    before = campaign.environment().systems
    for name, system in about.items():
        if name in before and before[name].version != system.version:
            raise _other("system", f"{name}.version", system.version, before[name].version, campaign)
    campaign.note(Environment(systems={**before, **about}))


def _other(what: str, key: str, now: object, before: object, campaign: Campaign) -> BadInput:
    return BadInput(
        f"the unfinished campaign was begun on another {what} ({before!r})",
        file=campaign.folder,
        key=key,
        value=now,
        fix="finish it there, or remove its folder (or change `seed`) to begin a new one",
    )


def _record(campaign: Campaign, trial: Trial, status: Literal["done", "failed"], **found: object) -> Record:
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


def _done(campaign: Campaign, trial: Trial, m: Measurement) -> Record:
    return _record(
        campaign,
        trial,
        "done",
        command=m.command,
        client=m.client,
        started=m.started,
        ended=m.ended,
        exit_status=m.exit_status,
        summary=m.summary,
        histogram=m.histogram,
        proof=m.proof,
    )


def _failed(campaign: Campaign, trial: Trial, problem: BenchbookError) -> Record:
    tail = _output(problem).strip().splitlines()[-10:]
    why = Failure(kind=type(problem).__name__, message=str(problem), tail=tail)
    return _record(campaign, trial, "failed", failure=why)


def _output(problem: BenchbookError) -> str:
    return problem.output if isinstance(problem, TrialFailed) else ""
