"""How an executed notebook ends: which exit status, which sentence; papermill itself is played."""

from __future__ import annotations

import asyncio
import errno
import gc
import io
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import nbformat
import pytest
from kit import FIXTURES, Home
from nbformat import v4
from papermill.exceptions import PapermillExecutionError
from rich.console import Console

from benchbook import notebook_run, pipeline, temporary
from benchbook.campaign.progress import PROGRESS_FILE, Progress
from benchbook.errors import BadInput, NotWritten
from benchbook.notebook_run import Executed
from benchbook.site import page


def told(text: str) -> None:
    """As the kernel tells its progress."""
    with Path(os.environ[PROGRESS_FILE]).open("a") as out:
        out.write(text)


def executed(monkeypatch: pytest.MonkeyPatch, raised: Exception, *progress: str) -> Executed:
    """What becomes of a notebook that says this and then raises that."""

    def play(*_: object) -> None:
        for text in progress:
            told(text)
        raise raised

    monkeypatch.setattr(notebook_run, "run_cells", play)
    return notebook_run.execute("r", {}, Console(quiet=True))


def raising(name: str, said: str = "said") -> PapermillExecutionError:
    return PapermillExecutionError(3, 4, "report.run()", name, said, [])


def test_what_a_task_of_nbclient_ends_with_after_a_ctrl_c_is_told_to_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """asyncio printed its traceback: "Task exception was never retrieved"."""

    async def fails() -> None:
        raise RuntimeError("of nobody")

    async def begun() -> None:
        left.append(asyncio.ensure_future(fails()))
        await asyncio.sleep(0)

    def interrupted(*_: object, **__: object) -> None:
        asyncio.run(begun())
        raise KeyboardInterrupt

    left: list[object] = []
    monkeypatch.setattr(notebook_run, "execute_notebook", interrupted)
    caplog.set_level(logging.ERROR, "asyncio")
    with pytest.raises(KeyboardInterrupt):
        notebook_run.run_cells(tmp_path / "a.ipynb", {}, tmp_path / "b.ipynb")
    left.clear()
    gc.collect()
    assert caplog.text == ""


LOADING = json.dumps(asdict(Progress(total=4, loaded=True))) + "\n"
PREPARING = json.dumps(asdict(Progress(total=4))) + "\n"


@pytest.mark.parametrize(
    ("name", "progress", "status"),
    [
        ("HostUnusable", PREPARING, 2),
        ("HostUnusable", LOADING, 1),
        # A disk that was full for a moment has cut a line.
        ("HostUnusable", PREPARING[:9] + PREPARING + LOADING, 1),
        ("BadInput", LOADING + PREPARING, 1),
        ("HostUnreachable", PREPARING, 1),
        ("CampaignStopped", LOADING, 1),
        ("ZeroDivisionError", PREPARING, 1),
        ("NotWritten", PREPARING, 2),
        ("NotWritten", LOADING, 1),
        (notebook_run.KERNEL_DIED, LOADING, 1),
    ],
)
def test_bad_input_ends_with_2_before_any_load_and_everything_else_with_1(
    home: Home, monkeypatch: pytest.MonkeyPatch, name: str, progress: str, status: int
) -> None:
    found = executed(monkeypatch, raising(name), progress)
    assert (found.status, found.problem) == (status, f"{name}: said")
    assert found.killed == (name == notebook_run.KERNEL_DIED)


