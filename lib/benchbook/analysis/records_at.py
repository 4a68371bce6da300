"""Which records a row of a table is made of: those that ran at its levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchbook.campaign.record import Record
from benchbook.grouping import grouped


class RecordsAt:
    """The records of a table by system and levels; one that lacks a level belongs to every value of it.

    `names` are levels that will be asked for each time.
    """

    def __init__(self, names: Iterable[str], records: Sequence[Record]) -> None:
        self._names = [name for name in names if all(name in r.levels for r in records)]
        self._found = grouped(records, lambda r: (r.system, *(r.levels[name] for name in self._names)))

    def records(self, system: str, levels: Mapping[str, Any]) -> list[Record]:
        """Those of this system that ran at these levels, as far as they have them."""
        found = self._found.get((system, *(levels[name] for name in self._names)), [])
        return [r for r in found if all(r.levels.get(name, value) == value for name, value in levels.items())]
