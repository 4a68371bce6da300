"""The JSON of a batch, `data/runs/batches/ID.json`: written anew after each cell, so that a killed batch leaves one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchbook.batch.batch_cell import BatchCell
from benchbook.batch.batch_plan import BatchPlan
from benchbook.batch.cell_process import batches_dir
from benchbook.batch.dispatch import CellResult
from benchbook.given.whole_file import replace_text

FORMAT = 1


def write(batch: str, plan: BatchPlan, cells: Sequence[BatchCell], results: Sequence[CellResult]) -> Path:
    """Write it in one step; `status` of a cell is null until it is over. Returns its path. Raises NotWritten."""
    by_number = {result.cell.number: result for result in results}
    said = {
        "version": FORMAT,
        "batch": batch,
        "plan": plan.model_dump(exclude_defaults=True),
        "cells": [_cell(cell, by_number.get(cell.number)) for cell in cells],
    }
    return replace_text(batches_dir() / f"{batch}.json", json.dumps(said, indent=1))


def _cell(cell: BatchCell, result: CellResult | None) -> dict[str, object]:
    asked = {**asdict(cell), "parameters": dict(cell.parameters)}
    if result is None:
        return {**asked, "status": None}
    ran = {**result.ran.model_dump(), "page": result.ran.page} if result.ran else {"problem": result.problem}
    return {**asked, "attempts": result.attempts, **ran, "status": result.status}
