"""What a notebook draws, looked at before its run: names that are sure to be refused, and nothing else."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from benchbook.errors import BadInput
from benchbook.reports import drawn


def written(folder: Path, *cells: str) -> Path:
    path = folder / "a.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells]), path)
    return path


@pytest.mark.parametrize(
    "cells",
    [
        ('plots.levels(report.beside_frame(), "tsp", x="threads", panel="table")',),
        ("beside = report.beside_frame()", 'few = beside[beside.threads < 9]\nplots.levels(few, "tsp", x="threads")'),
        ("%%time", 'report.scaling("tsp", x="threads", panel="workload")'),
    ],
)
def test_a_metric_that_no_table_has_is_found(tmp_path: Path, cells: tuple[str, ...]) -> None:
    with pytest.raises(BadInput, match=r"no such metric \(got 'tsp'\)\. Fix: did you mean tps"):
        drawn.check(written(tmp_path, *cells), {"tps"}, {"threads", "workload", "table"})


@pytest.mark.parametrize(
    "cells",
    [
        # Frames that hold something else as well, whatever they are called, and names that are worked out.
        (
            "b = report.beside_frame()\nb = b.assign(load=b.table)",
            'few = b[b.x > 1]\nplots.levels(few, "t", panel="load")',
        ),
        ('plots.levels(mine, "own", x="size", panel="load")',),
        ("metric = 'tps'", 'report.scaling(metric, x="threads", panel=NAMES[0])'),
        ('# plots.levels(report.beside_frame(), "tsp")\ntext = "report.scaling(\'tsp\')"',),
    ],
)
def test_what_only_its_author_can_know_is_left_alone(tmp_path: Path, cells: tuple[str, ...]) -> None:
    drawn.check(written(tmp_path, *cells), {"tps"}, {"threads", "workload", "table"})
