"""A plan's cells run to their ends, with all that tells of them: terminal, page, JSON. Imported late: Dask is heavy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rich.console import Console

from benchbook import paths
from benchbook.batch import batch_page, batch_results, batch_view
from benchbook.batch.batch_board import BatchBoard
from benchbook.batch.batch_cell import BatchCell
from benchbook.batch.batch_plan import BatchPlan
from benchbook.batch.dask_cluster import opened
from benchbook.batch.dispatch import Dispatch, new_batch
from benchbook.batch.queues import InventoryQueues
from benchbook.given.guard import INTERRUPTED
from benchbook.overview.terminal_table import show
from benchbook.site import publish


def run_cells(
    plan: BatchPlan,
    cells: Sequence[BatchCell],
    console: Console,
    *,
    scheduler: str = "",
    workers: int = 0,
    program: Sequence[str] = (),
) -> int:
    """Run cells to their ends, return the worst exit status; `program` stands in for `python -m benchbook`.

    `workers` 0: as many processes as there are inventories. Raises NotWritten, before any begins or when all are over.
    """
    batch, queues = new_batch(), InventoryQueues(cells)
    keep = partial(batch_results.write, batch, plan, cells)
    board = BatchBoard(cells, partial(batch_page.write, batch, plan.file))
    with opened(scheduler, workers or len(queues)) as client, batch_view.BatchView(len(cells), console) as view:
        console.print(f"page of all cells: {board.draw()}", markup=False)
        dispatch = Dispatch(batch, client, queues, (view, board), keep, tuple(program))
        results = dispatch.run()
    show(console, batch_view.HEADS, batch_view.rows(results))
    console.print(f"results: {keep(results)}", markup=False)
    board.draw(over=True)
    publish.build_index(paths.site_dir())
    return INTERRUPTED if dispatch.interrupted else max(result.status for result in results)
