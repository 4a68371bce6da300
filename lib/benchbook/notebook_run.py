"""Run a notebook by papermill, show its progress on the terminal, and say how it ended."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import nbformat
import psutil
from nbformat import NotebookNode, v4
from papermill import execute_notebook
from papermill.exceptions import PapermillExecutionError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar
from traitlets.config import Config

from benchbook import paths, plugins, temporary
from benchbook.campaign.progress import PROGRESS_FILE, Progress
from benchbook.errors import BadInput, BenchbookError, NothingRecorded, NotWritten, writing
from benchbook.hosts.host_models import Json
from benchbook.user_input import guard

# Executed notebooks of runs that ended before they had a campaign: the last few stay, to look for the reason.
KEPT = 10
# Bytes, unix(7).
LONGEST_SOCKET = 107
KERNEL_DIED = "KernelDied"
_DIED = (
    "the notebook's kernel was killed, or ran out of memory. What it had recorded stays: run the same again, and only "
    "the rest is run"
)
# Of a stack as IPython prints it.
_COLOUR, _FRAME = re.compile(r"\x1b\[[\d;]*m"), re.compile(r"^File (.+):(\d+), in ", re.MULTILINE)


@dataclass(frozen=True)
class Executed:
    """An executed notebook; `campaign` is None when it ended before it had one.

    `error` is the name of the exception's class, `problem` the sentence for a user: nothing when it ended well.
    """

    notebook: Path
    campaign: Path | None
    status: int
    problem: str | None
    error: str = ""

    @property
    def killed(self) -> bool:
        """Whether the kernel was killed: then it has left on the hosts what ran there."""
        return self.error == KERNEL_DIED


@contextmanager
def _ipython_in(folder: Path) -> Iterator[None]:
    """Where the home takes no files, have IPython's below `folder`: it would make temporary ones, and leave them."""
    usual = Path.home() / ".ipython"
    writable = os.access(usual if os.access(usual, os.F_OK) else usual.parent, os.W_OK)
    if writable or "IPYTHONDIR" in os.environ:
        yield
        return
    os.environ["IPYTHONDIR"] = f"{folder}/ipython"
    try:
        yield
    finally:
        del os.environ["IPYTHONDIR"]


def execute(report: str, parameters: Mapping[str, object], console: Console) -> Executed:
    """Execute `notebooks/<report>.ipynb`; the executed copy is kept, failed or not.

    With its campaign, as executed.ipynb; without one, in the folder `executed` beside the report's campaigns. Where
    neither can be written, it stays in a temporary folder, which `problem` names. The exit status is 2 for bad input,
    if no load had begun. Raise NotWritten, and NothingRecorded before a load.
    """
    for folder in temporary.left_by_killed_runs():
        shutil.rmtree(folder, ignore_errors=True)
    error, problem = "", None
    with (
        _following(console) as follower,
        _nothing_before_loads(follower),
        _written_aside(_own_file(paths.runs_dir(report) / "executed"), console) as (target, aside),
    ):
        try:
            run_cells(paths.notebook(report), parameters, aside)
        except PapermillExecutionError as failed:
            error, problem = failed.ename, f"{failed.ename}: {failed.evalue}{_where(failed.traceback)}"
            if guard.debugging():
                console.print("\n".join(failed.traceback), markup=False, highlight=False)
        except RuntimeError as dead:
            # nbclient's DeadKernelError, and what jupyter_client says of one that died before its first answer.
            if not str(dead).startswith("Kernel died"):
                raise
            error, problem = KERNEL_DIED, f"{KERNEL_DIED}: {_DIED}"
            if aside.exists():
                notebook = nbformat.read(aside, as_version=4)
                mark_kernel_death(notebook)
                nbformat.write(notebook, aside)
        finally:
            _end_kernels()
        follower.look()
        campaign = paths.runs_dir(report) / follower.campaign if follower.campaign else None
        status = 0 if problem is None else 1 if follower.loaded else _status(error)
        # A run that bad input stopped has measured nothing: the notebook of an earlier one stays with the campaign.
        kept = target
        if campaign and campaign.is_dir() and status != BadInput.exit_status:
            kept = campaign / paths.EXECUTED
        try:
            _move(aside, kept)
        except NotWritten as full:
            kept, status = _keep(aside), status or 1
            problem = "\n".join(filter(None, (problem, f"{full}. The executed notebook is {kept}")))
    return Executed(kept, campaign, status, problem, error)


