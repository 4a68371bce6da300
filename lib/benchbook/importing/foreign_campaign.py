"""What is checked of a campaign before it is taken: it is what its name says, and every record is one of its plan."""

from __future__ import annotations

import re
from pathlib import Path

from benchbook import published
from benchbook.campaign import design, max_rate, record, store
from benchbook.campaign.design import conditions_of, digest
from benchbook.campaign.record import RecordBroken
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
    plan, file, named = found.plan, folder / "plan.json", _ID.fullmatch(found.id)
    if plan.report not in published.known_reports():
        fix = f"copy data/published/{plan.report} and its notebook first"
        raise BadInput("of a report that is not here", file=folder.name, key="report", value=plan.report, fix=fix)
    first = [trial.identity for trial in found.trials[: found.planned]]
    asked = digest([conditions_of(plan.asked), first])
    _require(named and asked == named["asked"], file, "the campaign's name is not that of its plan", found.id)
    _require(_records(found), file, "nothing has been recorded in this campaign", found.id)
    for search in max_rate.of(found):
        file = search.folder / "plan.json"
        _require(digest(search.asked) == search.id, file, "the search's name is not that of its plan", search.id)
        _require(search.report == found.report, file, "the search of another report", search.report)
        _records(search)
    return found


def _records(found: Campaign) -> int:
    """Return how many trials are recorded. Raise BadInput for a trial or a record that is not what was asked for."""
    for trial, identity in zip(found.trials, design.identities(found.plan), strict=True):
        problem = "the plan has been changed: a trial is not what it was"
        _require(trial.identity == identity, found.folder / "plan.json", problem, trial.id)
    identities = {trial.id: trial.identity for trial in found.trials}
    try:
        found.environment()
        for name, status in _FOLDERS.items():
            for folder in sorted((found.folder / name).glob("*/")):
                file, known, series = folder / "record.json", record.load(folder), record.load_series(folder)
                trial_id = known.id if name == "trials" else known.id.rpartition(".")[0]
                here = (known.report, known.campaign) == (found.report, found.id)
                as_planned = identities.get(trial_id) == known.identity
                columns = list(series.columns)
                is_series = series.empty or set(columns) == set(COLUMNS)
                _require(known.id == folder.name, file, "the record of another trial", known.id)
                _require(here, file, "the record of another campaign", known.campaign)
                _require(as_planned, file, "not what the plan asks for", known.identity)
                _require(known.status == status, file, f"a {known.status} record among those in {name}/", known.id)
                _require(is_series, folder / "series.parquet", "not the columns of a series", columns)
    except RecordBroken as problem:
        # It stands in a folder that nobody knows yet.
        said = f"{str(problem.file).replace(f'{found.folder}/', '')}: {problem.problem}"
        raise BadInput(said, file=found.folder.name, key="import", fix="take it from where it is whole") from problem
    return len(list(found.folder.glob("trials/*/")))


def _require(holds: object, file: Path, problem: str, value: object) -> None:
    if not holds:
        where, fix = f"{file.parent.name}/{file.name}", "take the campaign from where it was measured"
        raise BadInput(problem, file=where, value=value, fix=fix)
