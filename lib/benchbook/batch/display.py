"""What a batch shows: a line for each running cell on a terminal, and a page, `site/batches/ID.html`.

The page is made anew as cells begin and end; as long as the batch runs, a browser asks for it again by itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import get_args

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column

from benchbook import paths
from benchbook.analysis.results import Verdict
from benchbook.batch.cell import CellFound
from benchbook.batch.dispatch import LOST, CellResult
from benchbook.batch.plan import BatchCell
from benchbook.campaign.progress import duration
from benchbook.errors import NotWritten
from benchbook.site import publish
from benchbook.site.addresses import BATCHES, PAGE
from benchbook.site.summary import Badge
from benchbook.user_input.atomic_file import replace_text
from benchbook.user_input.guard import INTERRUPTED

HEADS = ("cell", "report", "inventory", "profile", "ended", "trials", "claims", "time", "page")
# A browser asks for the page of a running batch this often.
_RELOAD_S = 5
_WAITS, _RUNS = Badge("none", "–", "waits"), Badge("warn", "…", "runs")
_STATUS = {0: "well", 1: "failed", 2: "bad input", INTERRUPTED: "interrupted"}


# -- a cell in words --------------------------------------------------------------------------------------------------


def outcome(result: CellResult) -> str:
    """Return how a cell ended: by its exit status, or "lost" if it never came to one."""
    if result.ran is None and result.status == LOST:
        return "lost"
    found = result.ran.found if result.ran else None
    # A page that cannot be made, or a build, ends a report with the same status.
    lacks = result.status == 1 and found is not None and found.done < found.planned
    return "failed trials" if lacks else _STATUS.get(result.status, f"exit status {result.status}")


def trials(found: CellFound | None) -> str:
    """Return "14 of 15, 1 failed, 2 disturbed"; empty where nothing is known."""
    if found is None:
        return ""
    more = [f"{count} {what}" for what, count in (("failed", found.failed), ("disturbed", found.disturbed)) if count]
    return ", ".join([f"{found.done} of {found.planned}", *more])


def verdicts(counts: Mapping[str, int]) -> str:
    """Return "3 holds, 1 open"; empty where no claim was judged."""
    return ", ".join(f"{counts[name]} {name}" for name in get_args(Verdict) if counts.get(name))


def why(result: CellResult) -> str:
    """Return why a cell did not end well; empty for one that did."""
    if result.ran is None:
        return result.problem
    if result.status == 0:
        return ""
    broken_off = result.ran.found.problem if result.ran.found else ""
    return broken_off or result.ran.why


def rows(results: Sequence[CellResult]) -> list[tuple[str, ...]]:
    """Return what became of each cell, by its number, for the table (HEADS) at a batch's end."""
    table: list[tuple[str, ...]] = []
    for result in sorted(results, key=lambda result: result.cell.number):
        ran, cell = result.ran, result.cell
        found = ran.found if ran else None
        ended = ": ".join(filter(None, (outcome(result), why(result))))
        claims = verdicts(found.verdicts) if found else ""
        spent, page = (duration(ran.ended - ran.began), ran.page) if ran else ("", "")
        names = (str(cell.number), cell.report, Path(cell.inventory).stem, Path(cell.profile).stem)
        table.append((*names, ended, trials(found), claims, spent, page))
    return table


# -- as they go on ----------------------------------------------------------------------------------------------------


@dataclass
class CellState:
    """A cell, since when (seconds since the epoch) it runs (0: it waits), what it said last, and its result."""

    cell: BatchCell
    began: float = 0.0
    line: str = ""
    result: CellResult | None = None

    @property
    def name(self) -> str:
        return "over" if self.result else "runs" if self.began else "waits"


class BatchDisplay:
    """A watcher of a batch, on a terminal (in a pipe: a line per event) and as a page.

    A page that cannot be written meanwhile ends no cell.
    """

    def __init__(self, batch: str, plan: str, cells: Sequence[BatchCell], console: Console) -> None:
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

    def write(self, *, over: bool = False) -> Path:
        """Write the page; return its path. Raise NotWritten."""
        with self._lock:
            return write_page(self._batch, self._plan, list(self.states.values()), over=over)

    def began(self, cell: BatchCell) -> None:
        self._tasks[cell.number] = self._bars.add_task(f"  {cell}", total=None, line="waits for a worker")
        if not self._console.is_terminal:
            self._print(f"begins: {cell}")
        self._put(CellState(cell, time.time(), "waits for a worker"))

    def said(self, number: int, line: str) -> None:
        with self._lock:
            self.states[number].line = line
        if number not in self._tasks:
            return
        # A report in a pipe prints "3/12  done ..." for each trial.
        done, slash, total = line.partition(" ")[0].partition("/")
        if slash and done.isdecimal() and total.isdecimal():
            self._bars.update(self._tasks[number], completed=int(done), total=int(total))
        self._bars.update(self._tasks[number], line=line)

    def again(self, cell: BatchCell) -> None:
        self._bars.remove_task(self._tasks.pop(cell.number))
        self._print(f"hosts in use, queued again: {cell}")
        self._put(CellState(cell, line="its hosts were in use: it is tried again"))

    def ended(self, result: CellResult) -> None:
        self._bars.remove_task(self._tasks.pop(result.cell.number))
        self._bars.advance(self._all)
        where = f" ({result.problem})" if result.ran is None else f", {result.ran.log}" if result.status else ""
        self._print(f"{outcome(result)}: {result.cell}{where}", None if result.status == 0 else "red")
        began = result.ran.began if result.ran else self.states[result.cell.number].began
        self._put(CellState(result.cell, began, result=result))

    def _put(self, state: CellState) -> None:
        with self._lock:
            self.states[state.cell.number] = state
        with suppress(NotWritten):
            self.write()

    def _print(self, text: str, style: str | None = None) -> None:
        self._console.print(text, style=style, markup=False)


# -- the page ---------------------------------------------------------------------------------------------------------


def write_page(batch: str, plan: str, states: Sequence[CellState], *, over: bool) -> Path:
    """Write the page of a batch whose cells stand so; `plan` names its file. Return its path. Raise NotWritten."""
    now, site = time.time(), paths.site_dir()
    html = publish.rendered(
        "batch.html.j2",
        batch=batch,
        plan=plan,
        rows=[_row(state, site, now) for state in states],
        counts={name: sum(state.name == name for state in states) for name in ("over", "runs", "waits")},
        over=over,
        every_s=_RELOAD_S,
        now=datetime.fromtimestamp(now, UTC),
    )
    return replace_text(site / BATCHES / f"{batch}.html", html)


def _row(state: CellState, site: Path, now: float) -> dict[str, object]:
    result = state.result
    ran = result.ran if result else None
    found = ran.found if ran else None
    below = f"{state.cell.report}/{found.campaign}/{PAGE}" if found else ""
    return {
        "cell": state.cell,
        "badge": _badge(state),
        "spent": duration((ran.ended if ran else now) - state.began) if state.began else "",
        "href": f"../{below}" if below and (site / below).is_file() else "",
        "line": "" if result else state.line,
        "why": why(result) if result else "",
        "log": f"{ran.host}:{ran.log}" if ran and ran.status else "",
        "trials": trials(found),
        "verdicts": verdicts(found.verdicts if found else {}),
    }


def _badge(state: CellState) -> Badge:
    if state.result is None:
        return _RUNS if state.began else _WAITS
    text = outcome(state.result)
    return Badge("good", "✓", text) if state.result.status == 0 else Badge("bad", "✕", text)
