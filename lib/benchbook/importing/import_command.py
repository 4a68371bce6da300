"""`benchbook import campaign`: each is fetched into a folder of its own, checked there, and renamed into its place."""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import track

from benchbook import paths
from benchbook.campaign.record import half_written
from benchbook.errors import BadInput, BenchbookError, counted, one_line, writing
from benchbook.hosts.host import Host
from benchbook.hosts.inventory import load_inventory
from benchbook.hosts.session import check_reachable
from benchbook.importing import foreign_campaign
from benchbook.importing.foreign_files import (
    FolderHere,
    FolderOnHost,
    ForeignCampaign,
    campaigns_in,
)
from benchbook.user_input import user_file
from benchbook.user_input.choices import one_of

# Of links that are left out, so many are named.
_SHOWN = 5


class Clash(BadInput):
    """A campaign of this name is here already, and holds something else."""


def run(source: str, inventory: str, console: Console) -> int:
    """Import every campaign of `source`, a folder or HOST:PATH; returns the exit status, the worst of them.

    One that is refused keeps no other one from being taken. Raise BadInput where nothing is there to be imported.
    """
    with _opened(source, inventory) as folder:
        found, links = campaigns_in(folder)
        begun = [one for one in found if one.begun]
        worst = max(_status(folder, one, console) for one in begun or found)
        if begun and len(begun) < len(found):
            unbegun = ", ".join(one_line(one.id) for one in found if not one.begun)
            console.print(f"left out: nothing has been recorded in {unbegun}", markup=False)
        if links:
            more = f" and {len(links) - _SHOWN} more" if len(links) > _SHOWN else ""
            names = f"{', '.join(map(one_line, links[:_SHOWN]))}{more}"
            console.print(
                f"left out: links are not followed; import what they lead to by itself: {names}", markup=False
            )
        return worst


@contextmanager
def _opened(source: str, inventory: str) -> Iterator[FolderHere | FolderOnHost]:
    name, colon, path = source.partition(":")
    if user_file.is_there(Path(source)) or not colon or "/" in name:
        yield FolderHere(Path(source))
        return
    if not inventory:
        fix = "--inventory NAME says where that host is described (`benchbook list` has their names)"
        raise BadInput("it names a host, but there is no --inventory", key="import", value=source, fix=fix)
    known = load_inventory(inventory)
    one_of(name, known.hosts, "host", problem="no such host in the inventory", file=known.file, key="import")
    # Files that are read while a load runs there would disturb it.
    check_reachable(known, [name])
    host = Host(known, name)
    try:
        yield FolderOnHost(host, path)
    finally:
        host.close()


def _status(folder: FolderHere | FolderOnHost, one: ForeignCampaign, console: Console) -> int:
    try:
        console.print(f"{one.id}: {_take(folder, one, console)}", markup=False)
    except BenchbookError as problem:
        console.print(f"{one_line(one.id)}: refused: {problem}", style="red", markup=False)
        return problem.exit_status
    return 0


def _take(folder: FolderHere | FolderOnHost, one: ForeignCampaign, console: Console) -> str:
    """Take a campaign; says what became of it. Raise BadInput for one that does not fit, Clash, NotWritten."""
    with _own_folder(one.id) as fetched:
        _fetch(folder, one, fetched, console)
        partial = foreign_campaign.under_its_name(fetched)
        found = foreign_campaign.check(partial)
        target = paths.runs_dir(found.report) / found.id
        if target.exists():
            _check_same(partial, target, one)
            return "is here already, the same"
        with writing(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            partial.rename(target)
    also = "" if found.id == one.id else f", campaign {found.id}"
    return f"{counted(len(list(target.glob('trials/*/record.json'))), 'record')} of {found.report}{also}"


@contextmanager
def _own_folder(name: str) -> Iterator[Path]:
    """A folder that nobody takes for a campaign, on the file system of those that are."""
    home = paths.runs_dir("") / ".import" / str(os.getpid())
    with writing(home):
        shutil.rmtree(home, ignore_errors=True)
        (home / name).mkdir(parents=True)
    try:
        yield home / name
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _fetch(folder: FolderHere | FolderOnHost, one: ForeignCampaign, into: Path, console: Console) -> None:
    said = f"{one.id}: {counted(len(one.files), 'file')}"
    for path in track(one.files, said, console=console, transient=True, disable=not console.is_terminal):
        target = into / path[len(one.below) :]
        with writing(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            folder.copy(path, target)


def _check_same(partial: Path, target: Path, one: ForeignCampaign) -> None:
    """Raise Clash, naming the first file that differs."""
    names = [path[len(one.below) :] for path in one.files]
    _, differ, missing = filecmp.cmpfiles(partial, target, names, shallow=False)
    records = (path.relative_to(target) for path in target.rglob("record.json"))
    # One that was not written to its end is none.
    there = {str(path) for path in records if not half_written(path.parent.name)}
    if others := [*differ, *missing, *sorted(there - set(names))]:
        fix = "remove one of the two (a campaign goes on in one place only), or keep this one"
        file, key = target / others[0], "import"
        raise Clash("a campaign of this name is here, and is another", file=file, key=key, value=one.id, fix=fix)
