"""Cells to the cluster and back. A worker that dies costs its cell's try: Dask runs it elsewhere, and records go on."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from distributed import Client, Future, as_completed, wait

from benchbook.batch.cell import PATIENCE_S, CellOrder, CellRan, end_cells
from benchbook.batch.cluster import run_on_worker, topic
from benchbook.batch.display import LOST, BatchDisplay, CellState
from benchbook.errors import one_line
from benchbook.grouping import grouped
from benchbook.user_input.guard import INTERRUPTED


@dataclass
class Dispatch:
    """A batch under way on a cluster; on each inventory one cell runs at a time.

    `shown` is told as each cell begins, says something, is queued again, and is over; `program` stands in for the
    kit's own command. `interrupted`: whether Ctrl-C ended it.
    """

    batch: str
    client: Client
    shown: BatchDisplay
    program: tuple[str, ...] = ()
    interrupted: bool = False
    # By the key of its task; one that is on its way to the cluster has no future yet.
    _running: dict[str, CellState] = field(default_factory=dict)
    _futures: dict[str, Future[CellRan]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lines = grouped(self.shown.states.values(), lambda state: state.cell.place)

    def run(self) -> None:
        """Run all cells to their ends; after Ctrl-C, those that had begun."""
        self.client.subscribe_topic(topic(self.batch), self._event)
        running = as_completed([])
        try:
            running.update(self._submit())
            for future in running:
                self._ended(future)
                # The last hold on Dask's copy of the result: a worker that dies later runs nothing again.
                del future
                running.update(self._submit())
        except KeyboardInterrupt:
            self.interrupted = True
            self._end_all()

    def _submit(self) -> list[Future[CellRan]]:
        """Begin the next cell of each inventory on which none runs."""
        busy = {state.cell.place for state in self._running.values()}
        return [self._begin(line.pop(0)) for place, line in self._lines.items() if line and place not in busy]

    def _begin(self, state: CellState) -> Future[CellRan]:
        state.attempts += 1
        # Refused once, it gave way to the others of its inventory; the second time it waits for its hosts.
        words = (*state.cell.words(), *(["--wait"] if state.attempts > 1 else []))
        order = CellOrder(self.batch, state.cell.number, state.attempts, words, self.program)
        self._running[order.key] = state
        state.runs = True
        self.shown.changed(state)
        future = self._futures[order.key] = self.client.submit(run_on_worker, order, key=order.key, pure=False)
        return future

    def _ended(self, future: Future[CellRan]) -> None:
        state = self._running[key := str(future.key)]
        if future.status == "finished":
            ran = future.result()
            if ran.busy and state.attempts == 1 and not self.interrupted:
                self._lines[state.cell.place].append(state)
            else:
                state.ran, state.status = ran, ran.status
        elif self.interrupted and future.status == "cancelled":
            self._untaken(state)
        else:
            problem = future.exception() if future.status == "error" else None
            state.status = LOST
            state.problem = (
                one_line(f"{type(problem).__name__}: {problem}") if problem else f"its task was {future.status}"
            )
        # Not before: after Ctrl-C, what is still among these is asked again.
        del self._futures[key], self._running[key]
        state.runs = False
        self.shown.changed(state)

    @staticmethod
    def _untaken(state: CellState) -> None:
        state.runs, state.status, state.problem = False, INTERRUPTED, "no worker had taken it"

    def _end_all(self) -> None:
        """End what runs, and wait until it has ended: a second Ctrl-C leaves that to the process guards."""
        self.client.run(end_cells, self.batch, on_error="ignore")
        taken = {key for keys in self.client.processing().values() for key in keys}
        futures = list(self._futures.values())
        # A cell that no worker has would be waited for in vain, and a worker that comes later would begin it.
        self.client.cancel([future for future in futures if str(future.key) not in taken and not future.done()])
        # Whatever has not ended by then is said of each.
        with suppress(TimeoutError):
            wait([future for future in futures if not future.cancelled()], timeout=PATIENCE_S + 10)
        for future in futures:
            self._ended(future)
        # Ctrl-C may fall between the word that a cell begins and its way to the cluster.
        for state in self._running.values():
            self._untaken(state)
            self.shown.changed(state)

    def _event(self, event: tuple[float, Any]) -> None:
        _, said = event
        self.shown.said(said["cell"], said["line"])


def new_batch() -> str:
    """Return a name that begins with its time, as a campaign's."""
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{time.time_ns() % 1_000_000_000:09}"
