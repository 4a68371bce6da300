"""A report of loads on a system that decides by quorum; in loads beside the published ones a member is killed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from benchbook import systems
from benchbook.campaign.design import Cell
from benchbook.errors import BadInput
from benchbook.hosts.inventory import Inventory
from benchbook.parameters import Words
from benchbook.profiles import Profile
from benchbook.published.tables import Published
from benchbook.reports.load.by_workload_kind import ByWorkloadKind
from benchbook.reports.load.load_kind import LoadParameters
from benchbook.reports.load.load_trials import LoadTrials
from benchbook.reports.quorum.quorum_trials import QuorumTrials
from benchbook.systems.base import Quorum


class QuorumParameters(LoadParameters):
    """As for any load; `killed` says which member is killed in a load of writes, each in one of its own."""

    system: Words = "etcd"
    killed: Annotated[list[Literal["follower", "leader"]], Field(max_length=2)] = []


class QuorumKind(ByWorkloadKind):
    """The loads in which a member is killed stand in the first table, at its most clients, and in no published row."""

    Parameters = QuorumParameters
    Trials = QuorumTrials

    def cells(self, published: Published, parameters: LoadParameters) -> list[Cell]:
        planned = super().cells(published, parameters)
        return [*planned, *_killed(planned, published, parameters)]

    def experiment(
        self, published: Published, parameters: LoadParameters, profile: Profile, inventory: Inventory
    ) -> LoadTrials:
        """Raises BadInput also for a system that a lost member ends."""
        for name in parameters.names():
            if not issubclass(systems.find(name, inventory), Quorum):
                fix = "use etcd, or a system of yours that derives from benchbook.systems.base.Quorum"
                raise BadInput("is no system of members that decide by quorum", key="systems", value=name, fix=fix)
        return super().experiment(published, parameters, profile, inventory)


def _killed(planned: list[Cell], published: Published, parameters: LoadParameters) -> list[Cell]:
    """One cell per system and kind of member; none where the first table is not run."""
    asked = parameters.killed if isinstance(parameters, QuorumParameters) else []
    first = published.report.design[0].table
    found = []
    for system in parameters.names():
        mine = [cell for cell in planned if (cell.table, cell.system) == (first, system)]
        for member in dict.fromkeys(asked) if mine else ():
            most = max(int(cell.levels["threads"]) for cell in mine)
            levels: dict[str, str | int | float] = {"workload": f"put_{member}_killed", "threads": most}
            found.append(Cell(table=first, system=system, levels=levels))
    return found
