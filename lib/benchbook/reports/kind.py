"""What a kind of report declares: its parameters, its cells, its conditions, its experiment, and how it is tabled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import pandas as pd
from pydantic import BaseModel

from benchbook import paths, plugins, published
from benchbook.analysis import beside
from benchbook.analysis.checks import Check
from benchbook.campaign.design import Cell, Trial, digest
from benchbook.campaign.environment import ALIKE
from benchbook.campaign.experiment import Experiment
from benchbook.campaign.max_rate import KneeSearch
from benchbook.campaign.record import Record
from benchbook.errors import BadInput
from benchbook.hosts.endpoint import at
from benchbook.hosts.inventory import Inventory
from benchbook.parameters import Parameters
from benchbook.profiles import Profile, Repeating
from benchbook.published import Published
from benchbook.systems import run_alike

P = TypeVar("P", bound=Parameters)


def common(request: RunRequest) -> dict[str, object]:
    """Of the conditions that all trials share, those that every kind of report has: who, where, how big, which seed.

    And a digest of what the inventory sets, where it sets anything: who changes that begins a new campaign. Of systems
    that would run alike it is said, for no claim can be about what sets them apart.
    """
    inventory, systems = request.inventory, request.parameters.names()
    settings = settings_of(inventory)
    alike = run_alike(systems, inventory) if len(systems) > 1 else {}
    return {
        "profile": request.profile.name,
        "inventory": inventory.name,
        "systems": systems,
        "seed": request.parameters.seed,
        "hosts": {name: host.address for name, host in inventory.hosts.items()},
        **({"settings": digest(settings)} if settings else {}),
        **({ALIKE: alike} if alike else {}),
    }


def settings_of(inventory: Inventory) -> dict[str, dict[str, Any]]:
    """Return what decides how servers run, and which are measured that exist, under the keys of an inventory's file.

    In a lab, `tune` is set where it may be.
    """
    hosts = {"cpus"} if inventory.lab else {"cpus", "tune"}
    dumped = {
        "systems": {
            name: _only(one, {"binary", "settings", "host_settings"}) for name, one in inventory.systems.items()
        },
        "endpoints": {name: {"host": at(one.host, one.port)} for name, one in inventory.endpoints.items()},
        "hosts": {name: _only(host, hosts) for name, host in inventory.hosts.items()},
    }
    found = {what: {name: one for name, one in said.items() if one} for what, said in dumped.items()}
    return {what: said for what, said in found.items() if said}


def _only(section: BaseModel, keys: set[str]) -> dict[str, Any]:
    return section.model_dump(mode="json", include=keys, exclude_defaults=True)


class Kind(ABC, Generic[P]):
    """One kind of report, found by the name that `restaged_by` of a report.yaml uses (entry point `benchbook.kinds`).

    Nothing is taken over from another kind; what has a default here means the same for every report.
    """

    Parameters: type[P]
    clients: ClassVar[tuple[str, ...]] = ()
    """Names of the levels that count the clients of a closed loop."""

    @abstractmethod
    def cells(self, published: Published, parameters: P) -> list[Cell]:
        """Return the design: every combination of levels on every system. Raise BadInput."""

    @abstractmethod
    def asked(self, request: RunRequest) -> dict[str, object]:
        """Return the conditions that all trials share, as they stand in every record."""

    @abstractmethod
    def experiment(self, request: RunRequest) -> Experiment:
        """Return how the trials are run; no host is touched yet. Raise BadInput for what the inventory lacks."""

    @abstractmethod
    def builds(self, request: RunRequest) -> list[str]:
        """Return names of env/systems/ that must have been built from source before the run."""

    @abstractmethod
    def record_checks(self, record: Record) -> list[Check]:
        """Return what a record of this kind must answer for."""

    def knee(self, request: RunRequest) -> KneeSearch | None:
        """Return the search for the highest rate that keeps a latency; None where the parameters ask for none."""
        return None

    def scaled(self, parameters: P, profile: Profile) -> tuple[str, ...]:
        """Return names of the levels that are scaled with the cores here; () where the published ones are run."""
        return ()

    def check_load(self, published: Published, allow: Sequence[str]) -> None:
        """Raise BadInput for a workload or option of the report that its load does not know and `allow` does not name.

        It needs no inventory and no host. A kind whose reports choose neither has nothing to refuse.
        """

    def check_cells(self, cells: Sequence[Cell]) -> None:
        """Raise BadInput for a level, as it is to be run, that a system or a load generator does not take."""

    def asked_otherwise(self, asked: Mapping[str, Any], tables: Collection[str]) -> list[str]:
        """Return a sentence for each condition of a run that changes what its figures say of the published ones.

        asked : as `asked` returns it; tables : those that the run planned. They stand above the tables.
        """
        return []

    def figures(self, published: Published, figures: pd.DataFrame) -> pd.DataFrame:
        """Return the figures of the published tables (schema.FIGURES); `figures` are those of all trials.

        Claims are judged by them, and they stand beside the published ones.
        """
        return beside.in_tables(published, figures)

    def systems(self, published: Published, trials: Sequence[Trial]) -> list[str]:
        """Return the systems that stand beside the published tables, in the order of the plan."""
        return list(dict.fromkeys(trial.cell.system for trial in trials))

    def beside(self, published: Published, figures: pd.DataFrame, trials: Sequence[Trial]) -> pd.DataFrame:
        """Return what was published beside what was measured (schema.BESIDE); `figures` as `figures` returns them.

        trials : those of the plan, at the published levels that they stand for.
        """
        levels = {name for trial in trials for name in trial.cell.levels}
        return beside.beside(published, figures, self.systems(published, trials), levels)


@dataclass(frozen=True)
class RunRequest:
    """A report with everything that a user says of it: nothing here has asked a host yet."""

    kind: Kind[Any]
    published: Published
    parameters: Any
    profile: Profile
    inventory: Inventory

    @property
    def repeating(self) -> Repeating | None:
        """How repetitions are added: as the profile says, unless the user says how many there are."""
        return None if self.parameters.repetitions else self.profile.repeat

    def asked(self) -> dict[str, object]:
        return self.kind.asked(self)

    def experiment(self) -> Experiment:
        return self.kind.experiment(self)


GROUP = "kinds"


def known() -> list[str]:
    """Return the names that `restaged_by` of a report.yaml may use."""
    return plugins.names(GROUP)


def kind_of(report: str) -> Kind[Any]:
    """Raise BadInput for an unknown report, and for one that nothing restages."""
    name = published.facts(report).restaged_by
    if name is None or name not in known():
        said = "nothing restages this report" if name is None else "no such kind of experiment"
        fix = f"write one of {', '.join(known())}"
        raise BadInput(said, file=paths.published_dir(report) / "report.yaml", key="restaged_by", value=name, fix=fix)
    kind: Kind[Any] = plugins.load(GROUP, name, key="restaged_by")()
    return kind
