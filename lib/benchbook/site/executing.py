"""A notebook's cells run by papermill, in a kernel whose sockets are its own."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from papermill import execute_notebook
from papermill.exceptions import PapermillExecutionError as CellFailed
from traitlets.config import Config

from benchbook import paths
from benchbook.errors import BadInput
from benchbook.site import kernel_death
from benchbook.site.kernel_death import NAME as KERNEL_DIED

__all__ = ["KERNEL_DIED", "CellFailed", "papermill"]
# A kernel is interrupted before it is shut down, and says so as an error; what cells raise comes by another way.
_QUIET = ["--IPKernelApp.log_level=50"]


def papermill(report: str, parameters: Mapping[str, object], target: Path, **options: object) -> None:
    """Execute the report's notebook into `target`; `options` are papermill's own.

    Raises CellFailed, and BadInput for a file that cannot be run.
    """
    notebook = paths.notebook(report)
    try:
        with tempfile.TemporaryDirectory(prefix="benchbook-") as sockets:
            _execute(notebook, parameters, target, sockets, options)
    except (KeyError, ValueError) as problem:
        # What a cell raises comes as PapermillExecutionError: this is about the file, and the kernel that it names.
        key, fix = "metadata.kernelspec", "open it in Jupyter, choose the kernel `Python 3`, and save it"
        raise BadInput("papermill cannot run it", file=notebook, key=key, value=str(problem), fix=fix) from problem


def _execute(
    notebook: Path, parameters: Mapping[str, object], target: Path, sockets: str, options: Mapping[str, object]
) -> None:
    # Over sockets of the file system nobody else on the machine can listen to the kernel; without a path of their own
    # they would be `kernel-ipc-1` of the project folder, and two runs side by side would take each other's.
    kernel = {"transport": "ipc", "ip": f"{sockets}/kernel"}
    execute_notebook(
        str(notebook),
        str(target),
        parameters=dict(parameters),
        cwd=str(paths.home()),
        progress_bar=False,
        config=Config({"KernelManager": kernel, "NotebookClient": {"extra_arguments": _QUIET}}),
        # Saving after every cell costs 40 ms each, in the middle of a measurement.
        request_save_on_cell_execute=False,
        engine_name=kernel_death.ENGINE,
        **options,
    )
