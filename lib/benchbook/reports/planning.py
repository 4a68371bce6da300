"""From what is asked of a report to the trials of its plan: which cells, how often each, under which conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchbook import parameters, paths, plugins, systems
from benchbook.build import fetched
from benchbook.campaign import design, repetitions
from benchbook.campaign.design import Cell, Trial
from benchbook.campaign.environment import Asked
from benchbook.campaign.scaled_levels import KEY, of_plan, scaled
from benchbook.claims import ledger, undecided
from benchbook.claims.ledger import Ledger
from benchbook.errors import BadInput
from benchbook.hosts import capacity
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.parameters import OnSystems, Parameters
from benchbook.profiles import load_profile
from benchbook.published.hardware import loads_itself, server_cores
from benchbook.published.tables import Published, load
from benchbook.reports.kind import Kind, RunRequest, kind_of
from benchbook.user_input import user_file
from benchbook.user_input.choices import typo_of

# Fewer show no spread.
LEAST_REPETITIONS = 2


def request_for(report: str, given: Mapping[str, object]) -> RunRequest:
    """Return a report with all that a run of it is asked for: `given`, and else its notebook's. Raise BadInput."""
    asked = asked_of(report, given)
    profile, inventory = load_profile(asked.profile), load_inventory(asked.inventory)
    return RunRequest(kind_of(report), load(report), asked, profile, inventory)


def asked_of(report: str, given: Mapping[str, object]) -> Parameters:
    """Return the parameters of a report's notebook with those `given` in place of its own. Raise BadInput."""
    kind = kind_of(report)
    asked: Parameters = parameters.check(kind.Parameters, report, {**parameters.defaults(report), **given})
    return asked


@dataclass(frozen=True)
class Design:
    """The cells as they are to be run, and the conditions that all their trials share."""

    cells: Sequence[Cell]
    asked: Asked


def at_published_levels(request: RunRequest) -> Design:
    """Return every combination of the levels that the report prints, or that the user names. Raise BadInput."""
    options = {each.name: each.options for each in request.published.report.design if each.options}
    asked = {**request.asked(), **({"options": options} if options else {})}
    if repeating := request.repeating:
        asked = {**asked, "repeat": {**repeating.model_dump(), "looks": repetitions.SHARES}}
    return Design(request.kind.cells(request.published, request.parameters), asked)


def as_run_here(request: RunRequest) -> Design:
    """The same with the levels scaled that go with cores, where that is asked for: the hosts say how many they have.

    Raise BadInput for a level that cannot be run, and HostUnusable where a host cannot be reached.
    """
    kind, found = request.kind, at_published_levels(request)
    report = request.published.report
    cores = server_cores(report)
    if (names := kind.scaled(request.parameters, request.profile)) and cores:
        here = capacity.of_servers(request.inventory)
        # A client that shared the published cores, too, is in the figures already.
        clients = kind.clients if here.shared and not loads_itself(report) else ()
        cells, scaling = scaled(found.cells, names, cores_here=here.cores, cores_published=cores, clients=clients)
        found = replace(found, cells=cells, asked={**found.asked, KEY: scaling.model_dump(mode="json")})
    kind.check_cells(found.cells)
    return found


def trials(request: RunRequest, found: Design) -> list[Trial]:
    """The plan; where the profile says so and the user does not, cells that decide no claim are repeated less.

    So are all cells of a plan whose trials would take longer than `plan_min`, down to twice.
    """
    asked_for, profile = request.parameters, request.profile
    count = asked_for.repetitions or profile.repetitions
    less: Sequence[Cell] = ()
    if profile.repetitions_unjudged and not asked_for.repetitions:
        known = ledger.load(request.published)
        less = undecided.unjudged(known, found.cells, found.asked, request.published, of_plan(found.asked))
    fewer = {cell.key: profile.repetitions_unjudged for cell in less}

    def repeated(times: int) -> list[Trial]:
        return design.plan(found.cells, times, seed=asked_for.seed, asked=found.asked, fewer=fewer)

    planned = repeated(count)
    if profile.plan_min and not asked_for.repetitions:
        takes_s = request.experiment().expected_s
        while count > LEAST_REPETITIONS and sum(map(takes_s, planned)) > 60 * profile.plan_min:
            count -= 1
            planned = repeated(count)
    return planned


