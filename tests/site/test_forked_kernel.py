"""A kernel that is a copy of this process: the notebook is the one that a kernel which was started would leave."""

from __future__ import annotations

import base64
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager
from kit import PATIENCE_S, until
from nbclient import NotebookClient
from nbformat import v4
from PIL import Image

# As `benchbook site` has them before it makes a copy: what a kernel must not notice.
import benchbook.plots.frame_plots
from benchbook.plots.style import DPI
from benchbook.site import forked_kernel
from benchbook.site.forked_kernel import Seed

CELLS = [
    "import os, sys\nprint(1)\nprint(2, file=sys.stderr)\n3",
    "!echo from a shell",
    "os.getcwd(), os.environ['SAID'], os.environ['MPLBACKEND'], os.getsid(0) == os.getpid()",
    "__name__, type(get_ipython()).__name__, sys.argv[0].rpartition('/')[2].removesuffix('.py'), sys.argv[1]",
    "import matplotlib.pyplot as plt\nfigure = plt.figure(figsize=(1, 1))\nplt.plot([1, 2]);",
    "handle = display('before', display_id='d')\nhandle.update('after')",
    "sorted(name for name in globals() if not name.startswith('_') and len(name) > 5)",
    "1 / 0",
]


OF_THE_KIT = """import pandas as pd
from benchbook import plots
trials = pd.DataFrame({"workload": "w", "threads": [1, 2], "repetition": 1, "tps": [10.0, 18.0]})
plots.repetitions(trials, "tps")"""
# Drawn by a module that only asks for a way of drawing, as a report's own figures are.
OF_A_REPORT = """import pandas as pd
from benchbook.reports.saga import ladder_plot
rung = {"rung": "no DTM, 2 SQL", "measure": "OPS", "value": 1.0, "low": 0.9, "high": 1.1}
ladder_plot.drawn(pd.DataFrame([{"who": "published", **rung}, {"who": "measured", **rung}]))"""


def executed(folder: Path, manager: type[AsyncKernelManager], cells: Sequence[str] = CELLS) -> list[Any]:
    """The outputs of each cell, as text that can be compared."""
    notebook = v4.new_notebook(cells=[v4.new_code_cell(source) for source in cells])
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=PATIENCE_S,
        allow_errors=True,
        kernel_manager_class=manager,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env={**os.environ, "SAID": "this"})
    return [nbformat.from_dict(cell.outputs) for cell in notebook.cells]


@pytest.mark.slow
def test_the_outputs_are_those_of_a_kernel_that_was_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert benchbook.plots.frame_plots.levels
    monkeypatch.delenv("MPLBACKEND", raising=False)
    started = executed(tmp_path, AsyncKernelManager)
    with forked_kernel.options(forked=True) as options:
        copied = executed(tmp_path, options["kernel_manager_class"])
    assert [[one.output_type for one in outputs] for outputs in copied] == [
        ["stream", "stream", "execute_result"], ["stream"], ["execute_result"], ["execute_result"],
        ["display_data"], ["display_data"], ["execute_result"], ["error"],
    ]  # fmt: skip
    assert copied == started


@pytest.mark.slow
@pytest.mark.parametrize("first", [OF_THE_KIT, OF_A_REPORT])
@pytest.mark.parametrize("forked", [False, True])
def test_a_figure_is_drawn_once_by_the_kit(
    tmp_path: Path, forked: bool, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """matplotlib's inline backend draws each figure too, if it is let, and its PNG, without words, takes our place.

    A figure that is open where the copy is made is not shown by it.
    """
    monkeypatch.delenv("MPLBACKEND", raising=False)
    left_open = plt.figure()
    with forked_kernel.options(forked=forked) as options:
        manager = options.get("kernel_manager_class", AsyncKernelManager)
        ((shown,), _) = executed(tmp_path, manager, [first, "1"])
    plt.close(left_open)
    assert {"image/png", "image/svg+xml", "text/plain"} == set(shown.data)
    with Image.open(io.BytesIO(base64.b64decode(shown.data["image/png"]))) as picture:
        assert picture.info["Description"] == shown.metadata["alt"]
        assert picture.info["dpi"][0] == pytest.approx(DPI, abs=0.01)


def test_a_seed_that_never_becomes_a_kernel_ends() -> None:
    seed = Seed()
    assert seed.poll() is None
    seed._orders.close()
    until(lambda: seed.poll() is not None, "it saw that nobody waits for it", within_s=PATIENCE_S)
    assert seed.wait() == 0


def test_without_a_copy_papermill_is_told_nothing() -> None:
    with forked_kernel.options(forked=False) as options:
        assert options == {}


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ([sys.executable, "-m", "ipykernel_launcher", "-f", "x"], True),
        ([sys.executable, "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "-f", "x"], True),
        (["/opt/conda/bin/python", "-m", "ipykernel_launcher", "-f", "x"], False),
        ([sys.executable, "-m", "bash_kernel", "-f", "x"], False),
    ],
)
def test_only_a_kernel_of_this_python_can_be_a_copy(command: list[str], ours: bool) -> None:
    assert forked_kernel.is_this_python(command) == ours
