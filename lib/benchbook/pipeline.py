"""Take a report from one command to its page: check, build, lab up, notebook, lab down, page."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from benchbook import notebook_run, parameters, paths, published
from benchbook.analysis import results
from benchbook.build import artefacts
from benchbook.campaign import store
from benchbook.claims import claims_terminal, judge, ledger, section
from benchbook.compare import address
from benchbook.errors import BadInput, BenchbookError, HostReserved, counted
from benchbook.grouping import grouped
from benchbook.hosts import lab, open_ports
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.reservation import check_lab_free
from benchbook.hosts.session import Session, check_reachable
from benchbook.notebook_run import Executed
from benchbook.reports import planning
from benchbook.reports.kind import RunRequest, kind_of
from benchbook.site import publish
from benchbook.user_input import user_file

# Seconds of one wait for a host: what waits there ends by itself, should this process be killed.
WAIT_S = 30.0


class PageFailed(BenchbookError):
    """A run has ended, and its page cannot be made of what it left."""


def reports() -> list[str]:
    """Return every report that can be run, yours among them: published tables and a notebook of one name."""
    return [name for name in published.known_reports() if user_file.is_there(paths.notebook(name))]


def begun_reports() -> set[str]:
    """Return the names of which there are tables or a notebook, whether or not they can be run."""
    return {path.stem for folder in ("data/published", "notebooks") for path in paths.names(folder, "*")}


def has_records(report: str) -> bool:
    return any(folder.is_relative_to(paths.runs_dir("")) for folder in store.recorded(report))


def run_report(report: str, overrides: Mapping[str, object], console: Console, *, wait: bool = False) -> int:
    """Run a report to its page, or replay it if that is asked for; return the exit status.

    Raise BenchbookError for what cannot start. Hosts that another driver holds are refused, or waited for with `wait`.
    The notebook's kernel reserves them: a driver that comes first between our check and the kernel is met there.
    """
    asked = planning.asked_of(report, overrides)
    if asked.replay:
        return replay(report, asked.campaign, console)
    request = planning.request_for(report, overrides)
    inventory, hosts = request.inventory, check_run(request)
    while True:
        # A host that refuses is named now, not after a build and the start of a notebook.
        wait_until_free(inventory, hosts, console, wait=wait)
        _check_program(request)
        console.print(f"[bold]{report}[/]: profile {escape(request.profile.name)}, inventory {inventory.name}")
        for one in open_ports.findings(inventory, hosts):
            console.print(f"{one.host}: {one.what}: {one.found}; wanted {one.wanted}", markup=False)
        overrides = planning.available(request.parameters, overrides, console.print)
        request = planning.request_for(report, overrides)
        for name in request.kind.builds(request):
            artefacts.provide(name, console.print)
        with hosts_up(inventory, hosts, console):
            # From the command line a finished campaign is measured again; a notebook opens it.
            done = notebook_run.execute(report, {"again": True, **overrides}, console)
            if done.killed and (not inventory.lab or lab.by_hand(inventory)):
                _sweep(inventory, hosts, console)
        if wait and done.error == HostReserved.__name__:
            continue
        try:
            return _publish(report, done, console)
        except BadInput as problem:
            raise PageFailed(f"{report}: its page cannot be made: {problem}") from problem


def check_asked(report: str, overrides: Mapping[str, object]) -> int:
    """Return 0 for a report that can be run so, as far as that is known without its hosts. Raise BadInput if not."""
    if not planning.asked_of(report, overrides).replay:
        check_run(planning.request_for(report, overrides))
    return 0


def check_run(request: RunRequest) -> list[str]:
    """Return the hosts that a run takes, touching none of them. Raise BadInput for what would stop it later."""
    notebook_run.check_temporary_path()
    parameters.check_read(request.published.report.name)
    known = ledger.load(request.published)
    request.kind.cells(request.published, request.parameters)
    hosts = request.experiment().hosts()
    planning.check_conditions(known, request.kind, request.published.report.name, request.asked())
    return hosts


def wait_until_free(inventory: Inventory, hosts: list[str], console: Console, *, wait: bool) -> None:
    """Raise HostUnusable for hosts that do not answer (a lab is still to come up), HostReserved for those in use.

    With `wait`, wait until whoever uses them has ended, and name them whenever that changes.
    """
    began, holder = time.monotonic(), ""
    while True:
        try:
            _check_free(inventory, hosts, wait_s=WAIT_S if holder else 0.0)
            break
        except HostReserved as problem:
            if not wait:
                raise
            if holder != f"{problem.key}: {problem.problem}":
                holder = f"{problem.key}: {problem.problem}"
                console.print(f"waiting: {holder}", markup=False)
    if holder:
        console.print(f"the hosts are free after {(time.monotonic() - began) / 60:.1f} min: going on")


def _check_free(inventory: Inventory, hosts: list[str], *, wait_s: float) -> None:
    if inventory.lab:
        check_lab_free(inventory, inventory.hosts, wait_s=wait_s)
    else:
        check_reachable(inventory, hosts, wait_s=wait_s)


def _check_program(request: RunRequest) -> None:
    """Raise HostUnusable for a load generator that a lab will not have, whose hosts are this machine."""
    generator, inventory = getattr(request.experiment(), "generator", None), request.inventory
    is_to_be = inventory.lab and not any(host.pid for host in lab.lab_hosts(inventory))
    if is_to_be and generator and not generator.builds_for(inventory):
        # One that copies its program to the host does so once that runs.
        with suppress(lab.NotUpYet):
            generator.find(lab.HostToBe(inventory, inventory.require("client")[0]))


@contextmanager
def hosts_up(inventory: Inventory, hosts: list[str], console: Console) -> Iterator[None]:
    """Start and stop a lab's hosts; on real ones, end what an interrupted run left.

    Another driver's lab or jobs are left alone: it may have come first, after the hosts were seen to be free.
    """
    if inventory.lab:
        with lab.up_while_used(inventory, console.print):
            yield
        return
    try:
        yield
    except BaseException:
        _sweep(inventory, hosts, console)
        raise


def _sweep(inventory: Inventory, hosts: list[str], console: Console) -> None:
    console.print("ending what still runs on the hosts")
    try:
        with Session(inventory, hosts):
            pass  # entering a session ends what no driver holds any more
    except BenchbookError as problem:
        text = f"could not: {problem}\nthe hosts end it by themselves within {inventory.ssh.lease_s:g} s"
        console.print(text, markup=False)


def replay(report: str, campaign: str, console: Console) -> int:
    """Rebuild a report's figures and page from what was recorded (the latest without `campaign`); no host is needed."""
    known = kind_of(report).Parameters.model_fields
    recorded = store.latest(report, campaign)
    same = ("profile", "inventory", "systems", "seed")
    given = {key: value for key, value in recorded.asked.items() if key in same and key in known}
    console.print(f"[bold]{report}[/]: replaying {recorded.id}")
    done = notebook_run.execute(report, {**given, "replay": True, "campaign": recorded.id}, console)
    return _publish(report, done, console)


