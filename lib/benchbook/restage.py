"""Restages a report from one command: check, build, lab up, notebook, lab down, page. Reads from top to bottom.

What runs a notebook, judges claims or makes a page takes seconds to import: that waits until the hosts have answered.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

from benchbook import parameters, paths, published
from benchbook.build import programs
from benchbook.campaign import store
from benchbook.claims import ledger_check
from benchbook.errors import BadInput, BenchbookError
from benchbook.given import user_file
from benchbook.hosts import lab
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.hosts.session import Session, check_reachable
from benchbook.profiles import load_profile
from benchbook.reports.kinds import kind_of

if TYPE_CHECKING:
    from benchbook.headless import Executed


def reports() -> list[str]:
    """Every report that can be restaged, yours among them: published tables and a notebook of one name."""
    return [name for name in published.known_reports() if user_file.is_there(paths.notebook(name))]


def has_records(report: str) -> bool:
    return bool(store.recorded(report))


def restage(report: str, overrides: Mapping[str, object], console: Console) -> int:
    """Run one report to its page; returns the exit status. Raises BenchbookError for what cannot start."""
    kind = kind_of(report)
    asked = parameters.check(kind.Parameters, report, {**parameters.defaults(report), **overrides})
    profile, inventory = load_profile(asked.profile), load_inventory(asked.inventory)
    data = published.load(report)
    ledger_check.load(data)
    kind.cells(data, asked)
    hosts = kind.experiment(data, asked, profile, inventory).hosts()
    if not inventory.lab:
        # A host that refuses is said at once, not after a build and the start of a notebook; a lab is still to come up.
        check_reachable(inventory, hosts)
    from benchbook.headless import execute

    console.print(f"[bold]{report}[/]: profile {profile.name}, inventory {inventory.name}")
    for name in kind.builds(asked):
        programs.build(name, console.print)
    with _hosts(inventory, console):
        done = execute(report, overrides, console)
    return _publish(report, done, console)


def replay(report: str, which: str, console: Console) -> int:
    """Rebuild one report's page and figures from what was recorded; no host is needed."""
    known = kind_of(report).Parameters.model_fields
    recorded = store.latest(report, which)
    from benchbook.headless import execute

    said = {key: value for key, value in recorded.asked.items() if key in ("profile", "inventory", "systems", "seed")}
    again = {**{k: v for k, v in said.items() if k in known}, "replay": True, "campaign": recorded.id}
    console.print(f"[bold]{report}[/]: replaying {recorded.id}")
    return _publish(report, execute(report, again, console), console)


def judge_claims(report: str, which: str, console: Console) -> int:
    """Print what a recorded campaign (the latest without `which`) says of each claim; no host is needed. Returns 0."""
    kind, recorded = kind_of(report), store.latest(report, which)
    from benchbook.claims import claims_terminal, judge

    found = judge.of_campaign(recorded, published.load(report), kind.tables, kind.compared)
    claims_terminal.show(report, recorded.id, found, console)
    return 0


@contextmanager
def _hosts(inventory: Inventory, console: Console) -> Iterator[None]:
    """A lab inventory's hosts are started and stopped; on real hosts, what an interrupted run left is ended."""
    if inventory.lab:
        console.print(f"starting the lab: {len(lab.up(inventory))} hosts")
    try:
        yield
    except BaseException:
        if not inventory.lab:
            _sweep(inventory, console)
        raise
    finally:
        if inventory.lab and not lab.by_hand(inventory):
            lab.down(inventory)
            console.print("stopped the lab")


def _sweep(inventory: Inventory, console: Console) -> None:
    console.print("ending what still runs on the hosts")
    try:
        with Session(inventory, inventory.hosts):
            pass  # entering a session ends what no driver holds any more
    except BenchbookError as problem:
        console.print(f"could not: {problem}\nthe hosts end it by themselves within {inventory.ssh.lease_s:g} s")


def _publish(report: str, done: Executed, console: Console) -> int:
    """Keep the executed notebook with its campaign, make the page, say how it went.

    A run that bad input stopped has measured nothing: the page of an earlier run stays.
    """
    from benchbook.site import publish

    if done.problem:
        console.print(done.problem, style="red", markup=False, highlight=False)
    if done.status == BadInput.exit_status:
        return done.status
    results = done.campaign / "results.json" if done.campaign else None
    if done.campaign:
        shutil.copy(done.notebook, done.campaign / "executed.ipynb")
    page = publish.publish(report, done.notebook, results, paths.site_dir())
    console.print(f"page: {page}", highlight=False)
    return done.status
