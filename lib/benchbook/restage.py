"""Restages a report from one command: check, build, lab up, notebook, lab down, page. Reads from top to bottom.

What runs a notebook, judges claims or makes a page takes seconds to import: that waits until the hosts have answered.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from heapq import heapreplace
from importlib import import_module
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from benchbook import parameters, paths, published
from benchbook.build import artefacts
from benchbook.campaign import store
from benchbook.campaign.record_index import uncollected
from benchbook.claims import ledger_check
from benchbook.compare import address
from benchbook.errors import BadInput, BenchbookError, HostReserved
from benchbook.given import user_file
from benchbook.grouping import grouped
from benchbook.hosts import lab
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.hosts.session import Session, check_reachable
from benchbook.parameters import Parameters
from benchbook.profiles import Profile, load_profile
from benchbook.reports import runnable, substitutes
from benchbook.reports.kinds import kind_of

if TYPE_CHECKING:
    from benchbook.headless import Executed
    from benchbook.published.tables import Published


# A wait is asked for in parts: what waits on a host ends by itself, should this process be killed.
WAIT_S = 30.0


# What the kernel of a replay imports, whenever it comes to it; and what makes a page.
NEEDED = (
    "benchbook.book",
    "benchbook.headless",
    "benchbook.plots.frame_plots",
    "benchbook.plots.measure_plots",
    "benchbook.site.executing",
    "benchbook.site.publish",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "scipy.special",
)


# A page that draws nothing takes as long as one takes to draw so many bytes: 2.4 s of CPU, and 2.1 for each million.
_DRAWS_NONE_B = 1_100_000
# Of so few pages every order is looked at; with more of them, longest first is hardly worse than the best.
_FEW = 7


class PageFailed(BenchbookError):
    """A run has ended, and its page cannot be made of what it left: no bad input, for it has run."""


def reports() -> list[str]:
    """Every report that can be restaged, yours among them: published tables and a notebook of one name."""
    return [name for name in published.known_reports() if user_file.is_there(paths.notebook(name))]


def begun_reports() -> set[str]:
    """Names of which anything is there, tables or a notebook, whether or not it can be restaged."""
    folders = (paths.published_dir(""), paths.notebook("").parent)
    return {path.stem for folder in folders if folder.is_dir() for path in folder.iterdir()}


def has_records(report: str) -> bool:
    return bool(store.recorded(report))


def restage(report: str, overrides: Mapping[str, object], console: Console, *, wait: bool = False) -> int:
    """Run one report to its page, or replay it if that is asked for; returns the exit status.

    Raises BenchbookError for what cannot start.
    Hosts that another driver holds are waited for if `wait`, else refused. What reserves them is the notebook's
    kernel, so a driver that comes first between the two is met there: then this one waits again.
    """
    asked = checked(report, overrides)
    if asked.replay:
        return replay(report, asked.campaign, console)
    profile, inventory = load_profile(asked.profile), load_inventory(asked.inventory)
    kind, data = kind_of(report), published.load(report)
    hosts = check_run(data, asked, profile, inventory)
    while True:
        # A host that refuses is said at once, not after a build and the start of a notebook.
        until_free(inventory, hosts, console, wait=wait)
        console.print(f"[bold]{report}[/]: profile {escape(profile.name)}, inventory {inventory.name}")
        overrides = substitutes.available(asked, overrides, console.print)
        asked = checked(report, overrides)
        done = _run(report, overrides, inventory, hosts, kind.builds(data, asked), console)
        if not (wait and done.problem and done.problem.startswith(HostReserved.__name__)):
            return _page(report, done, console)


def check_asked(report: str, overrides: Mapping[str, object]) -> int:
    """0 for a report that can be run so, as far as that is known without its hosts. Raises BadInput."""
    asked = checked(report, overrides)
    if not asked.replay:
        check_run(published.load(report), asked, load_profile(asked.profile), load_inventory(asked.inventory))
    return 0


def checked(report: str, overrides: Mapping[str, object]) -> Parameters:
    """The parameters of a report's notebook with these in place of its own. Raises BadInput."""
    asked: Parameters = parameters.check(
        kind_of(report).Parameters, report, {**parameters.defaults(report), **overrides}
    )
    return asked


