"""What would refuse a run of a report, found without an inventory or a host: `benchbook check` asks."""

from __future__ import annotations

from benchbook import parameters, paths
from benchbook.given import user_file
from benchbook.published.tables import Published
from benchbook.reports.kinds import kind_of


def check(published: Published) -> None:
    """Raises BadInput for a kind, a workload or an option that nobody knows, and for a design without its cells.

    A report that names no kind (`restaged_by`) is there to be read; one without a notebook allows nothing.
    """
    name = published.report.name
    if published.report.restaged_by is None:
        return
    kind = kind_of(name)
    if not user_file.is_there(paths.notebook(name)):
        kind.check_load(published, [])
        return
    asked = parameters.check(kind.Parameters, name, parameters.defaults(name))
    kind.check_load(published, asked.allow)
    kind.cells(published, asked)
