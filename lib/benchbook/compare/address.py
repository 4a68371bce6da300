"""Which campaign is meant: `REPORT` (its latest), `REPORT~1` (the one before), an id or its beginning, a folder."""

from __future__ import annotations

import re
from pathlib import Path

from benchbook import paths, published
from benchbook.campaign.store import Campaign, PlanBroken, recorded, whole_records
from benchbook.errors import BadInput, counted
from benchbook.user_input import user_file
from benchbook.user_input.choices import did_you_mean

_BACK = re.compile(r"(?P<report>[A-Za-z0-9_.-]+)(?:~(?P<back>[0-9]{1,9}))?")
# More of them would not be read; the latest are what a comparison is usually about.
_SHOWN = 8
# As long as the day (20261122): a shorter beginning of an id is not taken for it.
_SHORTEST_ID = 8


def pair(a: str, b: str = "") -> tuple[Campaign, Campaign]:
    """The campaigns of two addresses. With one report alone: its latest but one, and its latest. Raise BadInput.

    A campaign of several systems alone stands for both: its systems are held against each other.
    """
    if b:
        return find(a, "a"), find(b, "b")
    alone = find(a, "a")
    if a in _reports():
        if len(recorded(a)) == 1:
            raise _only_one(alone)
        return find(f"{a}~1", "a"), alone
    if _has_several_systems(alone):
        return alone, alone
    fix = f"name a second one, or a report alone for its two latest: {known()}"
    raise BadInput("a comparison needs two campaigns, or one of several systems", key="a", value=a, fix=fix)


def find(address: str, key: str = "campaign") -> Campaign:
    """Return the campaign at `address`; it has at least one whole record. Raise BadInput that lists what there is."""
    folder = _folder(address)
    if folder is None:
        raise _not_there(address, key)
    try:
        found = Campaign(folder)
    except PlanBroken as problem:
        raise BadInput(problem.problem, file=problem.file, key=key, value=address, fix=problem.fix) from problem
    if not found.done():
        fix = f"finish it, or use one of {known()}"
        raise BadInput("nothing has been recorded in this campaign", key=key, value=address, fix=fix)
    return found


def _only_one(campaign: Campaign) -> BadInput:
    report = campaign.report
    also = f"; its systems side by side: benchbook compare {campaign.id}" if _has_several_systems(campaign) else ""
    fix = f"record another: benchbook report {report}{also}"
    return BadInput(f"only one campaign of {report} is recorded, and a comparison needs two", key="a", fix=fix)


def _has_several_systems(campaign: Campaign) -> bool:
    return len({trial.cell.system for trial in campaign.trials}) > 1


def _not_there(address: str, key: str) -> BadInput:
    if address in published.known_reports():
        there = f", or name what is recorded: {', '.join(_reports())}" if recorded() else ""
        fix = f"run it first: benchbook report {address}{there}"
        return BadInput(f"nothing has been recorded of {address}", key=key, fix=fix)
    if not recorded():
        fix = "run a report first: benchbook report NAME"
        return BadInput("nothing has been recorded yet", key=key, value=address, fix=fix)
    near = did_you_mean(address, {*_reports(), *published.known_reports()})
    return BadInput("no such recorded campaign", key=key, value=address, fix=f"{near}use one of {known()}")


def _folder(address: str) -> Path | None:
    for path in (Path(address), paths.home() / address):
        if address and user_file.is_there(path / "plan.json") and (path / "plan.json").is_file():
            return path.resolve()
    return _counted_back(address) or _by_id(address)


def _by_id(address: str) -> Path | None:
    """Return the campaign of this id, or the only one whose id begins so: 20261122T0911, say."""
    begins = [folder for folder in recorded() if folder.name.startswith(address)]
    exact = [folder for folder in begins if folder.name == address]
    return exact[0] if exact else begins[0] if len(begins) == 1 and len(address) >= _SHORTEST_ID else None


def _counted_back(address: str) -> Path | None:
    """`REPORT~n`: the n-th before the latest, as git counts commits."""
    seen = _BACK.fullmatch(address)
    if seen is None:
        return None
    folders = recorded(seen["report"])
    back = int(seen["back"] or 0)
    return folders[-1 - back] if back < len(folders) else None


def _reports() -> list[str]:
    return sorted({folder.parent.name for folder in recorded()})


def known() -> str:
    """Return what there is, latest first, in words: `id (report, profile, n records)`."""
    latest = list(reversed(recorded()))
    said = [_described(folder) for folder in latest[:_SHOWN]]
    more = f", and {len(latest) - _SHOWN} older" if len(latest) > _SHOWN else ""
    return f"{'; '.join(said)}{more}"


def _described(folder: Path) -> str:
    records = counted(len(list(whole_records(folder))), "record")
    return f"{folder.name} ({folder.parent.name}, {_profile(folder)}, {records})"


def _profile(folder: Path) -> str:
    try:
        return Campaign(folder).profile or "unknown profile"
    except PlanBroken:
        return "its plan.json cannot be read"
