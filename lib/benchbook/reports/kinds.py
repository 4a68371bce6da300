"""The kinds of report by name: the kit's own and those of installed packages."""

from __future__ import annotations

from typing import Any

from benchbook import paths, plugins, published
from benchbook.errors import BadInput
from benchbook.reports.kind import Kind

GROUP = "kinds"


def known() -> list[str]:
    """The names that `restaged_by` of a report.yaml may use."""
    return plugins.names(GROUP)


def kind_of(report: str) -> Kind[Any]:
    """Raises BadInput for an unknown report, and for one that nothing restages."""
    name = published.facts(report).restaged_by
    if name is None or name not in known():
        raise BadInput(
            "nothing restages this report" if name is None else "no such kind of experiment",
            file=paths.published_dir(report) / "report.yaml",
            key="restaged_by",
            value=name,
            fix=f"write one of {', '.join(known())}",
        )
    kind: Kind[Any] = plugins.load(GROUP, name, key="restaged_by")()
    return kind