def check_run(data: Published, asked: Parameters, profile: Profile, inventory: Inventory) -> list[str]:
    """The hosts that a run takes, none of which is touched. Raises BadInput for what would stop it later."""
    report = data.report.name
    kind = kind_of(report)
    ledger = ledger_check.load(data)
    kind.cells(data, asked)
    hosts = kind.experiment(data, asked, profile, inventory).hosts()
    runnable.check_conditions(ledger, kind, report, kind.asked(data, asked, profile, inventory))
    runnable.check_drawn(data, kind, checked(report, {}))
    return hosts


def _page(report: str, done: Executed, console: Console) -> int:
    try:
        return _publish(report, done, console)
    except BadInput as problem:
        raise PageFailed(f"{report}: its page cannot be made: {problem}") from problem


def _run(
    report: str,
    overrides: Mapping[str, object],
    inventory: Inventory,
    hosts: list[str],
    builds: Iterable[str],
    console: Console,
) -> Executed:
    from benchbook.headless import execute

    for name in builds:
        artefacts.provide(name, console.print)
    with _hosts(inventory, hosts, console):
        # Who runs a report from the command line wants it measured; in a notebook, a finished campaign is opened.
        done = execute(report, {"again": True, **overrides}, console, after_loads=_ready_to_publish)
        if done.killed and (not inventory.lab or lab.by_hand(inventory)):
            _sweep(inventory, hosts, console)
        return done


def until_free(inventory: Inventory, hosts: list[str], console: Console, *, wait: bool) -> None:
    """Raises HostUnusable for hosts that do not answer (a lab is still to come up), HostReserved for those in use.

    With `wait`, the end of whoever uses them is waited for: it says for whom, and again whenever that changes.
    """
    began, said = time.monotonic(), ""
    while True:
        try:
            _check_free(inventory, hosts, wait_s=WAIT_S if said else 0.0)
            break
        except HostReserved as problem:
            if not wait:
                raise
            if said != f"{problem.key}: {problem.problem}":
                said = f"{problem.key}: {problem.problem}"
                console.print(f"waiting: {said}", markup=False)
    if said:
        console.print(f"the hosts are free after {(time.monotonic() - began) / 60:.1f} min: going on")


def _check_free(inventory: Inventory, hosts: list[str], *, wait_s: float) -> None:
    if inventory.lab:
        lab.check_free(inventory, wait_s=wait_s)
    else:
        check_reachable(inventory, hosts, wait_s=wait_s)


def replay(report: str, which: str, console: Console, *, anew: bool = False) -> int:
    """Rebuild one report's page and figures from what was recorded; no host is needed.

    What was drawn from the same records, code and settings is drawn again if `anew`; its page is made in any case.
    """
    known = kind_of(report).Parameters.model_fields
    recorded = store.latest(report, which)
    from benchbook.headless import Executed, execute
    from benchbook.site import drawn_from

    # Before it is drawn: what changes meanwhile is not in what was drawn.
    drawn_of = drawn_from.sources(report, recorded)
    if not anew and drawn_from.is_as_drawn(recorded, drawn_of):
        console.print(f"[bold]{report}[/]: {recorded.id} is as it was drawn")
        return _publish(report, Executed(recorded.folder / paths.EXECUTED, recorded.folder, 0, None), console)
    said = {key: value for key, value in recorded.asked.items() if key in ("profile", "inventory", "systems", "seed")}
    again = {**{k: v for k, v in said.items() if k in known}, "replay": True, "campaign": recorded.id}
    console.print(f"[bold]{report}[/]: replaying {recorded.id}")
    done = execute(report, again, console, forked=True)
    if done.status == 0:
        drawn_from.note(recorded, drawn_of)
    return _publish(report, done, console)


def done_soonest(reports: Iterable[str], at_once: int) -> list[str]:
    """The reports in the order in which all their pages are made soonest, `at_once` side by side.

    How long a page takes is told from what its notebook drew before: of one that is begun late, and drew much, a core
    waits for the end alone.
    """

    def takes(report: str) -> int:
        drew = (path.stat().st_size for path in paths.runs_dir(report).glob(f"*/{paths.EXECUTED}"))
        return _DRAWS_NONE_B + max(drew, default=0)

    def end(order: Iterable[str]) -> int:
        ends = [0] * at_once
        for report in order:
            heapreplace(ends, ends[0] + takes_b[report])
        return max(ends)

    takes_b = {report: takes(report) for report in reports}
    longest_first = sorted(takes_b, key=lambda report: takes_b[report], reverse=True)
    return list(min(permutations(longest_first), key=end)) if len(longest_first) <= _FEW else longest_first


