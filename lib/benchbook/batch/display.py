"""What a batch shows and keeps: a line for each running cell on a terminal, and its results as JSON."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import get_args

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column

from benchbook.analysis.results import Verdict
from benchbook.batch.cell import CellRan, batches_dir
from benchbook.batch.plan import BatchCell, BatchPlan
from benchbook.campaign.progress import duration
from benchbook.errors import NotWritten
from benchbook.overview.lists import print_table
from benchbook.user_input.atomic_file import replace_text
from benchbook.user_input.guard import INTERRUPTED

_HEADS = ("cell", "report", "inventory", "profile", "ended", "trials", "claims", "time", "page")
# The status of a cell that never came to its end.
LOST = 1
_STATUS = {0: "well", 1: "failed", 2: "bad input", INTERRUPTED: "interrupted"}


@dataclass
class CellState:
    """A cell of a batch after `attempts` tries; `status` is None until it is over.

    Then `ran` is None for one that never came to its end, and `problem` says why.
    """

    cell: BatchCell
    runs: bool = False
    attempts: int = 0
    status: int | None = None
    ran: CellRan | None = None
    problem: str = ""

    @property
    def outcome(self) -> str:
        """How a cell that is over ended: by its exit status, or "lost" if it never came to one."""
        if self.ran is None and self.status == LOST:
            return "lost"
        found = self.ran.found if self.ran else None
        # A page that cannot be made, or a build, ends a report with the same status.
        lacks = self.status == 1 and found is not None and found.done < found.planned
        return "failed trials" if lacks else _STATUS.get(self.status or 0, f"exit status {self.status}")

    @property
    def why(self) -> str:
        """Why a cell did not end well; empty for one that did."""
        if self.ran is None or self.status == 0:
            return self.problem
        return (self.ran.found.problem if self.ran.found else "") or self.ran.why

    @property
    def trials(self) -> str:
        """ "14 of 15, 1 failed, 2 disturbed"; empty where nothing is known."""
        if self.ran is None or (found := self.ran.found) is None:
            return ""
        counts = {"failed": found.failed, "disturbed": found.disturbed}
        return ", ".join([f"{found.done} of {found.planned}", *(f"{n} {what}" for what, n in counts.items() if n)])

    @property
    def verdicts(self) -> str:
        """ "3 holds, 1 open"; empty where no claim was judged."""
        counts = self.ran.found.verdicts if self.ran and self.ran.found else {}
        return ", ".join(f"{counts[name]} {name}" for name in get_args(Verdict) if counts.get(name))

    def as_json(self) -> dict[str, object]:
        asked = {**asdict(self.cell), "parameters": dict(self.cell.parameters)}
        if self.status is None:
            return {**asked, "status": None}
        ran = {**self.ran.model_dump(), "page": self.ran.page} if self.ran else {"problem": self.problem}
        return {**asked, "attempts": self.attempts, **ran, "status": self.status}


class BatchDisplay:
    """What is told of a batch: on a terminal (in a pipe: a line per event), and in `data/runs/batches/ID.json`.

    A file that cannot be written meanwhile ends no cell.
    """

    def __init__(self, batch: str, plan: BatchPlan, cells: Sequence[BatchCell], console: Console) -> None:
        self.states = {cell.number: CellState(cell) for cell in cells}
        self._batch, self._plan, self._console = batch, plan, console
        # The driver's thread tells what begins and ends, Dask's what cells say.
        self._lock = threading.Lock()
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(16),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[line]}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._all = self._bars.add_task("cells", total=len(cells), line="")
        self._tasks: dict[int, TaskID] = {}

    def __enter__(self) -> BatchDisplay:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._bars.stop()

    def write(self) -> Path:
        """Write the results so far, of a killed batch too, in one step; return their path. Raise NotWritten."""
        cells = [state.as_json() for state in self.states.values()]
        said = {"batch": self._batch, "plan": self._plan.model_dump(exclude_defaults=True), "cells": cells}
        return replace_text(batches_dir() / f"{self._batch}.json", json.dumps(said, indent=1))

    def said(self, number: int, line: str) -> None:
        """Show what a running cell said last; in a pipe a report prints "3/12  done ..." for each trial."""
        done, slash, total = line.partition(" ")[0].partition("/")
        known = slash and done.isdecimal() and total.isdecimal()
        counts = (int(done), int(total)) if known else (None, None)
        with self._lock:
            if number in self._tasks:
                self._bars.update(self._tasks[number], completed=counts[0], total=counts[1], line=line)

    def changed(self, state: CellState) -> None:
        """A cell has begun, waits again for its hosts, or is over."""
        cell = state.cell
        with self._lock:
            if state.runs:
                self._tasks[cell.number] = self._bars.add_task(f"  {cell}", total=None, line="waits for a worker")
            elif cell.number in self._tasks:
                self._bars.remove_task(self._tasks.pop(cell.number))
        if state.runs and not self._console.is_terminal:
            self._print(f"begins: {cell}")
        elif state.status is not None:
            self._bars.advance(self._all)
            where = f" ({state.problem})" if state.ran is None else f", {state.ran.log}" if state.status else ""
            self._print(f"{state.outcome}: {cell}{where}", None if state.status == 0 else "red")
        elif not state.runs:
            self._print(f"hosts in use, queued again: {cell}")
        with suppress(NotWritten):
            self.write()

    def print_ends(self) -> None:
        """Print what became of each cell that is over, as a table."""
        rows = []
        for state in self.states.values():
            if state.status is not None:
                cell, ended = state.cell, ": ".join(filter(None, (state.outcome, state.why)))
                spent, page = (duration(ran.ended - ran.began), ran.page) if (ran := state.ran) else ("", "")
                rows.append((*cell.names, ended, state.trials, state.verdicts, spent, page))
        print_table(self._console, _HEADS, rows)

    def _print(self, text: str, style: str | None = None) -> None:
        self._console.print(text, style=style, markup=False)
