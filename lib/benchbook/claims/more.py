"""Which cells of a design need more repetitions before the claims about them can be decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchbook import results
from benchbook.claims.ledger import Ledger
from benchbook.design import Cell, Trial


def open_cells(
    ledger: Ledger | None, verdicts: Sequence[results.Claim], trials: Sequence[Trial], *, most: int
) -> list[Cell]:
    """The planned cells of every table that an undecided claim speaks of, if `most` repetitions could decide it.

    A claim is judged within repetitions, so that all of its tables are repeated together.
    """
    tables = {claim.id: set(_tables(claim.model_dump())) for claim in ledger.claims} if ledger else {}
    wanted = {
        (verdict.system, table)
        for verdict in verdicts
        if verdict.verdict == "inconclusive" and verdict.needed is not None and verdict.needed <= most
        for table in tables[verdict.id]
    }
    cells = {trial.cell.model_dump_json(): trial.cell for trial in trials}
    return [cell for cell in cells.values() if (cell.system, cell.table) in wanted]


def _tables(said: Any) -> Iterator[str]:
    """Every table that a claim names, at any depth."""
    if isinstance(said, dict):
        yield from (said[key] for key in ("table",) if said.get(key))
        yield from said.get("tables") or []
        for value in said.values():
            yield from _tables(value)
    elif isinstance(said, list):
        for value in said:
            yield from _tables(value)
