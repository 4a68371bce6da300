"""JupyterLab in a real browser, as `make jupyter` opens it: run all, interrupt, go on, change a parameter, stop."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import nbformat
import pytest
from browser import browser
from kit import OFFERED, PATIENCE_S, REPORT, ROOT, Home, until
from playwright.sync_api import Browser, Locator, Page

from benchbook.campaign.store import Campaign
from benchbook.hosts.inventory import Inventory

pytestmark = [pytest.mark.real, pytest.mark.slow]

# One cell of the smallest report on the server that starts fastest; loads that last long enough to be interrupted by a
# browser that has to wait for its turn on two busy cores.
SMALL = {"profile": "tiny", "inventory": "lab_test", "system": "mariadb", "workloads": ["oltp_point_select"],
         "threads": [1], "repetitions": 2, "time_s": 12, "rate": OFFERED}  # fmt: skip
NAME = f"notebooks/{REPORT}.ipynb"
# Until a kernel has started, imported and prepared a first load beside all other tests, or a campaign has ended (ms).
LONG_MS = 3 * PATIENCE_S * 1000
GO_ON = "what was recorded stays; run the cell again, and it goes on from there"


def make_jupyter(home: Home, port: int) -> list[str]:
    """The command that `make jupyter` runs, for another folder."""
    words = ["make", "-n", "-f", str(ROOT / "Makefile"), "-C", str(home.path), "jupyter", f"JUPYTER_ARGS=--port={port}"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout.replace("\\\n", " ")
    (line,) = [line for line in said.splitlines() if "jupyter lab" in line]
    program, *rest = shlex.split(line)
    assert program == ".venv/bin/python"
    return [sys.executable, *rest]


@contextmanager
def jupyter(home: Home, folder: Path) -> Iterator[str]:
    """A JupyterLab of its own, with settings of its own; gives the address that it prints."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {f"JUPYTER_{name}_DIR": str(folder / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    log = folder / "jupyter.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            make_jupyter(home, port), cwd=home.path, env={**home.environment, **own}, start_new_session=True,
            stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        yield until(lambda: re.search(rf"http://127\.0\.0\.1:{port}/\S+", log.read_text()), "its address")[0]
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=PATIENCE_S)


