"""A load report whose rows name their workload: what is written to or read how, side by side in one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchbook.campaign.design import Cell
from benchbook.hosts.inventory import Inventory
from benchbook.profiles import Profile
from benchbook.published.report_file import TableDesign
from benchbook.published.tables import Published
from benchbook.reports.load.load_kind import LoadKind, LoadParameters
from benchbook.reports.load.load_trials import LoadTrials

# The level that names the workload, as a load generator knows it.
WORKLOAD = "workload"


class ByWorkloadKind(LoadKind):
    """As any load report, but a design may have `workload` among its factors; its own `workload` is then one of them.

    Its threads are scaled as those of one table, so that rows can be compared.
    """

    def cells(self, published: Published, parameters: LoadParameters) -> list[Cell]:
        """One cell per system and published row, or per workload and number of threads that the parameters give."""
        return super().cells(_apart(published), parameters)

    def experiment(
        self, published: Published, parameters: LoadParameters, profile: Profile, inventory: Inventory
    ) -> LoadTrials:
        """Raises BadInput as any load report does, for each of the workloads."""
        return super().experiment(_apart(published), parameters, profile, inventory)

    def check_load(self, published: Published, allow: Sequence[str]) -> None:
        """As any load report, for each of the workloads."""
        super().check_load(_apart(published), allow)


def _apart(published: Published) -> Published:
    """The report with a design per workload in place of one per table."""
    design = [one for each in published.report.design for one in _of_one_workload(each)]
    return replace(published, report=published.report.model_copy(update={"design": design}))


def _of_one_workload(design: TableDesign) -> list[TableDesign]:
    named = list(dict.fromkeys(str(name) for name in design.factors.get(WORKLOAD, [])))
    return [_with(design, name) for name in named] or [design]


def _with(design: TableDesign, workload: str) -> TableDesign:
    """Its other factors, at those levels that were run with it."""
    names = list(design.factors)
    rows = [dict(zip(names, pair, strict=True)) for pair in design.pairs or []]
    mine = [{name: row[name] for name in names if name != WORKLOAD} for row in rows if row[WORKLOAD] == workload]
    factors = {
        name: list(dict.fromkeys(row[name] for row in mine)) if rows else levels
        for name, levels in design.factors.items()
        if name != WORKLOAD
    }
    pairs = [list(row.values()) for row in mine] or None
    return design.model_copy(update={"workload": workload, "factors": factors, "pairs": pairs})
