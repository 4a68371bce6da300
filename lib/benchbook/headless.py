"""Runs a report's notebook headlessly by papermill, shows its progress on the terminal, and says how it ended."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from benchbook import paths, plugins
from benchbook.campaign.progress import PROGRESS_FILE, Progress
from benchbook.errors import BadInput, BenchbookError, NothingRecorded, NotWritten, writing
from benchbook.given import guard
from benchbook.hosts.about import Json

# Executed notebooks of runs that ended before they had a campaign: so many stay, for who looks for the reason.
KEPT = 10
# Of a stack as IPython prints it.
_COLOUR, _FRAME = re.compile(r"\x1b\[[\d;]*m"), re.compile(r"^File (.+):(\d+), in ", re.MULTILINE)


@dataclass(frozen=True)
class Executed:
    """An executed notebook; `campaign` is None when it ended before it had one, `problem` when it ended well.

    One that was `killed` has left on the hosts what ran there.
    """

    notebook: Path
    campaign: Path | None
    status: int
    problem: str | None
    killed: bool = False


def execute(
    report: str,
    parameters: Mapping[str, object],
    console: Console,
    *,
    forked: bool = False,
    after_loads: Callable[[], object] = lambda: None,
) -> Executed:
    """Execute `notebooks/<report>.ipynb`; the executed copy is kept, failed or not.

    With its campaign, as executed.ipynb; without one, in the folder `executed` beside the report's campaigns. Where
    neither takes it any more, it stays in a temporary folder, which `problem` names. Its exit status is 2 for bad
    input, if no load had begun. `forked`: its kernel is a copy of this process. `after_loads` is called once in a
    thread, when the hosts are left, while the notebook shows what was measured. Raises NotWritten, and NothingRecorded
    before a load.
    """
    # It takes a second to import, and who compares two campaigns, say, may want no page of it.
    from benchbook.site import executing, forked_kernel  # noqa: PLC0415

    name, problem = "", None
    with (
        _following(console, after_loads) as follower,
        _nothing_before_loads(follower),
        _meanwhile(_own_file(paths.runs_dir(report) / "executed")) as (target, aside),
        forked_kernel.options(forked=forked) as options,
    ):
        try:
            executing.papermill(report, parameters, aside, **options)
        except executing.CellFailed as failed:
            name, problem = failed.ename, f"{failed.ename}: {failed.evalue}{_where(failed.traceback)}"
            if guard.debugging():
                console.print("\n".join(failed.traceback), markup=False, highlight=False)
        finally:
            _end_kernels()
        follower.look()
        campaign = paths.runs_dir(report) / follower.campaign if follower.campaign else None
        status = 0 if problem is None else 1 if follower.loaded else _status(name)
        # A run that bad input stopped has measured nothing: the notebook of an earlier one stays with the campaign.
        kept = target
        if campaign and campaign.is_dir() and status != BadInput.exit_status:
            kept = campaign / paths.EXECUTED
        try:
            _move(aside, kept)
        except NotWritten as full:
            kept, status = aside, status or 1
            problem = "\n".join(filter(None, (problem, f"{full}. The executed notebook is {aside}")))
    return Executed(kept, campaign, status, problem, killed=name == executing.KERNEL_DIED)


@contextmanager
def _nothing_before_loads(follower: _Follower) -> Iterator[None]:
    """What cannot be written before a load has begun ends the command as bad input does. Raises NothingRecorded."""
    try:
        yield
    except NotWritten as problem:
        follower.look()
        if follower.loaded:
            raise
        raise NothingRecorded(str(problem)) from problem


def _own_file(folder: Path) -> Path:
    """A file that no other run writes, whatever runs beside this one; of those before, the last few stay."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for old in sorted(folder.glob("*.ipynb"))[:-KEPT]:
            for file in (old, old.with_suffix(".json")):
                file.unlink(missing_ok=True)
    began = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}"
    return folder / f"{began}-{os.getpid()}.ipynb"


@contextmanager
def _meanwhile(target: Path) -> Iterator[tuple[Path, Path]]:
    """`target`, and a temporary file to write meanwhile: the disk of the records may fill while a notebook runs.

    A notebook that breaks off is moved to `target` as well, if that can be.
    """
    aside = Path(tempfile.mkdtemp(prefix="benchbook-")) / target.name
    try:
        with writing(aside):
            yield target, aside
    except BaseException:
        with suppress(NotWritten):
            _move(aside, target)
        raise
    finally:
        if not aside.exists():
            aside.parent.rmdir()


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
    """Where an error arose that was not raised on purpose; empty where the stack does not say."""
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
        self.campaign, self.loaded, self.finished = "", False, False
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
        self.finished |= progress.finished
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
def _following(console: Console, after_loads: Callable[[], object]) -> Iterator[_Follower]:
    with tempfile.TemporaryDirectory(prefix="benchbook-") as folder:
        path = Path(folder) / "progress.jsonl"
        path.touch()
        follower, over = _Follower(path, console), threading.Event()
        beside = threading.Thread(target=after_loads, name="after-loads", daemon=True)

        def follow() -> None:
            while not over.wait(0.2):
                follower.look()
                if follower.finished and beside.ident is None:
                    beside.start()

        thread = threading.Thread(target=follow, daemon=True)
        os.environ[PROGRESS_FILE] = str(path)
        with follower.drawing():
            thread.start()
            try:
                yield follower
            finally:
                over.set()
                thread.join()
                if beside.ident is not None:
                    beside.join()
                follower.look()
                os.environ.pop(PROGRESS_FILE, None)
