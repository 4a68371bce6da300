"""Which cell comes next. An inventory has a capacity of one: its next cell is ready when the one before is over.

The capacity is kept here, by what is handed to the cluster, and not by Dask: its abstract resources count per worker
and must be declared when a worker starts, which a cluster that is there already has not done; a `distributed.Lock`
blocks the worker that waits for it, and lapses when its holder is silent for 30 s. Hosts that another driver uses are
a matter of their reservation, which knows of all drivers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from benchbook.batch.batch_cell import BatchCell


class InventoryQueues:
    """Cells in a line per inventory, by its file."""

    def __init__(self, cells: Iterable[BatchCell]) -> None:
        self._lines: dict[str, deque[BatchCell]] = {}
        for cell in cells:
            self._lines.setdefault(cell.place, deque()).append(cell)
        self._busy: set[str] = set()

    def __len__(self) -> int:
        """How many inventories there are: so many cells run at once at most."""
        return len(self._lines)

    def ready(self) -> Iterator[BatchCell]:
        """The next cell of each inventory on which none runs; it counts as running from here on."""
        for place, line in self._lines.items():
            if line and place not in self._busy:
                self._busy.add(place)
                yield line.popleft()

    def ended(self, cell: BatchCell, *, again: bool = False) -> None:
        """A cell is over, or goes to the end of its line."""
        self._busy.discard(cell.place)
        if again:
            self._lines[cell.place].append(cell)