class Lab:
    """A notebook in JupyterLab, and what a user does with it."""

    def __init__(self, page: Page, address: str, home: Home) -> None:
        self.page, self.home = page, home
        page.set_default_timeout(PATIENCE_S * 1000)
        page.goto(address)
        page.locator(".jp-DirListing-item", has_text=f"{REPORT}.ipynb").dblclick()
        # Until then the notebook that JupyterLab began with is the one in front.
        self.cell("report.run()").wait_for()
        self.idle()

    def menu(self, *names: str) -> None:
        """Choose from a menu of the bar: ("Run", "Run All Cells")."""
        bar, item = names
        self.page.locator("#jp-MainMenu .lm-MenuBar-item", has_text=re.compile(f"^{bar}$")).click()
        self.page.locator(".lm-Menu-itemLabel", has_text=re.compile(f"^{item}$")).click()

    def cell(self, text: str) -> Locator:
        """The code cell whose source holds a text."""
        return self.page.locator(".jp-NotebookPanel:visible .jp-CodeCell", has_text=text)

    def idle(self) -> None:
        self.page.locator(".jp-NotebookPanel:visible .jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for()

    def set_parameter(self, name: str, value: object) -> None:
        """Replace the line of a parameter by hand."""
        self.cell("profile: str").locator(".cm-line", has_text=f"{name}:").click()
        self.page.keyboard.press("Home")
        self.page.keyboard.press("Shift+End")
        self.page.keyboard.insert_text(f"{name}: int = {value}")

    def saved(self) -> Any:
        """The notebook as it is in the file, after Ctrl+S."""
        file = self.home.path / NAME
        before = file.stat().st_mtime_ns
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("Control+s")
        # It is emptied before it is written.
        until(lambda: file.stat().st_mtime_ns != before and file.read_text().endswith("}\n"), "the file is saved")
        return nbformat.read(str(file), as_version=4)


def errors(notebook: Any) -> list[list[str]]:
    """The lines that are shown of every error."""
    found = [one for cell in notebook.cells for one in cell.get("outputs", []) if one.output_type == "error"]
    return [one.traceback for one in found]


def with_parameters(notebook: Path, given: dict[str, object]) -> None:
    """Write these values into the cell of the parameters, as a user does before the first run."""
    read = nbformat.read(str(notebook), as_version=4)
    (cell,) = [cell for cell in read.cells if "parameters" in cell.metadata.get("tags", [])]
    for name, value in given.items():
        cell.source, count = re.subn(rf"(?m)^({name}: [^=]+) = .*?(  #|$)", rf"\1 = {value!r}\2", cell.source)
        assert count == 1, name
    nbformat.write(read, str(notebook))


@pytest.fixture(scope="module")
def address(_lab_home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of one JupyterLab for all tests of this file: it takes long to start."""
    with jupyter(_lab_home, tmp_path_factory.mktemp("jupyter")) as printed:
        yield printed


@pytest.fixture
def window() -> Iterator[Browser]:
    """A browser per test: one that ended would be the end of all the others."""
    with browser() as started:
        yield started


@pytest.fixture
def lab_view(lab_home: Home, lab: Inventory, address: str, window: Browser) -> Iterator[Lab]:
    """A page, a layout and a kernel that no other test has had, on the notebook as the kit brings it."""
    notebook = lab_home.path / NAME
    brought = notebook.read_text()
    # A campaign of its own, also where a test runs again: what its first try has recorded would be opened.
    with_parameters(notebook, {**SMALL, "seed": time.time_ns() % 1_000_000})
    page = window.new_page(viewport={"width": 1280, "height": 1000})
    try:
        # The layout is kept per server: it would show what the test before has opened.
        yield Lab(page, f"{address}&reset", lab_home)
    finally:
        end_kernels(page, address)
        page.context.close()
        notebook.write_text(brought)


def end_kernels(page: Page, address: str) -> None:
    """All that run in this JupyterLab, with the sessions that would find them again."""
    asked = urlsplit(address)
    sessions = f"{asked.scheme}://{asked.netloc}/api/sessions"
    login = {"Authorization": f"token {parse_qs(asked.query)['token'][0]}"}
    for session in page.request.get(sessions, headers=login).json():
        assert page.request.delete(f"{sessions}/{session['id']}", headers=login).ok


def test_a_notebook_in_jupyterlab_is_run_interrupted_finished_opened_again_changed_and_stopped(lab_view: Lab) -> None:
    page, home = lab_view.page, lab_view.home
    before = set(home.campaigns())

    # Run all, and interrupt in mid-trial: one sentence.
    run = lab_view.cell("report.run()")
    lab_view.menu("Run", "Run All Cells")
    run.get_by_text(" now, ").wait_for(timeout=LONG_MS)
    lab_view.menu("Kernel", "Interrupt Kernel")
    lab_view.idle()
    assert errors(lab_view.saved()) == [[f"RunInterrupted: interrupted; 2 trials are left: {GO_ON}"]]
    assert run.get_by_text("Stop after this trial").count() == 0

    # Run again: it goes on, to the end of the notebook.
    lab_view.menu("Run", "Run All Cells")
    page.locator(".jp-NotebookPanel:visible").get_by_text("results in ").wait_for(timeout=LONG_MS)
    lab_view.idle()
    notebook = lab_view.saved()
    assert errors(notebook) == []
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
    (first,) = set(home.campaigns()) - before
    assert len(Campaign(first).records()) == 2

    # A finished campaign opens finished.
    lab_view.cell("report.differences()").click()
    lab_view.menu("Run", "Run All Above Selected Cell")
    lab_view.idle()
    run.get_by_text("and is finished").wait_for()
    assert set(home.campaigns()) - before == {first}

    # Another parameter, another campaign; the button ends it after its trial.
    lab_view.set_parameter("time_s", 10)
    lab_view.menu("Run", "Run All Cells")
    run.get_by_role("button", name="Stop after this trial").click()
    run.get_by_text("stopped after").wait_for()
    lab_view.idle()
    (second,) = set(home.campaigns()) - before - {first}
    (trial,) = Campaign(second).records()
    assert trial.asked["time_s"] == 10
    said = f"RunStopped: stopped after {trial.id}, as you asked; 1 trial is left: {GO_ON}"
    assert errors(lab_view.saved()) == [[said]]


def test_a_page_that_is_loaded_again_says_how_the_run_is_followed_and_ended(lab_view: Lab) -> None:
    """Nothing moved any more, and in the place of the button stood "Error displaying widget: model not found"."""
    page, home = lab_view.page, lab_view.home
    before = set(home.campaigns())
    run = lab_view.cell("report.run()")
    # A long one: on two busy cores a page took half a minute to load again, and the run was over before it was
    # interrupted.
    lab_view.set_parameter("repetitions", 4)
    lab_view.menu("Run", "Run All Cells")
    run.get_by_text(" now, ").wait_for(timeout=LONG_MS)
    lab_view.saved()
    page.reload()
    run.get_by_text("After a reload the run goes on unseen").wait_for()
    lab_view.menu("Kernel", "Interrupt Kernel")
    lab_view.idle()
    (begun,) = set(home.campaigns()) - before
    assert Campaign(begun).missing()

    # As it says: run again, it goes on to its end with its button, and the note is gone.
    lab_view.menu("Run", "Run All Cells")
    run.get_by_role("button", name="Stop after this trial").wait_for(timeout=LONG_MS)
    page.locator(".jp-NotebookPanel:visible").get_by_text("results in ").wait_for(timeout=LONG_MS)
    lab_view.idle()
    assert run.get_by_text("After a reload").count() == 0
    assert set(home.campaigns()) - before == {begun}
    assert Campaign(begun).missing() == []
