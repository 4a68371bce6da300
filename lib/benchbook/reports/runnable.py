"""What would refuse a run of a report, found without an inventory or a host: `benchbook check` asks."""

from __future__ import annotations

from typing import Any

from benchbook import parameters, paths
from benchbook.campaign import design
from benchbook.frames.schema import as_level
from benchbook.given import user_file
from benchbook.published.tables import Published
from benchbook.reports import drawn
from benchbook.reports.kind import Kind
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
    check_drawn(published, kind)


def check_drawn(published: Published, kind: Kind[Any]) -> None:
    """Raises BadInput for a name in a figure of the report's notebook that none of its tables has."""
    name = published.report.name
    asked = parameters.check(kind.Parameters, name, parameters.defaults(name))
    trials = design.plan(kind.cells(published, asked), 1, seed=1, asked={})
    rows = [row for table in kind.tables(published, [], trials) for row in table.rows]
    if not rows:
        # Nothing is run, which others say.
        return
    levels = {level for row in rows for level in (row.model_extra or {})}
    levels |= {"table", "system", *map(as_level, levels)}
    drawn.check(paths.notebook(name), {row.metric for row in rows}, levels)
