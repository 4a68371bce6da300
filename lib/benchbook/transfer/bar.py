"""Progress on a terminal."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchbook.transfer.engine import Sample


class Bar:
    """Done and total, documents/s, CPU, memory, time left; on the given stream, which is a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._progress = Progress(
            TextColumn("transfer"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]:,.0f} docs/s"),
            TextColumn("{task.fields[memory]:,.0f} MB"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(file=stream),
        )
        self._task = self._progress.add_task("transfer", total=None, rate=0.0, memory=0.0, start=False)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def start(self, documents: int) -> None:
        # Not before: it has a thread, and a process with threads cannot be forked safely (see Crew).
        self._progress.start()
        self._progress.update(self._task, total=documents)
        self._progress.start_task(self._task)

    def update(self, sample: Sample) -> None:
        memory = sample.resident / 2**20
        self._progress.update(self._task, completed=sample.documents, rate=sample.rate, memory=memory)
