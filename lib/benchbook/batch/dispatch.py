"""Cells to the cluster and back. A worker that dies costs its cell's try: Dask runs it elsewhere, and records go on."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from distributed import Client, Future, as_completed, wait

from benchbook.batch.cell import PATIENCE_S, CellOrder, CellRan, end_cells
from benchbook.batch.cluster import run_on_worker, topic
from benchbook.batch.plan import BatchCell
from benchbook.errors import NotWritten, one_line
from benchbook.user_input.guard import INTERRUPTED


class InventoryQueues:
    """Cells in a line per inventory, by its file."""

    def __init__(self, cells: Iterable[BatchCell]) -> None:
        self._lines: dict[str, deque[BatchCell]] = {}
        for cell in cells:
            self._lines.setdefault(cell.place, deque()).append(cell)
        self._busy: set[str] = set()

    def __len__(self) -> int:
        """Return how many inventories there are: so many cells run at once at most."""
        return len(self._lines)

    def ready(self) -> Iterator[BatchCell]:
        """Yield the next cell of each inventory on which none runs; it counts as running from here on."""
        for place, line in self._lines.items():
            if line and place not in self._busy:
                self._busy.add(place)
                yield line.popleft()

    def ended(self, cell: BatchCell, *, again: bool = False) -> None:
        """A cell is over, or goes to the end of its line."""
        self._busy.discard(cell.place)
        if again:
            self._lines[cell.place].append(cell)


LOST = 1


@dataclass(frozen=True)
class CellResult:
    """What became of a cell after `attempts` tries; `ran` is None for one that never came to its end."""

    cell: BatchCell
    status: int
    attempts: int
    ran: CellRan | None = None
    problem: str = ""


class Watcher(Protocol):
    """Is told what happens, as it happens."""

    def began(self, cell: BatchCell) -> None: ...
    def said(self, number: int, line: str) -> None: ...
    def again(self, cell: BatchCell) -> None: ...
    def ended(self, result: CellResult) -> None: ...


@dataclass
class Dispatch:
    """A batch under way on a cluster.

    `keep` is given the results so far at the start and after each cell, where one that it cannot write ends no other;
    `program` stands in for the kit's own command.
    """

    batch: str
    client: Client
    queues: InventoryQueues
    watcher: Watcher
    keep: Callable[[Sequence[CellResult]], object]
    program: tuple[str, ...] = ()
    interrupted: bool = False
    _results: list[CellResult] = field(default_factory=list)
    _attempts: dict[int, int] = field(default_factory=dict)
    _begun: dict[str, BatchCell] = field(default_factory=dict)
    _running: dict[str, Future[CellRan]] = field(default_factory=dict)

    def run(self) -> list[CellResult]:
        """All cells to their ends; after Ctrl-C, those that had begun. Raise NotWritten before any begins."""
        self.keep(self._results)
        self.client.subscribe_topic(topic(self.batch), self._event)
        running = as_completed([])
        try:
            running.update(self._submit())
            for future in running:
                self._ended(future)
                running.update(self._submit())
        except KeyboardInterrupt:
            self.interrupted = True
            self._end_all()
        return self._results

    def _submit(self) -> list[Future[CellRan]]:
        return [self._started(cell) for cell in self.queues.ready()]

    def _started(self, cell: BatchCell) -> Future[CellRan]:
        attempt = self._attempts[cell.number] = self._attempts.get(cell.number, 0) + 1
        # Refused once, it gave way to the others of its inventory; the second time it waits for its hosts.
        words = (*cell.words(), *(["--wait"] if attempt > 1 else []))
        order = CellOrder(self.batch, cell.number, attempt, words, self.program)
        self._begun[order.key] = cell
        self.watcher.began(cell)
        future = self._running[order.key] = self.client.submit(run_on_worker, order, key=order.key, pure=False)
        return future

    def _ended(self, future: Future[CellRan]) -> None:
        key = str(future.key)
        cell = self._begun[key]
        result = self._result(cell, future)
        again = result.ran is not None and result.ran.busy and result.attempts == 1 and not self.interrupted
        self.queues.ended(cell, again=again)
        # With it goes the last hold on Dask's copy of the result: a worker that dies later costs nothing.
        del self._running[key], self._begun[key]
        if again:
            self.watcher.again(cell)
            return
        self._keep(result)

    def _keep(self, result: CellResult) -> None:
        self._results.append(result)
        self.watcher.ended(result)
        with suppress(NotWritten):
            self.keep(self._results)

    def _result(self, cell: BatchCell, future: Future[CellRan]) -> CellResult:
        attempts = self._attempts[cell.number]
        if future.status == "finished":
            ran = future.result()
            return CellResult(cell, ran.status, attempts, ran)
        if self.interrupted and future.status == "cancelled":
            return self._untaken(cell)
        problem = future.exception() if future.status == "error" else None
        words = one_line(f"{type(problem).__name__}: {problem}") if problem else f"its task was {future.status}"
        return CellResult(cell, LOST, attempts, problem=words)

    def _untaken(self, cell: BatchCell) -> CellResult:
        return CellResult(cell, INTERRUPTED, self._attempts[cell.number], problem="no worker had taken it")

    def _end_all(self) -> None:
        """End what runs, and wait until it has ended: a second Ctrl-C leaves that to the process guards."""
        self.client.run(end_cells, self.batch, on_error="ignore")
        taken = {key for keys in self.client.processing().values() for key in keys}
        futures = list(self._running.values())
        # A cell that no worker has would be waited for in vain, and a worker that comes later would begin it.
        self.client.cancel([future for future in futures if str(future.key) not in taken and not future.done()])
        # Whatever has not ended by then is said of each.
        with suppress(TimeoutError):
            wait([future for future in futures if not future.cancelled()], timeout=PATIENCE_S + 10)
        for future in futures:
            self._ended(future)
        # Ctrl-C may fall between the word that a cell begins and its way to the cluster.
        for cell in self._begun.values():
            self._keep(self._untaken(cell))

    def _event(self, event: tuple[float, Any]) -> None:
        _, said = event
        self.watcher.said(said["cell"], said["line"])


def new_batch() -> str:
    """Return a name that begins with its time, as a campaign's."""
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{time.time_ns() % 1_000_000_000:09}"