def check_temporary_path() -> None:
    """Raise BadInput where TMPDIR is too long for the kernel's sockets, in a temporary folder of a run."""
    folder, longest = tempfile.gettempdir(), f"{temporary.folder_like()}/kernel-5"
    if (over := len(os.fsencode(longest)) - LONGEST_SOCKET) > 0:
        fix = f"set it to a folder whose path is {over} bytes shorter"
        raise BadInput("the path is too long for the sockets of the kernel", key="TMPDIR", value=folder, fix=fix)


def run_cells(notebook: Path, parameters: Mapping[str, object], target: Path) -> None:
    """Execute a notebook into `target` by papermill.

    Raise PapermillExecutionError for a cell that failed, RuntimeError for a kernel that died, and BadInput for a file
    that cannot be run.
    """
    check_temporary_path()
    with temporary.locked_folder() as sockets, _ipython_in(sockets):
        # Sockets of the file system: nobody else on the machine can listen to the kernel, and two runs side by side
        # cannot take each other's port. The kernel is interrupted before it is shut down, and would log that.
        config = {
            "KernelManager": {
                "transport": "ipc",
                "ip": f"{sockets}/kernel",
                "connection_file": f"{sockets}/kernel.json",
            },
            "NotebookClient": {"extra_arguments": ["--IPKernelApp.log_level=50"]},
        }
        try:
            execute_notebook(
                str(notebook),
                str(target),
                parameters=dict(parameters),
                cwd=str(paths.home()),
                progress_bar=False,
                config=Config(config),
            )
        except KeyboardInterrupt:
            # Tasks of nbclient that nobody waits for any more end with errors of their own, which asyncio would print.
            logging.getLogger("asyncio").setLevel(logging.CRITICAL)
            raise
        except (KeyError, ValueError) as problem:
            # What a cell raises comes as PapermillExecutionError: this is about the file, and the kernel that it names.
            key, fix = "metadata.kernelspec", "open it in Jupyter, choose the kernel `Python 3`, and save it"
            raise BadInput("papermill cannot run it", file=notebook, key=key, value=str(problem), fix=fix) from problem


def mark_kernel_death(notebook: NotebookNode) -> None:
    """Leave the error in the last cell that was begun, or in the first one: papermill leaves none."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    begun = [cell for cell in code if cell.metadata.get("papermill", {}).get("start_time")]
    error = v4.new_output("error", ename=KERNEL_DIED, evalue=_DIED, traceback=[f"{KERNEL_DIED}: {_DIED}"])
    (begun or code[:1])[-1].outputs.append(error)


@contextmanager
def _nothing_before_loads(follower: _Follower) -> Iterator[None]:
    """What cannot be written before a load has begun ends the command as bad input does. Raise NothingRecorded."""
    try:
        yield
    except NotWritten as problem:
        follower.look()
        if follower.loaded:
            raise
        raise NothingRecorded(str(problem)) from problem


def _own_file(folder: Path) -> Path:
    """Return a file that no other run writes, whatever runs beside this one; of those before, the last few stay."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for old in sorted(folder.glob("*.ipynb"))[:-KEPT]:
            for file in (old, old.with_suffix(".json")):
                file.unlink(missing_ok=True)
    began = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}"
    return folder / f"{began}-{os.getpid()}.ipynb"


@contextmanager
def _written_aside(target: Path, console: Console) -> Iterator[tuple[Path, Path]]:
    """`target`, and a temporary file to write meanwhile: the disk of the records may fill while a notebook runs.

    A notebook that breaks off is moved to `target` as well, if that can be; else the console is told where it stays.
    """
    with temporary.locked_folder() as folder:
        aside = folder / target.name
        try:
            with writing(aside):
                yield target, aside
        except BaseException:
            try:
                _move(aside, target)
            except NotWritten as full:
                console.print(f"{full}. The executed notebook is {_keep(aside)}", markup=False, soft_wrap=True)
            raise