# -- what would refuse a run, found without a host, and what is fetched for it ----------------------------------------


def check(published: Published, ledger: Ledger | None) -> None:
    """Raise BadInput for a kind, a workload or an option that nobody knows, and for a design without its cells.

    So it does for a claim that names a figure nobody records, and for a parameter of the notebook that no cell reads. A
    report that names no kind (`restaged_by`) is there to be read; one without a notebook allows nothing.
    """
    name = published.report.name
    if published.report.restaged_by is None:
        return
    kind = kind_of(name)
    check_conditions(ledger, kind, name)
    if not user_file.is_there(paths.notebook(name)):
        kind.check_load(published, [])
        return
    parameters.check_read(name)
    kind.check_load(published, asked_of(name, {}).allow)


def placeholders(report: str) -> dict[str, int]:
    """File -> lines in it that `benchbook new` laid down to be replaced, of those that have any."""
    ours = (".csv", ".json", ".yaml")
    files = [file for file in sorted(paths.published_dir(report).iterdir()) if file.suffix in ours]
    there = [file for file in (*files, paths.notebook(report)) if user_file.is_there(file)]
    left = {file: sum("PLACEHOLDER" in line for line in user_file.text(file).splitlines()) for file in there}
    return {
        str(file.relative_to(paths.home())): lines
        for file, lines in left.items()
        if lines and file.is_relative_to(paths.home())
    }


def check_conditions(ledger: Ledger | None, kind: Kind[Any], report: str, asked: Iterable[str] = ()) -> None:
    """Raise BadInput for a condition of a claim on a figure that nobody records: it would never hold.

    So it does for one on a slip in a name under which a campaign asks for something (`asked`); others may be those of
    another profile.
    """
    file, names = paths.published_dir(report) / "claims.yaml", set(asked)
    for claim in ledger.claims if ledger else []:
        for name in (name for each in claim.not_run for name in (*each.asked, *each.below)):
            if meant := typo_of(name, names):
                key, problem = f"{claim.id}.not_run", "no campaign asks for anything under this name"
                raise BadInput(problem, file=file, key=key, value=name, fix=f"write {meant}")


def available(asked: Parameters, overrides: Mapping[str, object], say: Callable[[str], None]) -> Mapping[str, object]:
    """Fetch what `asked` runs on; `overrides` of it, with another system where the default one cannot be had.

    Say so in one sentence. Raise BadInput for one that was asked for by name.
    """
    if not isinstance(asked, OnSystems):
        return overrides
    named = "system" in overrides or "systems" in overrides
    inventory = load_inventory(asked.inventory)
    taken = {name: _taken(name, inventory, say, named=named) for name in asked.names()}
    if all(name == other for name, other in taken.items()):
        return overrides
    return {**overrides, "systems": list(dict.fromkeys(taken.values()))}


def _taken(name: str, inventory: Inventory, say: Callable[[str], None], *, named: bool) -> str:
    """Return the system that is run for this one: itself, if it can be had."""
    try:
        for folder in systems.builds([name], inventory):
            if folder in fetched.systems():
                fetched.fetch(folder, say)
    except fetched.NotFetched as problem:
        other = plugins.load(systems.GROUP, name, key="systems").instead
        if named or not other:
            fix = f"name another system{f', such as {other}' if other else ''}, or mend this"
            raise BadInput(str(problem), key="systems", value=name, fix=fix) from problem
        say(f"{problem}: {other} takes the place of {name}")
        return str(other)
    return name
