"""How each cell of a batch stands, as it happens: what its page shows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchbook.batch.batch_cell import BatchCell
from benchbook.batch.dispatch import CellResult
from benchbook.errors import NotWritten

# What a running cell says changes the page this often at most.
PAGE_EVERY_S = 5.0


@dataclass
class CellStand:
    """A cell, and since when (seconds since the epoch) it runs; `line` is what it said last."""

    cell: BatchCell
    state: Literal["waits", "runs", "over"] = "waits"
    began: float = 0.0
    line: str = ""
    result: CellResult | None = None


class BatchBoard:
    """A watcher of a batch.

    Whenever one of them stands otherwise, `show` is given all cells, and whether the batch is over. What it cannot
    write meanwhile ends no cell.
    """

    def __init__(self, cells: Sequence[BatchCell], show: Callable[[Sequence[CellStand], bool], Path]) -> None:
        self._stands = {cell.number: CellStand(cell) for cell in cells}
        self._show, self._shown = show, 0.0
        # The driver's thread tells what begins and ends, Dask's what cells say.
        self._turn = threading.Lock()

    def draw(self, *, over: bool = False) -> Path:
        """Show all cells; returns what `show` does. Raises NotWritten."""
        with self._turn:
            return self._show(list(self._stands.values()), over)

    def began(self, cell: BatchCell) -> None:
        self._put(CellStand(cell, "runs", time.time(), "waits for a worker"))

    def said(self, number: int, line: str) -> None:
        with self._turn:
            self._stands[number].line = line
            if time.monotonic() - self._shown > PAGE_EVERY_S:
                self._redraw()

    def again(self, cell: BatchCell) -> None:
        self._put(CellStand(cell, line="its hosts were in use: it is tried again"))

    def ended(self, result: CellResult) -> None:
        began = self._stands[result.cell.number].began
        self._put(CellStand(result.cell, "over", result.ran.began if result.ran else began, result=result))

    def _put(self, stand: CellStand) -> None:
        with self._turn:
            self._stands[stand.cell.number] = stand
            self._redraw()

    def _redraw(self) -> None:
        self._shown = time.monotonic()
        with suppress(NotWritten):
            self._show(list(self._stands.values()), False)