def _keep(aside: Path) -> Path:
    """Return where the notebook stays: in a temporary folder that no later run removes."""
    return temporary.keep(aside.parent) / aside.name


def _move(aside: Path, target: Path) -> None:
    """To another disk, if need be, and in one step: a replay of the same campaign may run beside this one."""
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    if not aside.exists():
        return
    with writing(target):
        try:
            shutil.copyfile(aside, beside)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    aside.unlink()


def _where(stack: Sequence[str]) -> str:
    """Return where an error arose that was not raised on purpose; empty where the stack does not say."""
    frames = _FRAME.findall(_COLOUR.sub("", "\n".join(stack)))
    place = plugins.blamed((file, int(line)) for file, line in frames)
    return f" ({place}; --debug shows its stack)" if place else ""


def _status(name: str) -> int:
    """Exit status of an error class by its name: what a notebook's kernel raised reaches us as text."""
    todo: list[type[BenchbookError]] = [BadInput, BenchbookError]
    while todo:
        kind = todo.pop()
        if kind.__name__ == name:
            # Before any load, a disk that takes nothing is the user's to mend as well.
            return 2 if issubclass(kind, BadInput | NotWritten) else 1
        todo += kind.__subclasses__()
    return 1


def _end_kernels() -> None:
    """papermill's kernel must not outlive us, however papermill ended."""
    kernels = [p for p in psutil.Process().children(recursive=True) if "ipykernel_launcher" in " ".join(_words(p))]
    for kernel in kernels:
        kernel.kill()
    psutil.wait_procs(kernels, timeout=5)


def _words(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.NoSuchProcess:
        return []


class _Follower:
    """Reads the progress file that the kernel writes, and draws it: a bar on a terminal, else a line for each trial."""

    def __init__(self, path: Path, console: Console) -> None:
        self.path, self.console = path, console
        self.campaign, self.loaded = "", False
        self._offset, self._looking = 0, threading.Lock()
        self._bar = Bar(
            BarColumn(24), MofNCompleteColumn(), TextColumn("{task.description}"), console=console, transient=True
        )
        self._task = self._bar.add_task("starting the notebook", total=None)

    def look(self) -> None:
        with self._looking, self.path.open("rb") as source:
            source.seek(self._offset)
            data = source.read()
            # A line that is being written is read next time; a kernel that was killed leaves it as it is.
            whole = data[: data.rfind(b"\n") + 1]
            self._offset += len(whole)
            for line in whole.splitlines():
                # One that a full disk has cut is no JSON.
                with suppress(ValueError):
                    self._tell(json.loads(line))

    def _tell(self, said: Json) -> None:
        if "campaign" in said:
            self.campaign = said["campaign"]
            return
        progress = Progress(**said)
        self.loaded |= progress.loaded
        self._bar.update(
            self._task,
            total=progress.total,
            completed=progress.done + progress.failed,
            description=progress.line().partition(", ")[2],
        )
        if progress.news:
            counts = f"{progress.done + progress.failed}/{progress.total}"
            style = None if progress.news.startswith("done") else "red"
            self.console.print(f"  {counts}  {progress.news}", style=style, markup=False)

    @contextmanager
    def drawing(self) -> Iterator[None]:
        if not self.console.is_terminal:
            yield
            return
        with self._bar:
            yield


@contextmanager
def _following(console: Console) -> Iterator[_Follower]:
    with temporary.locked_folder() as folder:
        path = folder / "progress.jsonl"
        path.touch()
        follower, over = _Follower(path, console), threading.Event()

        def follow() -> None:
            while not over.wait(0.2):
                follower.look()

        thread = threading.Thread(target=follow, daemon=True)
        os.environ[PROGRESS_FILE] = str(path)
        with follower.drawing():
            thread.start()
            try:
                yield follower
            finally:
                over.set()
                thread.join()
                follower.look()
                os.environ.pop(PROGRESS_FILE, None)
