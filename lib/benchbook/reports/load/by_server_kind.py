"""A load report whose tables say, row by row, which system a figure belongs to: versions, or servers, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from benchbook.analysis.results import Row, Table
from benchbook.campaign.design import Cell, Trial
from benchbook.campaign.record import Record
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

    def tables(self, published: Published, records: Sequence[Record], trials: Sequence[Trial]) -> list[Table]:
        """Each published table beside what was measured of the same system."""
        return [_own_rows(table) for table in super().tables(published, records, trials)]


def _own_rows(table: Table) -> Table:
    """The tables come with every system beside every row: here those of others go."""
    ran = {_level(row, "system") for row in table.rows}
    own = [row for row in table.rows if _level(row, SERVER) in (None, _level(row, "system"))]
    absent = [row for row in table.rows if _level(row, SERVER) not in {None, *ran}]
    once = {(_level(row, SERVER), _at(row)): row for row in absent}
    named = [row.model_copy(update={"system": _level(row, SERVER), "measured": None}) for row in once.values()]
    return table.model_copy(update={"rows": [*own, *named]})


def _level(row: Row, name: str) -> object:
    return (row.model_extra or {}).get(name)


def _at(row: Row) -> tuple[tuple[str, object], ...]:
    """The metric and every level but the system, which tells the same published row from another."""
    levels = {**(row.model_extra or {}), "metric": row.metric}
    return tuple(sorted((name, value) for name, value in levels.items() if name != "system"))