def judge_claims(report: str, campaign: str, console: Console, judged: list[dict[str, object]] | None = None) -> int:
    """Print what a recorded campaign (the latest without `campaign`) says of each claim. Return 0.

    With a list as `judged`, add {"report", "campaign", "claims": as in results.json} to it, and print nothing.
    """
    recorded = store.latest(report, campaign)
    claims = judge.of_campaign(recorded, published.load(report), kind_of(report))
    if judged is None:
        claims_terminal.show(report, recorded.id, claims, console)
    else:
        rows = [claim.model_dump(mode="json") for claim in claims]
        judged.append({"report": report, "campaign": recorded.id, "claims": rows})
    return 0


def publish_campaigns(campaign: str, console: Console) -> int:
    """Put a campaign (without one, the latest of every report) into `public/`, which is deployed; return 0.

    `campaign` is an address as `compare` takes it; a report means its latest campaign that has a notebook. Nothing is
    run again: the page is made of the notebook that the run has left. Raise BadInput where there is none.
    """
    chosen = {report: folder for report, folder in _to_publish(campaign) if (folder / paths.EXECUTED).is_file()}
    if not chosen:
        fix = "`benchbook runs` lists those that were; run it again, or `benchbook site` for one without a notebook"
        which = f"campaign {campaign}" if campaign else "campaign"
        raise BadInput("no campaign with an executed notebook", key=which, fix=fix)
    for report, folder in sorted(chosen.items()):
        made_up = planning.placeholders(report) if paths.published_dir(report).is_dir() else {}
        for file, lines in made_up.items():
            fix = "put in what was published there, and run it again"
            said = f"{counted(lines, 'line')} still {'says' if lines == 1 else 'say'} PLACEHOLDER"
            raise BadInput(f"{said}: its numbers are made up", file=file, fix=fix)
        page = publish.publish(report, folder / paths.EXECUTED, folder / paths.RESULTS, paths.public_dir())
        console.print(f"{report}: {page}", markup=False, highlight=False)
    console.print("deploy it: commit public/, push, and run the workflow `pages`")
    return 0


def _to_publish(campaign: str) -> list[tuple[str, Path]]:
    """Return report and folder of the campaigns that are meant, the oldest first."""
    known = [(folder.parent.name, folder) for folder in store.recorded()]
    of_report = [one for one in known if campaign in ("", one[0])]
    if of_report or not campaign:
        return of_report
    found = address.find(campaign)
    return [(found.report, found.folder)]


def _publish(report: str, done: Executed, console: Console) -> int:
    """Make the page of an executed notebook and print how the run went.

    A run that bad input stopped has measured nothing: the page of an earlier run stays.
    """
    if done.problem:
        console.print(done.problem, style="red", markup=False, highlight=False)
    if done.status == BadInput.exit_status:
        return done.status
    results_file = done.campaign / paths.RESULTS if done.campaign else None
    page = publish.publish(report, done.notebook, results_file, paths.site_dir())
    if done.problem and done.campaign and not store.Campaign(done.campaign).missing():
        text = f"every trial is recorded: mend that, and `benchbook site {report}` makes the page; no load is run again"
        console.print(text, markup=False, highlight=False)
    if results_file and done.status == 0:
        for system, claims in grouped(results.read(results_file).claims, lambda claim: claim.system).items():
            of = f" on {system}" if system else ""
            console.print(f"claims{of}: {section.counts(claims)}", markup=False, highlight=False)
    if done.campaign:
        console.print(f"campaign: {done.campaign}", markup=False, highlight=False)
    console.print(f"page: {page}", markup=False, highlight=False)
    return done.status
