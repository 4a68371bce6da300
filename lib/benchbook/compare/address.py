"""Which campaign is meant: `REPORT` (its latest), `REPORT~1` (the one before), a campaign's id, or its folder."""

from __future__ import annotations

import re
from pathlib import Path

from benchbook import paths
from benchbook.campaign.store import Campaign, PlanBroken, recorded
from benchbook.errors import BadInput
from benchbook.given import user_file

_BACK = re.compile(r"(?P<report>[A-Za-z0-9_.-]+)(?:~(?P<back>[0-9]{1,9}))?")
# More of them would not be read; the latest are what a comparison is usually about.
_SHOWN = 8


def pair(a: str, b: str = "") -> tuple[Campaign, Campaign]:
    """The campaigns of two addresses. With one report alone: its latest but one, and its latest. Raises BadInput.

    A campaign of several systems alone stands for both: its systems are held against each other.
    """
    if b:
        return find(a, "a"), find(b, "b")
    if a not in _reports() and _folder(a) is not None and len({t.cell.system for t in find(a, "a").trials}) > 1:
        return find(a, "a"), find(a, "a")
    if a not in _reports():
        raise BadInput(
            "a comparison needs two campaigns",
            key="b",
            value=b,
            fix=f"name a second one, or a report alone for its two latest: {_known()}",
        )
    return find(f"{a}~1", "a"), find(a, "b")


def find(address: str, key: str = "campaign") -> Campaign:
    """The campaign at `address`; it has at least one whole record. Raises BadInput that lists what there is."""
    folder = _folder(address)
    if folder is None:
        raise BadInput("no such recorded campaign", key=key, value=address, fix=f"use one of {_known()}")
    try:
        found = Campaign(folder)
    except PlanBroken as problem:
        raise BadInput(problem.problem, file=problem.file, key=key, value=address, fix=problem.fix) from problem
    if not found.done():
        raise BadInput(
            "nothing has been recorded in this campaign",
            key=key,
            value=address,
            fix=f"finish it, or use one of {_known()}",
        )
    return found


def _folder(address: str) -> Path | None:
    for path in (Path(address), paths.home() / address):
        if address and user_file.is_there(path / "plan.json") and (path / "plan.json").is_file():
            return path.resolve()
    return _counted_back(address) or next((f for f in recorded() if f.name == address), None)


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


def _known() -> str:
    """What there is, latest first, in words: `id (report, profile, n records)`."""
    latest = list(reversed(recorded()))
    said = [_described(folder) for folder in latest[:_SHOWN]]
    more = f", and {len(latest) - _SHOWN} older" if len(latest) > _SHOWN else ""
    return f"{'; '.join(said)}{more}" if said else "none: nothing has been recorded yet"


def _described(folder: Path) -> str:
    count = len(list(folder.glob("trials/*/record.json")))
    return f"{folder.name} ({folder.parent.name}, {_profile(folder)}, {count} records)"


def _profile(folder: Path) -> str:
    try:
        return Campaign(folder).profile or "unknown profile"
    except PlanBroken:
        return "its plan.json cannot be read"
