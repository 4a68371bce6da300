"""A load report whose tables say, row by row, which system a figure belongs to: versions, or servers, side by side."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from benchbook.campaign.design import Cell, Trial
from benchbook.parameters import Words
from benchbook.published.tables import Published
from benchbook.reports.load.load_kind import LoadKind, LoadParameters

# The level that names the system, as `systems` of a notebook and of an inventory do.
SERVER = "server"


class ByServerParameters(LoadParameters):
    """As for any load; without `systems`, PostgreSQL alone."""

    system: Words = "postgresql"


class ByServerKind(LoadKind):
    """As any load report, but each system is put beside its own rows, and beside no other's.

    A published system that was not run keeps its rows, under its own name and with nothing measured.
    """

    Parameters = ByServerParameters
    own_factors = frozenset({SERVER})

    def cells(self, published: Published, parameters: LoadParameters) -> list[Cell]:
        """One cell per system and number of threads: the levels of its own rows."""
        every = super().cells(published, parameters)
        return [cell.model_copy(update={"levels": {**cell.levels, SERVER: cell.system}}) for cell in every]

    def systems(self, published: Published, trials: Sequence[Trial]) -> list[str]:
        """Return those of the plan, then those that were published alone."""
        named = [
            str(row[SERVER]) for table in published.tables.values() if SERVER in table.levels for row in table.cells
        ]
        return list(dict.fromkeys([*super().systems(published, trials), *named]))

    def beside(self, published: Published, figures: pd.DataFrame, trials: Sequence[Trial]) -> pd.DataFrame:
        """Return each published table beside what was measured of the same system."""
        every = super().beside(published, figures, trials)
        ran = every["system"].isin(super().systems(published, trials))
        server = every.get(SERVER, pd.Series(index=every.index, dtype=object)).astype(object)
        mine = (server == every["system"].astype(object)) | (server.isna() & ran)
        return every.loc[mine].reset_index(drop=True)
