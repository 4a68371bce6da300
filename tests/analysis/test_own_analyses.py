"""Notebooks run from top to bottom on recorded campaigns, and what they show survives wherever notebooks are shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from browser import browser, look, violations
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import run_sync
from kit import PATIENCE_S, ROOT, Home
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from papermill.inspection import inspect_notebook
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook

from benchbook.site import publish

EXPLORE, TIDB, DM = "explore", "tidb_v7_1_3_sysbench", "dm_1_0_ga"
DTM, DDT = "dtm_mysql", "ddt_full_scale"
# DM's two notebooks are run in test_rendered_views.py.
RUN = {
    EXPLORE: {"baseline": f"{TIDB}~1"},
    # A counter of the upstream, which no host has sampled: a series without a sample.
    f"{EXPLORE} {DM}": {
        "campaign": DM, "metric": "job_tps", "x": "worker_count", "panel": "table", "series": "Com_update",
        "source": "host",
    },
    # Trials of one panel and level that differ in other levels, or have none of these; two systems.
    f"{EXPLORE} {DTM}": {
        "campaign": DTM, "metric": "global_tps", "x": "concurrency", "panel": "mode", "series": "Com_update",
        "source": "mysql",
    },
    f"{EXPLORE} {DDT}": {
        "campaign": DDT, "metric": "qps", "x": "source_threads", "panel": "table", "series": "documents",
        "source": "transfer",
    },
    TIDB: {"replay": True},
    DTM: {"replay": True},
    DDT: {"replay": True},
    "history": {},
}  # fmt: skip
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A project folder with recorded campaigns."""
    home = Home.make(tmp_path_factory.mktemp("own") / "home")
    home.with_replays()
    return home


@pytest.fixture(scope="module")
def executed(recorded: Home) -> Iterator[dict[str, nbformat.NotebookNode]]:
    """Each notebook with its outputs, run one after the other in one kernel; one that raises fails here.

    What is imported once is not imported again: five kernels would take minutes to start. That papermill runs them is
    seen in test_rendered_views.py.
    """
    # Its sockets lie beside this file; by default in the working folder, where two workers take the same ones.
    kernel = AsyncKernelManager(transport="ipc", connection_file=str(recorded.path / "kernel.json"))
    try:
        yield {name: _execute(name, given, kernel, recorded.environment) for name, given in RUN.items()}
    finally:
        run_sync(kernel.shutdown_kernel)(now=True)


def _execute(
    name: str, given: dict[str, Any], kernel: AsyncKernelManager, environment: dict[str, str]
) -> nbformat.NotebookNode:
    """Run one from the top. With a manager that blocks, nbclient would wait for a lost message without any limit."""
    notebook = load_notebook_node(str(ROOT / "notebooks" / f"{name.split(maxsplit=1)[0]}.ipynb"))
    # Nothing of the notebook before is left, its inputs neither.
    notebook.cells.insert(0, nbformat.v4.new_code_cell("%reset -f", metadata={"tags": []}))
    whole = parameterize_notebook(notebook, given)
    NotebookClient(whole, km=kernel, timeout=PATIENCE_S * 2, iopub_timeout=PATIENCE_S).execute(
        cleanup_kc=False, env=environment
    )
    return whole


def outputs(notebook: nbformat.NotebookNode) -> list[Any]:
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def figures(notebook: nbformat.NotebookNode) -> list[Any]:
    return [output for output in outputs(notebook) if "image/png" in output.get("data", {})]


@pytest.mark.slow
def test_every_output_has_its_text_and_every_figure_its_fallback(executed: dict[str, nbformat.NotebookNode]) -> None:
    for name, notebook in executed.items():
        assert {one.output_type for one in outputs(notebook)} <= {"execute_result", "display_data"}, name
        for one in outputs(notebook):
            assert "object at 0x" not in one.data["text/plain"], name
            assert not one.data["text/plain"].startswith("<"), one.data["text/plain"]
        drawn = figures(notebook)
        assert len(drawn) >= 2, name
        for one in drawn:
            assert "text/html" not in one.data, "a reader of HTML would not see it"
            assert one.metadata["alt"], name
        assert any("image/svg+xml" in one.data for one in drawn), name


@pytest.mark.slow
def test_a_metric_against_the_cpu_has_its_unit(executed: dict[str, nbformat.NotebookNode]) -> None:
    """A merged frame has lost its units: axes and captions said "tps"."""
    for name in RUN:
        said = [one.data["text/plain"].splitlines()[0] for one in figures(executed[name])]
        against = [text for text in said if " against the cores in use" in text]
        # In a report's own notebook the axis has the unit: "transactions/s".
        assert name in (TIDB, DTM, DDT, "history") or len(against) == 1, (name, said)
        assert all(" (1/s) of each trial" in text for text in against if name.startswith(EXPLORE)), against


@pytest.mark.slow
def test_sanitised_html_keeps_every_figure(executed: dict[str, nbformat.NotebookNode]) -> None:
    """As `jupyter nbconvert --to html --sanitize-html`, and as GitHub and nbviewer do it."""
    for name, notebook in executed.items():
        body, _ = HTMLExporter(sanitize_html=True).from_notebook_node(notebook)
        assert len(re.findall(r'<img[^>]*src="data:image/', body)) == len(figures(notebook)), name


@pytest.mark.slow
def test_axe_finds_nothing_on_the_pages_of_real_campaigns(
    executed: dict[str, nbformat.NotebookNode], recorded: Home, tmp_path: Path
) -> None:
    pages = []
    for report in (TIDB, DTM, DDT):
        file = tmp_path / f"{report}.ipynb"
        nbformat.write(executed[report], file)
        (found,) = (recorded.path / "data" / "runs" / report).glob("*/results.json")
        pages.append(publish.publish(report, file, found, tmp_path / "site"))
    with browser() as started:
        assert {page.name: violations(look(started, page, 1280)) for page in pages} == {page.name: [] for page in pages}


@pytest.mark.slow
def test_another_campaign_has_its_own_figures(executed: dict[str, nbformat.NotebookNode]) -> None:
    alts = [one.metadata["alt"] for one in figures(executed[f"{EXPLORE} {DM}"])]
    # Jobs inside DM at 4 and 64 workers, as in test_rendered_views.
    assert any("sync_worker_count: mean 1147 at 4 to 1034 at 64" in alt for alt in alts)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_papermill_s_help_says_what_each_parameter_is(path: Path) -> None:
    for name, found in inspect_notebook(str(path)).items():
        assert found["inferred_type_name"] not in ("", "None"), name
        assert len(found["help"]) > 8, name
