"""What a terminal shows of a batch: a line for each cell that runs, updated in place; in a pipe, a line per event."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column

from benchbook.analysis.formatting import duration
from benchbook.batch import batch_words
from benchbook.batch.batch_cell import BatchCell
from benchbook.batch.dispatch import CellResult

HEADS = ("cell", "report", "inventory", "profile", "ended", "trials", "claims", "time", "page")


class BatchView:
    """Drawn while the block runs; told by the driver's threads."""

    def __init__(self, cells: int, console: Console) -> None:
        self._console = console
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
        self._all = self._bars.add_task("cells", total=cells, line="")
        self._tasks: dict[int, TaskID] = {}

    def __enter__(self) -> BatchView:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._bars.stop()

    def began(self, cell: BatchCell) -> None:
        self._tasks[cell.number] = self._bars.add_task(f"  {cell}", total=None, line="waits for a worker")
        if not self._console.is_terminal:
            self._say(f"begins: {cell}")

    def said(self, number: int, line: str) -> None:
        task = self._tasks.get(number)
        if task is None:
            return
        # A report in a pipe prints "3/12  done ..." for each trial.
        done, slash, total = line.partition(" ")[0].partition("/")
        if slash and done.isdecimal() and total.isdecimal():
            self._bars.update(task, completed=int(done), total=int(total))
        self._bars.update(task, line=line)

    def again(self, cell: BatchCell) -> None:
        self._gone(cell)
        self._say(f"hosts in use, queued again: {cell}")

    def ended(self, result: CellResult) -> None:
        self._gone(result.cell)
        self._bars.advance(self._all)
        style = None if result.status == 0 else "red"
        self._say(f"{batch_words.ended(result)}: {result.cell}{_where_to_look(result)}", style)

    def _gone(self, cell: BatchCell) -> None:
        self._bars.remove_task(self._tasks.pop(cell.number))

    def _say(self, text: str, style: str | None = None) -> None:
        self._console.print(text, style=style, markup=False)


def _where_to_look(result: CellResult) -> str:
    if result.ran is None:
        return f" ({result.problem})"
    return f", {result.ran.log}" if result.status else ""


def rows(results: Sequence[CellResult]) -> list[tuple[str, ...]]:
    """What became of each cell, for the table (HEADS) at a batch's end, by its number."""
    return [_row(result) for result in sorted(results, key=lambda result: result.cell.number)]


def _row(result: CellResult) -> tuple[str, ...]:
    ran, cell = result.ran, result.cell
    found = ran.found if ran else None
    what = (str(cell.number), cell.report, Path(cell.inventory).stem, Path(cell.profile).stem)
    claims = batch_words.verdicts(found.verdicts) if found else ""
    spent = duration(ran.ended - ran.began) if ran else ""
    ended = ": ".join(filter(None, (batch_words.ended(result), batch_words.why(result))))
    return (*what, ended, batch_words.trials(found), claims, spent, ran.page if ran else "")
