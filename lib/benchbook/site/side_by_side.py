"""Steps that take a core each, as many at once as there are cores: each in a copy of this process."""

from __future__ import annotations

import gc
import multiprocessing
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from typing import IO

from benchbook.given.guard import INTERRUPTED

_FORK = multiprocessing.get_context("fork")

Step = Callable[[], int]


@dataclass(frozen=True)
class _Running:
    """A step in its process, and what it prints, by file descriptor."""

    process: ForkProcess
    printed: dict[int, IO[bytes]]


def run(steps: Sequence[Step]) -> list[int]:
    """The exit status of every step; what a step prints appears in one piece when it has ended.

    A step alone runs in this process. One whose process is killed has status 1.
    """
    if len(steps) < 2:
        return [step() for step in steps]
    left, found, running = list(enumerate(steps)), [1] * len(steps), dict[int, _Running]()
    with ExitStack() as stack:
        stack.callback(_end, running)
        while left or running:
            while left and len(running) < cores():
                place, step = left.pop(0)
                running[place] = _started(step, stack)
            for place in _ended(running):
                found[place] = _tell(running.pop(place))
    return found


def cores() -> int:
    """How many of them this process may use."""
    return len(os.sched_getaffinity(0))


def _started(step: Step, stack: ExitStack) -> _Running:
    printed: dict[int, IO[bytes]] = {number: stack.enter_context(tempfile.TemporaryFile()) for number in (1, 2)}  # noqa: SIM115
    process = _FORK.Process(target=_work, args=(step, {number: file.fileno() for number, file in printed.items()}))
    # What stands in a buffer would be printed by both.
    sys.stdout.flush()
    sys.stderr.flush()
    process.start()
    return _Running(process, printed)


def _work(step: Step, files: dict[int, int]) -> None:
    # No part of what this process began with is garbage.
    gc.freeze()
    for number, file in files.items():
        os.dup2(file, number)
    sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in files)  # noqa: SIM115
    status = INTERRUPTED
    # Who interrupted it is told by the process that all are copies of.
    with suppress(KeyboardInterrupt):
        status = step()
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(status)


def _ended(running: dict[int, _Running]) -> list[int]:
    wait([one.process.sentinel for one in running.values()])
    return [place for place, one in running.items() if not one.process.is_alive()]


def _tell(ended: _Running) -> int:
    for number, file in ended.printed.items():
        file.seek(0)
        with os.fdopen(os.dup(number), "wb") as out:
            shutil.copyfileobj(file, out)
    code = ended.process.exitcode
    if code is not None and code < 0:
        print(f"a process was killed (signal {-code}): was there enough memory?", file=sys.stderr)
        return 1
    return code or 0


def _end(running: dict[int, _Running]) -> None:
    """Whatever ended this process's own work ends the others'; each ends its kernel."""
    for one in running.values():
        one.process.terminate()
    for one in running.values():
        one.process.join()
