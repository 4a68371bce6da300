"""A kernel that is killed is an error of the cell that it ran: the notebook is kept, and says where it ended.

papermill itself lets what nbclient raises then through, with nothing written.
"""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode, v4
from papermill.engines import NBClientEngine, papermill_engines

ENGINE = "benchbook"
# What the notebook calls it, as a cell calls an exception.
NAME = "KernelDied"
_SAID = (
    "the notebook's kernel was killed, or ran out of memory. What it had recorded stays: run the same again, and only "
    "the rest is run"
)


def mark(notebook: NotebookNode) -> None:
    """Leave the error in the last cell that was begun, or in the first one."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    begun = [cell for cell in code if cell.metadata.get("papermill", {}).get("start_time")]
    (begun or code[:1])[-1].outputs.append(
        v4.new_output("error", ename=NAME, evalue=_SAID, traceback=[f"{NAME}: {_SAID}"])
    )


def _execute(manager: Any, kernel: str, **options: Any) -> None:
    try:
        NBClientEngine.execute_managed_notebook(manager, kernel, **options)
    except RuntimeError as problem:
        # nbclient's DeadKernelError, and what jupyter_client says of one that died before its first answer.
        if not str(problem).startswith("Kernel died"):
            raise
        mark(manager.nb)


# papermill finds an engine by its name.
papermill_engines.register(
    ENGINE, type("SurvivingEngine", (NBClientEngine,), {"execute_managed_notebook": staticmethod(_execute)})
)