def replay_all(steps: Sequence[Callable[[], int]]) -> list[int]:
    """The exit status of each replay; as many at once as there are cores.

    What their notebooks and pages need is imported once, here: for one page that takes longer than to draw it.
    """
    from benchbook.site import drawn_from, publish, side_by_side

    with uncollected():
        for name in NEEDED:
            import_module(name)
        publish.warm_up()
        drawn_from.warm_up()
    return side_by_side.run(steps)


def judge_claims(report: str, which: str, console: Console) -> int:
    """Print what a recorded campaign (the latest without `which`) says of each claim; no host is needed. Returns 0."""
    kind, recorded = kind_of(report), store.latest(report, which)
    from benchbook.claims import claims_terminal, judge

    found = judge.of_campaign(recorded, published.load(report), kind.tables, kind.compared)
    claims_terminal.show(report, recorded.id, found, console)
    return 0


def publish_campaigns(which: str, console: Console) -> int:
    """Put a campaign (without `which`, the latest of every report) into `public/`, which is deployed; returns 0.

    `which` is an address as `compare` takes it; a report means its latest campaign that has a notebook. Nothing is run
    again: the page is made of the notebook that the campaign's run has left. Raises BadInput.
    """
    chosen = {report: folder for report, folder in _to_publish(which) if (folder / paths.EXECUTED).is_file()}
    if not chosen:
        fix = "`benchbook runs` lists those that were; run it again, or `benchbook site` for one without a notebook"
        raise BadInput("no campaign with an executed notebook", key="campaign", value=which or "any", fix=fix)
    from benchbook.site import publish

    for report, folder in sorted(chosen.items()):
        page = publish.publish(report, folder / paths.EXECUTED, folder / paths.RESULTS, paths.public_dir())
        console.print(f"{report}: {page}", markup=False, highlight=False)
    console.print("deploy it: commit public/, push, and run the workflow `pages`")
    return 0


def _to_publish(which: str) -> list[tuple[str, Path]]:
    """Report and folder of the campaigns that are meant, the oldest first."""
    known = [(folder.parent.name, folder) for folder in store.recorded()]
    mine = [one for one in known if which in ("", one[0])]
    if mine or not which:
        return mine
    found = address.find(which)
    return [(found.report, found.folder)]


@contextmanager
def _hosts(inventory: Inventory, hosts: list[str], console: Console) -> Iterator[None]:
    """A lab inventory's hosts are started and stopped; on real hosts, what an interrupted run left is ended.

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


def _ready_to_publish() -> None:
    """What makes a page is imported, and its templates are compiled, while the notebook's kernel draws its figures."""
    from benchbook.site import publish

    publish.warm_up()


def _sweep(inventory: Inventory, hosts: list[str], console: Console) -> None:
    console.print("ending what still runs on the hosts")
    try:
        with Session(inventory, hosts):
            pass  # entering a session ends what no driver holds any more
    except BenchbookError as problem:
        said = f"could not: {problem}\nthe hosts end it by themselves within {inventory.ssh.lease_s:g} s"
        console.print(said, markup=False)


def _publish(report: str, done: Executed, console: Console) -> int:
    """Make the page of an executed notebook, say how it went.

    A run that bad input stopped has measured nothing: the page of an earlier run stays.
    """
    from benchbook.site import publish

    if done.problem:
        console.print(done.problem, style="red", markup=False, highlight=False)
    if done.status == BadInput.exit_status:
        return done.status
    results = done.campaign / paths.RESULTS if done.campaign else None
    page = publish.publish(report, done.notebook, results, paths.site_dir())
    if done.problem and done.campaign and not store.Campaign(done.campaign).missing():
        said = f"every trial is recorded: mend that, and `benchbook site {report}` makes the page; no load is run again"
        console.print(said, markup=False, highlight=False)
    if results and done.status == 0:
        _say_verdicts(results, console)
    if done.campaign:
        console.print(f"campaign: {done.campaign}", markup=False, highlight=False)
    console.print(f"page: {page}", markup=False, highlight=False)
    return done.status


def _say_verdicts(file: Path, console: Console) -> None:
    """What a run says of the report's claims, in a line for each system; nothing where no claim was judged."""
    from benchbook.analysis.results import read
    from benchbook.claims import section

    for system, claims in grouped(read(file).claims, lambda claim: claim.system).items():
        of = f" on {system}" if system else ""
        console.print(f"claims{of}: {section.counts(claims)}", markup=False, highlight=False)
