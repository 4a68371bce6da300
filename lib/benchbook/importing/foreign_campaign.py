"""What is checked of a campaign before it is taken: it is what its name says, and every record is one of its plan."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from benchbook import published
from benchbook.campaign import design, max_rate, record, store
from benchbook.campaign.design import conditions_of, digest
from benchbook.campaign.record import Record, RecordBroken
from benchbook.campaign.store import Campaign
from benchbook.errors import BadInput
from benchbook.probes.samples import COLUMNS

_ID = re.compile(r"\d{8}T\d{6,12}-(?P<asked>[0-9a-f]{12})")
# Folder of records -> the status that all of them have.
_FOLDERS = {"trials": "done", "failed": "failed", "disturbed": "disturbed"}


def under_its_name(folder: Path) -> Path:
    """The folder, renamed to what its records call their campaign where its name is none of a campaign (unpacked)."""
    first = next(iter(sorted(store.whole_records(folder))), None)
    if _ID.fullmatch(folder.name) or first is None:
        return folder
    try:
        name = record.load(first.parent).campaign
    except RecordBroken:
        # `check` says what is broken.
        return folder
    return folder.rename(folder.with_name(name)) if _ID.fullmatch(name) else folder


def check(folder: Path) -> Campaign:
    """Return the campaign in `folder`, and its searches for the knee.

    Raise BadInput, naming the file, for what does not fit its plan or cannot be read.
    """
    found = Campaign(folder)
    _check_name(found)
    if not _check_files(found):
        raise _refused(folder, "plan.json", "nothing has been recorded in this campaign", found.id)
    for search in max_rate.of(found):
        _check_search(search, found)
        _check_files(search)
    return found


def _check_name(found: Campaign) -> None:
    """A campaign's name ends in the hash of what was asked for."""
    plan, named = found.plan, _ID.fullmatch(found.id)
    if plan.report not in published.known_reports():
        fix = f"copy data/published/{plan.report} and its notebook first"
        raise BadInput("of a report that is not here", file=found.folder.name, key="report", value=plan.report, fix=fix)
    first = [trial.identity for trial in found.trials[: found.planned]]
    if named is None or digest([conditions_of(plan.asked), first]) != named["asked"]:
        raise _refused(found.folder, "plan.json", "the campaign's name is not that of its plan", found.id)


def _check_search(search: Campaign, found: Campaign) -> None:
    """A search is named by the hash of what was asked for, and belongs to the report of its campaign."""
    if digest(search.asked) != search.id:
        raise _refused(search.folder, "plan.json", "the search's name is not that of its plan", search.id)
    if search.report != found.report:
        raise _refused(search.folder, "plan.json", "the search of another report", search.report)


def _check_files(found: Campaign) -> int:
    """Return how many whole records of its own trials it has."""
    _check_trials(found)
    identities = {trial.id: trial.identity for trial in found.trials}
    try:
        found.environment()
        return sum(_check_records(found, name, identities) for name in _FOLDERS)
    except RecordBroken as problem:
        # It stands in a folder that nobody knows yet.
        file = str(problem.file).replace(f"{found.folder}/", "")
        said = f"{file}: {problem.problem}"
        raise BadInput(said, file=found.folder.name, key="import", fix="take it from where it is whole") from problem


def _check_trials(found: Campaign) -> None:
    """Each trial has the hash of its cell and of what was asked for."""
    for trial, identity in zip(found.trials, design.identities(found.plan), strict=True):
        if trial.identity != identity:
            problem = "the plan has been changed: a trial is not what it was"
            raise _refused(found.folder, "plan.json", problem, trial.id)


def _check_records(found: Campaign, name: str, identities: Mapping[str, str]) -> int:
    folders = sorted((found.folder / name).glob("*/"))
    for folder in folders:
        known = record.load(folder)
        _check_record(found, folder, known, identities)
        if known.status != _FOLDERS[name]:
            raise _refused(folder, "record.json", f"a {known.status} record among those in {name}/", known.id)
        series = record.load_series(folder)
        if len(series) and set(series.columns) != set(COLUMNS):
            raise _refused(folder, "series.parquet", "not the columns of a series", list(series.columns))
    return len(folders) if name == "trials" else 0


def _check_record(found: Campaign, folder: Path, known: Record, identities: Mapping[str, str]) -> None:
    trial = known.id if folder.parent.name == "trials" else known.id.rpartition(".")[0]
    if known.id != folder.name:
        raise _refused(folder, "record.json", "the record of another trial", known.id)
    if (known.report, known.campaign) != (found.report, found.id):
        raise _refused(folder, "record.json", "the record of another campaign", known.campaign)
    if identities.get(trial) != known.identity:
        raise _refused(folder, "record.json", "not what the plan asks for", known.identity)


def _refused(folder: Path, file: str, problem: str, value: object) -> BadInput:
    where = f"{folder.name}/{file}"
    return BadInput(problem, file=where, value=value, fix="take the campaign from where it was measured")
