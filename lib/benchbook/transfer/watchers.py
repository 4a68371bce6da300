"""Progress as plain lines where there is no terminal, and for records: a line a second in a file."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from benchbook.errors import counted, writing
from benchbook.transfer.engine import Sample

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
