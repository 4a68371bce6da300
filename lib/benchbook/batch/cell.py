"""A cell on a worker: its guarded command, its output in a file, its last line told to who drives the batch.

The folder of the batch is the worker's own, `data/runs/batches/ID` of its checkout. What runs on this machine for an
earlier try of the same cell, whose worker was killed, is waited for: its guard holds the cell's lock until then.
"""

from __future__ import annotations

import fcntl
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from benchbook import paths
from benchbook.analysis import results
from benchbook.batch import process_guard
from benchbook.campaign.store import Campaign
from benchbook.errors import BenchbookError, HostReserved
from benchbook.user_input.guard import INTERRUPTED

# The line by which a report names its campaign's folder.
SAID = "campaign: "


class CellFound(BaseModel):
    """`verdicts` counts claims by verdict; `problem` is why the run broke off, if it did."""

    model_config = ConfigDict(frozen=True)

    campaign: str
    planned: int
    done: int
    failed: int
    disturbed: int = 0
    verdicts: dict[str, int] = {}
    problem: str = ""


def found_by(output: str) -> CellFound | None:
    """By the output of `benchbook report`; None where it began no campaign, or one that cannot be read."""
    named = [line.removeprefix(SAID) for line in output.splitlines() if line.startswith(SAID)]
    if not named:
        return None
    folder = Path(named[-1])
    try:
        counts = results.counted(Campaign(folder))
        # A run that broke off before it had results has left its records.
        judged = results.read(folder / paths.RESULTS) if (folder / paths.RESULTS).is_file() else None
    except BenchbookError:
        # The cell's own output says what is wrong with it.
        return None
    verdicts = Counter(claim.verdict for claim in judged.claims) if judged else {}
    problem = (judged.failed if judged else None) or ""
    return CellFound(campaign=folder.name, **counts.model_dump(), verdicts=dict(verdicts), problem=problem)


# What a report may take to end what it runs on its hosts: its lease, and the time to say so.
PATIENCE_S = 120.0
_LOOK_EVERY_S = 0.2
_TAIL_BYTES = 4000
# Of what a cell said, its reason is in the last few lines that say more than how far it is.
_LINES = 3
_ORDINARY = re.compile(rf"\d+/\d+  done |page: |{SAID}|starting the lab|stopped the lab")

_lock = threading.Lock()
_running: dict[str, list[subprocess.Popen[bytes]]] = {}
_ending: set[str] = set()


@dataclass(frozen=True)
class CellOrder:
    """What a worker is to run. `program` is empty for the kit itself by the worker's own Python."""

    batch: str
    number: int
    attempt: int
    words: tuple[str, ...]
    program: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return f"benchbook-{self.batch}-{self.number:03}-{self.attempt}"


class CellRan(BaseModel):
    """How it ended: times are seconds since the epoch by the worker's clock, `said` the end of its output."""

    model_config = ConfigDict(frozen=True)

    status: int
    began: float
    ended: float
    host: str
    home: str
    log: str
    said: str
    found: CellFound | None = None

    @property
    def busy(self) -> bool:
        """Whether its hosts were another driver's, so that nothing was run."""
        return self.status == HostReserved.exit_status and HostReserved.WORDS in self.said

    @property
    def page(self) -> str:
        """The page that it made; empty where there is none."""
        made = [line.partition("page: ")[2] for line in self.said.splitlines() if line.startswith("page: ")]
        return made[-1] if made else ""

    @property
    def why(self) -> str:
        """The last that it said of itself: of a cell that did not end well, the reason."""
        lines = [line.strip() for line in self.said.splitlines()]
        return " ".join([line for line in lines if line and not _ORDINARY.match(line)][-_LINES:])


def batches_dir() -> Path:
    return paths.runs_dir("batches")


def run_cell(order: CellOrder, tell: Callable[[str], None]) -> CellRan:
    """Run a cell to its end. One that is run again, because its result was lost, goes on from its records."""
    folder = batches_dir() / order.batch
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{order.number:03}.log"
    began = time.time()
    with _only_one(order, folder / f"{order.number:03}.lock") as held, log.open("ab") as output:
        # What an earlier try said stands before it.
        tail = partial(_tail, log, output.tell())
        status = INTERRUPTED if held is None else _to_its_end(order, held, output.fileno(), tail, tell)
    where = {"host": socket.gethostname(), "home": str(paths.home()), "log": str(log)}
    said = tail()
    return CellRan(status=status, began=began, ended=time.time(), **where, said=said, found=found_by(said))


def _tail(log: Path, since: int) -> str:
    """Return the end of what one try of a cell said: its log from `since` on, in bytes."""
    with log.open("rb") as source:
        source.seek(max(since, source.seek(0, os.SEEK_END) - _TAIL_BYTES))
        return source.read().decode(errors="replace")


def end_cells(batch: str) -> None:
    """End what runs here for a batch as Ctrl-C does, and begin nothing more of it."""
    with _lock:
        _ending.add(batch)
        for process in _running.get(batch, []):
            _let_go(process)


@contextmanager
def _only_one(order: CellOrder, path: Path) -> Iterator[int | None]:
    """The cell's lock, once no other process has it; None when the batch has been ended meanwhile."""
    with path.open("ab") as held:
        while order.batch not in _ending:
            with suppress(BlockingIOError):
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield held.fileno()
                return
            time.sleep(_LOOK_EVERY_S)
        yield None


def _to_its_end(order: CellOrder, held: int, output: int, tail: Callable[[], str], tell: Callable[[str], None]) -> int:
    process = _start(order, held, output)
    if process is None:
        return INTERRUPTED
    said = ""
    try:
        while process.poll() is None:
            time.sleep(_LOOK_EVERY_S)
            line = tail().strip().rpartition("\n")[2].strip()
            if line != said:
                said = line
                tell(line)
    finally:
        with _lock:
            _running[order.batch].remove(process)
            _let_go(process)
    return INTERRUPTED if order.batch in _ending else process.returncode


def _start(order: CellOrder, held: int, output: int) -> subprocess.Popen[bytes] | None:
    program = order.program or (sys.executable, "-m", "benchbook")
    with _lock:
        if order.batch in _ending:
            return None
        process = subprocess.Popen(
            [sys.executable, str(process_guard.__file__), str(PATIENCE_S), *program, *order.words],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            cwd=paths.home(),
            pass_fds=[held],
            # Ctrl-C in the terminal of the batch is for the batch to answer.
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        _running.setdefault(order.batch, []).append(process)
        return process


def _let_go(process: subprocess.Popen[bytes]) -> None:
    if process.stdin and not process.stdin.closed:
        process.stdin.close()
