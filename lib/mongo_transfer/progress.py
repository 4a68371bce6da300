"""How a transfer goes on: a bar on a terminal, lines in a log, a JSON line a second in a file."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchbook.errors import counted, writing
from mongo_transfer.engine import Sample, TransferWatcher


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
        self._progress.start()
        self._progress.update(self._task, total=documents)
        self._progress.start_task(self._task)

    def update(self, sample: Sample) -> None:
        memory = sample.resident / 2**20
        self._progress.update(self._task, completed=sample.documents, rate=sample.rate, memory=memory)


_LINE_SECONDS = 5.0


class ProgressLines:
    """A line every few seconds, for logs and pipes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._total, self._next = stream, 0, 0.0

    def __enter__(self) -> ProgressLines:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.flush()

    def start(self, documents: int) -> None:
        self._total = documents
        print(f"transfer: {counted(documents, 'document')}", file=self._stream, flush=True)

    def update(self, sample: Sample) -> None:
        if sample.t < self._next:
            return
        self._next = sample.t + _LINE_SECONDS
        print(line(sample, self._total), file=self._stream, flush=True)


def line(sample: Sample, documents: int) -> str:
    """One sample in words, with the time left at the mean rate so far."""
    left = max(documents - sample.documents, 0)
    eta = f"{left * sample.t / sample.documents:.0f} s left" if sample.documents else "time left unknown"
    return (
        f"transfer: {sample.documents}/{documents} documents, {sample.rate:.0f} docs/s, "
        f"{sample.resident / 2**20:.0f} MB, {eta}"
    )


class SampleFile:
    """Each sample as one JSON line: t (s), documents, rate (docs/s), cpu_s, rss_mb. Raises NotWritten."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("w", encoding="utf-8")

    def __enter__(self) -> SampleFile:
        return self

    def __exit__(self, *_: object) -> None:
        # Every line was flushed; one that could not be was told.
        with suppress(OSError):
            self._file.close()

    def start(self, documents: int) -> None:
        """Nothing to write yet: the total is in the report."""

    def update(self, sample: Sample) -> None:
        values = {
            "t": round(sample.t, 3),
            "documents": sample.documents,
            "rate": round(sample.rate, 1),
            "cpu_s": round(sample.cpu, 3),
            "rss_mb": round(sample.resident / 2**20, 1),
        }
        with writing(self._path):
            print(json.dumps(values), file=self._file, flush=True)


def shown(stream: TextIO) -> AbstractContextManager[TransferWatcher]:
    """Return a bar where the stream is a terminal, else lines."""
    return Bar(stream) if stream.isatty() else ProgressLines(stream)
