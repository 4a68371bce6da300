"""Which cells of a design need more repetitions before the claims about them can be decided."""

from __future__ import annotations

from collections.abc import Sequence

from benchbook.analysis import results
from benchbook.campaign.design import Cell, Trial
from benchbook.claims.ledger import Ledger


def open_cells(
    ledger: Ledger | None, verdicts: Sequence[results.JudgedClaim], trials: Sequence[Trial], *, most: int
) -> list[Cell]:
    """The planned cells of every table that an undecided claim speaks of, if `most` repetitions could decide it.

    A claim is judged within repetitions, so that all of its tables are repeated together.
    """
    tables = {claim.id: claim.in_tables() for claim in ledger.claims} if ledger else {}
    wanted = {
        (verdict.system, table)
        for verdict in verdicts
        if verdict.verdict == "inconclusive" and verdict.needed is not None and verdict.needed <= most
        for table in tables[verdict.id]
    }
    cells = {trial.cell.model_dump_json(): trial.cell for trial in trials}
    return [cell for cell in cells.values() if (cell.system, cell.table) in wanted]
