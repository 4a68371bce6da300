"""What would refuse a run of a report, found without an inventory or a host: `benchbook check` asks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchbook import parameters, paths
from benchbook.claims.ledger import Ledger
from benchbook.errors import BadInput
from benchbook.given import user_file
from benchbook.given.named import slip_of
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
