"""Which system a published row is about, where each system ran rows of its own: two versions, two servers."""

from __future__ import annotations

from collections.abc import Iterable

from benchbook.campaign.design import Cell
from benchbook.claims.terms import Term


def ran_by(term: Term, cells: Iterable[Cell]) -> str:
    """The system that alone was to run the term's rows; "" where several were, or none: then it is the judged one.

    `cells` with their published levels. Of a table that was left out, a text that only one system has as a level of
    another table (a version) tells.
    """
    known = list(cells)
    found = {cell.system for cell in known if term.speaks_of(cell.table, cell.levels)}
    if not found:
        texts = [(name, value) for name, value in term.rows.items() if isinstance(value, str)]
        having = [{cell.system for cell in known if cell.levels.get(name) == value} for name, value in texts]
        found = {system for each in having if len(each) == 1 for system in each}
    return found.pop() if len(found) == 1 else ""
