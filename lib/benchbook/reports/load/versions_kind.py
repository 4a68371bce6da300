"""A load report on two versions of one system, or more: each of ours takes the place of a published one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
from pydantic import Field

from benchbook import paths
from benchbook.campaign.design import Cell, Trial
from benchbook.errors import BadInput
from benchbook.hosts.inventory import Inventory
from benchbook.parameters import Words
from benchbook.profiles import Profile
from benchbook.published.tables import Published
from benchbook.reports import stated
from benchbook.reports.load.load_kind import LoadKind, LoadParameters
from benchbook.reports.load.load_trials import LoadTrials

# The level that names the published version, in the order in which the design lists them.
VERSION = "version"


class VersionsParameters(LoadParameters):
    """As for any load; `systems` are put in the places of the published versions, in their order: older first."""

    system: Words = ""
    systems: list[Words] = Field(default=["tidb:6.5", "tidb:7.1"])


class VersionsKind(LoadKind):
    """As any load report, but each system runs, and stands beside, the rows of one published version."""

    Parameters = VersionsParameters
    own_factors = frozenset({VERSION})

    def cells(self, published: Published, parameters: LoadParameters) -> list[Cell]:
        """One cell per system and row of the version whose place it takes."""
        place = places(published, parameters.names())
        every = super().cells(published, parameters)
        return [cell.model_copy(update={"levels": {**cell.levels, VERSION: place[cell.system]}}) for cell in every]

    def asked(
        self, published: Published, parameters: LoadParameters, profile: Profile, inventory: Inventory
    ) -> dict[str, object]:
        """Also which system takes the place of which version."""
        said = super().asked(published, parameters, profile, inventory)
        return {**said, "in_place_of": places(published, parameters.names())}

    def experiment(
        self, published: Published, parameters: LoadParameters, profile: Profile, inventory: Inventory
    ) -> LoadTrials:
        """Each system is said to stand in for its version, unless it says that it is that version."""
        place = places(published, parameters.names())
        product = published.report.systems[0].name if published.report.systems else published.report.document.product
        stands = {system: (product, version) for system, version in place.items()}
        return replace(super().experiment(published, parameters, profile, inventory), in_place_of=stands)

    def beside(self, published: Published, figures: pd.DataFrame, trials: Sequence[Trial]) -> pd.DataFrame:
        """Return each published table beside what was measured of the system in the place of each version."""
        planned = {(trial.cell.system, trial.cell.levels.get(VERSION)) for trial in trials}
        every = super().beside(published, figures, trials)
        mine = [pair in planned for pair in zip(every["system"], every[VERSION], strict=True)]
        return every[mine].reset_index(drop=True)


def places(published: Published, systems: Sequence[str]) -> dict[str, str]:
    """System -> published version. Raises BadInput unless there is one system for each version."""
    versions = _versions(published)
    if len(systems) != len(versions):
        raise BadInput(
            "each published version needs one system in its place",
            file=paths.notebook(published.report.name),
            key="systems",
            value=list(systems),
            fix=f"name {len(versions)} different systems, for {', '.join(versions)} in this order",
        )
    return dict(zip(systems, versions, strict=True))


def _versions(published: Published) -> list[str]:
    """As the designs list them, all alike. Raises BadInput."""
    said = {e.name: [str(v) for v in e.factors.get(VERSION, [])] for e in stated.design(published)}
    first = next(iter(said.values()))
    for name, versions in said.items():
        if not versions or versions != first:
            raise BadInput(
                "every design of such a report lists the same versions",
                file=paths.published_dir(published.report.name) / "report.yaml",
                key=f"design.{name}.factors.{VERSION}",
                value=versions,
                fix=f"write {first}" if first else f"add `{VERSION}: [OLDER, NEWER]`, and this level to its table",
            )
    return first
