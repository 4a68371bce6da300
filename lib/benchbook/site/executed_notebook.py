"""An executed notebook as papermill left it: read it, and find out whether it reached its end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbconvert.filters import strip_ansi
from nbformat import NotebookNode, v4

from benchbook.errors import BadInput


@dataclass(frozen=True)
class NotebookError:
    """The error that ended a notebook: number of the cell as run (In [n]) and the error as one paragraph."""

    cell: int | None
    text: str


def load(path: Path) -> NotebookNode:
    """Read an executed notebook as version 4; a run that stopped without an error gets one where it stopped.

    Raises BadInput for a file that is no notebook.
    """
    try:
        notebook: NotebookNode = nbformat.read(path, as_version=4)
    except (ValueError, KeyError, AttributeError, TypeError) as problem:
        fix = "draw it anew (`benchbook site`), or remove the file"
        raise BadInput("is not a notebook", file=path, key="the file", value=str(problem), fix=fix) from problem
    if failure(notebook) is None:
        _mark_stop(notebook)
    return notebook


def failure(notebook: NotebookNode) -> NotebookError | None:
    """The first error among the outputs, or None for a notebook that ran to its end."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                text = " ".join(strip_ansi(f"{output.ename}: {output.evalue}").split())
                return NotebookError(cell.get("execution_count"), text)
    return None


def _mark_stop(notebook: NotebookNode) -> None:
    # A kernel that is killed leaves no error, and papermill calls such cells completed: what shows it is that the
    # cells after the last one run have no number.
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    left = [cell for cell in code if cell.execution_count is None]
    if left:
        last = next((cell for cell in reversed(code) if cell.execution_count is not None), left[0])
        said = f"the kernel ended before the notebook did; code cells that did not run: {len(left)}."
        last.outputs.append(v4.new_output("error", ename="NotebookStopped", evalue=said, traceback=[]))
