"""What would refuse a run of a report, found without a host (`benchbook check` asks), and what it fetches first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from benchbook import parameters, paths, plugins, systems
from benchbook.build import fetched
from benchbook.claims.ledger import Ledger
from benchbook.errors import BadInput
from benchbook.given import user_file
from benchbook.given.choices import slip_of
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.parameters import OnSystems, Parameters
from benchbook.published.tables import Published
from benchbook.reports.kind import Kind, kind_of


def check(published: Published, ledger: Ledger | None) -> None:
    """Raises BadInput for a kind, a workload or an option that nobody knows, and for a design without its cells.

    So it does for a claim that names a figure nobody records. A report that names no kind (`restaged_by`) is there to
    be read; one without a notebook allows nothing.
    """
    name = published.report.name
    if published.report.restaged_by is None:
        return
    kind = kind_of(name)
    check_conditions(ledger, kind, name)
    if not user_file.is_there(paths.notebook(name)):
        kind.check_load(published, [])
        return
    asked = parameters.check(kind.Parameters, name, parameters.defaults(name))
    kind.check_load(published, asked.allow)


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
    """Raises BadInput for a condition of a claim on a figure that nobody records: it would never hold.

    So it does for one on a slip in a name under which a campaign asks for something (`asked`); others may be those of
    another profile.
    """
    file, names = paths.published_dir(report) / "claims.yaml", set(asked)
    for claim in ledger.claims if ledger else []:
        for name in (name for each in claim.not_run for name in (*each.asked, *each.below)):
            if meant := slip_of(name, names):
                key, problem = f"{claim.id}.not_run", "no campaign asks for anything under this name"
                raise BadInput(problem, file=file, key=key, value=name, fix=f"write {meant}")


def available(asked: Parameters, overrides: Mapping[str, object], say: Callable[[str], None]) -> Mapping[str, object]:
    """Fetch what `asked` runs on; `overrides` of it, with another system where the default one cannot be had.

    Says so in one sentence. Raises BadInput for one that was asked for by name.
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
    """The system that is run for this one: itself, if it can be had."""
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