def test_a_line_that_a_killed_kernel_did_not_end_is_no_matter(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    found = executed(monkeypatch, RuntimeError("Kernel died"), LOADING, '{"campaign": "c1"}\n', LOADING[:20])
    assert (found.status, found.campaign) == (1, home.path / "data" / "runs" / "r" / "c1")


def test_a_full_disk_is_a_sentence(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotWritten, match=r"\.ipynb cannot be written: No space left on device\. Fix: free some"):
        executed(monkeypatch, OSError(errno.ENOSPC, "No space left on device"))


@pytest.mark.parametrize(("progress", "status"), [("", 2), (LOADING, 1)])
def test_a_disk_that_takes_nothing_before_any_load_is_the_user_s_to_mend(
    home: Home, monkeypatch: pytest.MonkeyPatch, progress: str, status: int
) -> None:
    with pytest.raises(NotWritten, match="Read-only file system") as refused:
        executed(monkeypatch, OSError(errno.EROFS, "Read-only file system"), progress)
    assert refused.value.exit_status == status


def test_what_the_disk_of_the_records_does_not_take_stays_aside_and_is_named(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = OSError(errno.EROFS, "Read-only file system")
    copied = shutil.copyfile

    def copyfile(source: Path, target: Path) -> None:
        if home.path in target.parents:
            raise full
        copied(source, target)

    def play(_: str, __: object, target: Path) -> None:
        told(LOADING)
        target.write_text("its cells")
        raise raising("NotWritten", "the record cannot be written")

    monkeypatch.setattr(notebook_run, "run_cells", play)
    monkeypatch.setattr(shutil, "copyfile", copyfile)
    found = notebook_run.execute("r", {}, Console(quiet=True))
    assert (found.status, found.notebook.read_text()) == (1, "its cells")
    assert home.path not in found.notebook.parents
    assert found.problem
    first, second = found.problem.splitlines()
    assert first == "NotWritten: the record cannot be written"
    assert "cannot be written: Read-only file system" in second
    assert second.endswith(f"The executed notebook is {found.notebook}")
    shutil.rmtree(found.notebook.parent)


# Stacks as IPython prints them: code of a package outside, called by ours, that calls another one's.
KERNEL = "\x1b[36mFile \x1b[39m\x1b[32m{}:{}\x1b[39m, in \x1b[36mcalled\x1b[39m()\n\x1b[32m---> \x1b[39mx"
OURS, YOURS = (str(Path(notebook_run.__file__).parent / "campaign/run.py"), 20), ("/srv/mine/server.py", 42)
THEIRS, PYTHON = ("/srv/.venv/lib/python3.11/site-packages/pandas/core.py", 7), (json.__file__, 9)


@pytest.mark.parametrize(
    ("frames", "place"),
    [([OURS, YOURS, THEIRS], YOURS), ([OURS, YOURS, OURS], YOURS), ([OURS, THEIRS], OURS), ([OURS, PYTHON], OURS)],
)
def test_an_error_that_nobody_raised_on_purpose_says_in_whose_code(
    monkeypatch: pytest.MonkeyPatch, frames: list[tuple[str, int]], place: tuple[str, int]
) -> None:
    """`KeyError: 'thread'` was all that the author of a package got to read."""
    stack = ["\x1b[31mKeyError\x1b[39m  Traceback", *(KERNEL.format(*frame) for frame in frames), "KeyError: 'thread'"]
    raised = PapermillExecutionError(3, 4, "report.run()", "KeyError", "'thread'", stack)
    found = executed(monkeypatch, raised)
    assert found.problem == f"KeyError: 'thread' (line {place[1]} of {place[0]}; --debug shows its stack)"


def broken_in(folder: Path) -> Executed:
    """What the notebook of this campaign leaves where a figure of it raises."""
    cell = v4.new_code_cell("figure()", execution_count=1)
    cell.outputs.append(v4.new_output("error", ename="KeyError", evalue="'p95'", traceback=[]))
    nbformat.write(v4.new_notebook(cells=[cell]), folder / "executed.ipynb")
    return Executed(folder / "executed.ipynb", folder, 1, "KeyError: 'p95'")


@pytest.mark.parametrize("whole", [True, False])
def test_where_only_the_notebook_broke_the_way_to_its_page_is_said(
    home: Home, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    """The next thing to do was the same command, which measured all of it anew."""
    kept = FIXTURES / "campaigns" / "dtm_mysql" / "20261121T042759706961-bc6314e4711c"
    folder = Path(shutil.copytree(kept, home.path / "data/runs/dtm_mysql" / kept.name))
    if not whole:
        shutil.rmtree(next((folder / "trials").glob("r*")))
    broke = broken_in(folder)
    monkeypatch.setattr(notebook_run, "execute", lambda *_, **__: broke)
    console = Console(file=io.StringIO(), width=200)
    assert pipeline.replay("dtm_mysql", "", console) == 1
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert ("every trial is recorded: mend that, and `benchbook site dtm_mysql` makes the page" in said) is whole


def test_a_replay_from_the_command_line_asks_no_host(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = FIXTURES / "campaigns" / "dtm_mysql" / "20261121T042759706961-bc6314e4711c"
    folder = Path(shutil.copytree(kept, home.path / "data/runs/dtm_mysql" / kept.name))
    nbformat.write(v4.new_notebook(), folder / "executed.ipynb")
    host = "hosts: {gone: {address: 192.0.2.1, roles: [mysql, dtm, business, client]}}\n"
    (home.path / "env" / "hosts" / "gone.yaml").write_text(host)
    given: dict[str, object] = {}

    def execute(_: str, asked: dict[str, object], *__: object, **___: object) -> Executed:
        given.update(asked)
        return broken_in(folder)

    monkeypatch.setattr(notebook_run, "execute", execute)
    assert pipeline.run_report("dtm_mysql", {"replay": True, "inventory": "gone"}, Console(quiet=True)) == 1
    assert (given["replay"], given["campaign"]) == (True, kept.name)


def test_a_notebook_that_is_broken_off_is_kept_and_nothing_stays_aside(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def play(_: str, __: object, target: Path) -> None:
        seen.append(target)
        target.write_text("its cells")
        raise KeyboardInterrupt

    monkeypatch.setattr(notebook_run, "run_cells", play)
    with pytest.raises(KeyboardInterrupt):
        notebook_run.execute("r", {}, Console(quiet=True))
    assert not seen[0].parent.exists()
    (kept,) = (home.path / "data/runs/r/executed").iterdir()
    assert kept.read_text() == "its cells"


def test_a_notebook_that_is_broken_off_on_a_full_disk_is_named(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def play(_: str, __: object, target: Path) -> None:
        seen.append(target)
        target.write_text("its cells")
        assert temporary.is_in_use(target.parent)
        os.utime(target.parent, (0, 0))
        assert temporary.is_in_use(target.parent), "not by its age, but by its lock"
        raise KeyboardInterrupt

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "t").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "t"))
    monkeypatch.setattr(notebook_run, "run_cells", play)
    monkeypatch.setattr(shutil, "copyfile", full)
    said = io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        notebook_run.execute("r", {}, Console(file=said, width=40))
    (kept,) = (tmp_path / "t").iterdir()
    assert kept.name.startswith("benchbook-kept-")
    assert "No space left on device" in said.getvalue()
    assert said.getvalue().endswith(f"The executed notebook is {kept / seen[0].name}\n")


def test_a_dead_kernel_is_the_error_of_the_cell_that_it_ran() -> None:
    cells = [v4.new_markdown_cell("# title"), *(v4.new_code_cell(f"step({i})") for i in range(3))]
    for cell in cells[1:3]:
        cell.metadata["papermill"] = {"start_time": "2026-11-22T11:00:00"}
    notebook = v4.new_notebook(cells=cells)
    notebook_run.mark_kernel_death(notebook)
    assert [len(cell.outputs) for cell in cells[1:]] == [0, 1, 0]
    failure = page.failure(notebook)
    assert failure
    assert failure.text.startswith("KernelDied: the notebook's kernel was killed, or ran out of memory.")


def test_what_a_killed_run_left_in_the_temporary_folder_is_found_and_no_other_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, new = tmp_path / "benchbook-1-a", tmp_path / "benchbook-new-b"
    for folder in (left, new, tmp_path / "benchbook-1x-c"):
        folder.mkdir()
    told = tmp_path / "benchbook-1-d" / "executed.ipynb"
    told.parent.mkdir()
    told.touch()
    kept = temporary.keep(told.parent) / told.name
    (left / "half.ipynb").touch()
    (tmp_path / "benchbook-1-link").symlink_to(tmp_path / "benchbook-1x-c")
    assert temporary.left_by_killed_runs() == [left], "at once; who made the new one may be about to lock it"
    os.utime(new, (0, 0))
    # A process that this one may not see, in a container: nobody looks for it by its number.
    held = f"import fcntl, os; fcntl.flock(os.open({str(left)!r}, 0), fcntl.LOCK_SH); print(); input()"
    with subprocess.Popen([sys.executable, "-c", held], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as alive:
        assert alive.stdout
        alive.stdout.readline()
        assert temporary.left_by_killed_runs() == [new]
        alive.communicate()
    with temporary.locked_folder() as own:
        assert own.name.startswith(f"benchbook-{os.getpid()}-")
        assert sorted(temporary.left_by_killed_runs()) == [left, new]
    assert not own.exists()
    assert kept.exists(), "a run has told where it lies"


def test_a_temporary_folder_whose_path_no_socket_can_have_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with pytest.raises(BadInput, match=r"^TMPDIR: the path is too long .* \d+ bytes shorter"):
        notebook_run.run_cells(tmp_path / "any.ipynb", {}, tmp_path / "target.ipynb")


@pytest.fixture
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stand in for the temporary folder: below `tmp_path` a socket of a process with seven digits has no room."""
    return tmp_path_factory.mktemp("t")


def test_a_run_keeps_the_key_of_its_kernel_where_the_next_run_finds_what_is_left(
    short: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """jupyter_client would write it beside, into a file that nobody knows by its name."""
    monkeypatch.setattr(tempfile, "tempdir", str(short))
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(f"import os; print(*os.listdir({str(short)!r}))")],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python", "language": "python"}},
    )
    nbformat.write(notebook, tmp_path / "asks.ipynb")
    notebook_run.run_cells(tmp_path / "asks.ipynb", {}, tmp_path / "ran.ipynb")
    printed = nbformat.read(tmp_path / "ran.ipynb", as_version=4).cells[-1].outputs[0].text
    assert re.fullmatch(rf"benchbook-{os.getpid()}-\w+\n", printed)


def test_where_the_home_takes_no_files_ipython_leaves_none_in_the_temporary_folder(
    short: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The kernel is a process of its own.
    monkeypatch.setenv("TMPDIR", str(short))
    monkeypatch.setattr(tempfile, "tempdir", str(short))
    monkeypatch.setenv("HOME", str(tmp_path / "not there"))
    monkeypatch.delenv("IPYTHONDIR", raising=False)
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("print(get_ipython().ipython_dir)")],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python", "language": "python"}},
    )
    nbformat.write(notebook, tmp_path / "asks.ipynb")
    notebook_run.run_cells(tmp_path / "asks.ipynb", {}, tmp_path / "ran.ipynb")
    printed = nbformat.read(tmp_path / "ran.ipynb", as_version=4).cells[-1].outputs[0].text
    assert re.fullmatch(rf"{short}/benchbook-{os.getpid()}-\w+/ipython\n", printed)
    assert list(short.iterdir()) == []
    assert "IPYTHONDIR" not in os.environ
