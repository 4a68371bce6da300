"""`benchbook batch`: read the plan, refuse what cannot run, run all cells, say the worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from distributed import Client
from rich.console import Console

from benchbook import pipeline
from benchbook.batch.cluster import opened
from benchbook.batch.dispatch import Dispatch, new_batch
from benchbook.batch.display import BatchDisplay
from benchbook.batch.plan import BatchCell, BatchPlan, cells_of, load_plan
from benchbook.errors import BadInput, counted
from benchbook.overview.lists import print_table
from benchbook.reports import planning
from benchbook.user_input.guard import INTERRUPTED


def run(file: str, console: Console, *, dry: bool, scheduler: str = "") -> int:
    """Run the plan in `file`, or with `dry` only print it; returns the worst exit status of its cells.

    Raise BadInput before anything is started.
    """
    plan = load_plan(Path(file))
    cells = cells_of(plan)
    firsts = {cell.report: cell for cell in reversed(cells)}
    trials = {cell.number: _planned(plan, cell, first=cell is firsts[cell.report]) for cell in cells}
    if dry:
        _print(cells, trials, console)
        return 0
    # As many workers as inventories: one cell runs on each at a time.
    return run_cells(plan, cells, console, opened(scheduler, len({cell.place for cell in cells})))


def _planned(plan: BatchPlan, cell: BatchCell, *, first: bool) -> int:
    """Return how many trials a cell plans at first. Raise BadInput, which names the cell, where it cannot run.

    It is checked as its report would be, and no host is touched. What is the same for all cells of a report, its claims
    and figures, is checked with the `first` of them.
    """
    said = {"profile": cell.profile, "inventory": cell.inventory, **dict(cell.parameters)}
    try:
        request = planning.request_for(cell.report, said)
        if first:
            pipeline.check_run(request)
        else:
            # Which hosts it would take: an inventory that lacks a role says so here.
            request.experiment().hosts()
        # Scaling them to the cores of its hosts makes no cell more or less.
        return len(planning.trials(request, planning.at_published_levels(request)))
    except BadInput as problem:
        fix, key = "mend that, or leave the cell out under `exclude`", f"cell {cell.number}"
        raise BadInput(f"{cell} cannot run: {problem}", file=plan.file, key=key, fix=fix) from problem


def _print(cells: Sequence[BatchCell], trials: Mapping[int, int], console: Console) -> None:
    rows = []
    for cell in cells:
        pairs = ", ".join(f"{name}={value}" for name, value in cell.parameters)
        rows.append((*cell.names, pairs, str(trials[cell.number])))
    print_table(console, ("cell", "report", "inventory", "profile", "parameters", "trials"), rows)
    places = counted(len({cell.place for cell in cells}), "inventory", "inventories")
    console.print(
        f"{counted(len(cells), 'cell')} on {places}, one at a time on each; benchbook plan says how long one takes"
    )


def run_cells(
    plan: BatchPlan,
    cells: Sequence[BatchCell],
    console: Console,
    cluster: AbstractContextManager[Client],
    program: Sequence[str] = (),
) -> int:
    """Run cells to their ends, return the worst exit status; `program` stands in for `python -m benchbook`.

    Raise NotWritten, before any begins or when all are over.
    """
    batch = new_batch()
    with cluster as client, BatchDisplay(batch, plan, cells, console) as shown:
        shown.write()
        dispatch = Dispatch(batch, client, shown, tuple(program))
        dispatch.run()
    shown.print_ends()
    console.print(f"results: {shown.write()}", markup=False)
    return INTERRUPTED if dispatch.interrupted else max(state.status or 0 for state in shown.states.values())
