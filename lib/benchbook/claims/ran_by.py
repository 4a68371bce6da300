"""Which system a published row is about, where each system ran rows of its own: two versions, two servers."""

from __future__ import annotations

from collections.abc import Iterable

from benchbook.campaign.design import Cell
from benchbook.claims.terms import Term


def ran_by(term: Term, cells: Iterable[Cell]) -> str:
    """The system that alone was to run the term's rows; "" where several were, or none: then it is the judged one.

    `cells` with their published levels.
    """
    found = {cell.system for cell in cells if term.speaks_of(cell.table, cell.levels)}
    return found.pop() if len(found) == 1 else ""
