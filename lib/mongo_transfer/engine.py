"""The whole transfer, from the two URLs to the report."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Literal, Protocol

from pymongo.errors import PyMongoError

from benchbook.errors import BadInput, NotWritten
from mongo_transfer import catalog, ranges, tally
from mongo_transfer.clients import Client, answering, connected, patiently, reason, refuse_same_server
from mongo_transfer.errors import TransferFailed
from mongo_transfer.reader import dropped
from mongo_transfer.settings import Settings
from mongo_transfer.tally import Counts, Usage, total
from mongo_transfer.workers import Crew

Status = Literal["complete", "failed", "interrupted"]


@dataclass(frozen=True)
class TransferReport:
    """Documents, bytes (of BSON), seconds of copying, and the CPU seconds and peak memory of all processes together.

    `documents` are those that this run put on the target, `already_there` those it found there unchanged.
    `seconds` are from the start of the workers (`began`, since the epoch) to their end; indexes and the preparation are
    not in them.
    """

    status: Status
    source: str
    target: str
    knobs: dict[str, int]
    began: float
    seconds: float
    index_seconds: float
    usage: Usage
    most_in_flight: int
    collections: dict[str, Counts]
    error: str | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def totals(self) -> Counts:
        return total(self.collections)

    def as_dict(self) -> dict[str, object]:
        """The report as plain values, ready for JSON."""
        totals = self.totals
        return {
            "status": self.status,
            "error": self.error,
            "source": self.source,
            "target": self.target,
            "knobs": self.knobs,
            "documents": totals.written,
            "already_there": totals.already_there,
            "bytes": totals.bytes,
            "began": round(self.began, 3),
            "seconds": round(self.seconds, 3),
            "index_seconds": round(self.index_seconds, 3),
            "documents_per_second": round(totals.written / self.seconds, 1) if self.seconds else 0.0,
            "cpu_seconds": round(self.usage.cpu, 3),
            "cpu_seconds_per_million": round(1e6 * self.usage.cpu / totals.written, 2) if totals.written else None,
            "peak_rss_mb": round(self.usage.peak / 2**20, 1),
            "most_documents_in_flight": self.most_in_flight,
            "collections": {name: {**asdict(each), "written": each.written} for name, each in self.collections.items()},
            "notes": self.notes,
        }

    def as_json(self) -> str:
        return json.dumps(self.as_dict(), indent=2)


_SAMPLE_SECONDS = 1.0
_SIXTEEN_MEGABYTES = 16 * 2**20


@dataclass(frozen=True)
class Sample:
    """One second of a transfer: `t` seconds since its start, documents settled so far, documents/s since the last
    sample, CPU seconds so far and resident memory (bytes) of all its processes."""

    t: float
    documents: int
    rate: float
    cpu: float
    resident: int


class TransferWatcher(Protocol):
    """Is told how a transfer goes on, about once a second."""

    def start(self, documents: int) -> None: ...
    def update(self, sample: Sample) -> None: ...


@dataclass
class _State:
    # What the crew does not know, so that a report can be made whenever the transfer ends.
    notes: list[str] = field(default_factory=list)
    began: float = 0.0
    seconds: float = 0.0
    index_seconds: float = 0.0


def transfer(settings: Settings, watchers: tuple[TransferWatcher, ...] = ()) -> TransferReport:
    """Copies what the settings select; returns the report, also of a transfer that failed or was interrupted by Ctrl-C.

    Raises BadInput, with nothing written, if the servers or the selection cannot be used.
    """
    state = _State()
    with _crew(settings) as crew, _both(settings) as (source, target):
        with answering(settings.source, _unusable):
            found = catalog.collections(source, settings)
        try:
            _carry_over(settings, crew, source, target, found, state, watchers)
        except (TransferFailed, NotWritten) as error:
            return _report(settings, crew, state, "failed", str(error))
        except PyMongoError as error:
            # Before the copying or after it: what was copied is reported all the same.
            return _report(settings, crew, state, "failed", f"a server is lost, or refuses: {reason(error)}")
        except KeyboardInterrupt:
            return _report(settings, crew, state, "interrupted", "interrupted; start it again to go on")
        return _report(settings, crew, state, "complete", None)


def _unusable(said: str) -> BadInput:
    return BadInput(said, fix="mend that server, or give its user the right to read (source) or to write (target)")


@contextmanager
def _crew(settings: Settings) -> Iterator[Crew]:
    crew = Crew(settings)
    try:
        yield crew
    finally:
        crew.stop()


@contextmanager
def _both(settings: Settings) -> Iterator[tuple[Client, Client]]:
    with (
        connected(settings.source, settings.connect_seconds) as source,
        connected(settings.target, settings.connect_seconds) as target,
    ):
        with answering(settings.target, _unusable):
            refuse_same_server(source, target, (settings.source.name, settings.target.name))
        yield source, target


def _carry_over(
    settings: Settings,
    crew: Crew,
    source: Client,
    target: Client,
    found: list[catalog.Collection],
    state: _State,
    watchers: tuple[TransferWatcher, ...],
) -> None:
    for each in found:
        state.notes += catalog.create(target, each)
    for watcher in watchers:
        watcher.start(sum(each.documents for each in found))
    _copy(crew, _ranges(settings, source, target, found), _document_limit(target), state, watchers)
    # A repetition of what follows does no harm.
    patient = patiently(settings.retry_seconds, lambda: False)
    gone = [each.namespace for each in found if not patient(catalog.is_still_there, source, each)]
    if gone:
        raise TransferFailed(dropped(", ".join(gone)))
    started = time.monotonic()
    state.notes += patient(catalog.copy_indexes, source, target, found, settings.create_index_threads)
    state.index_seconds = time.monotonic() - started


def _ranges(settings: Settings, source: Client, target: Client, found: list[catalog.Collection]) -> list[ranges.Range]:
    total = sum(each.documents for each in found)
    parts: list[ranges.Range] = []
    for each in found:
        if each.kind != "collection":
            continue
        wanted = ranges.parts_for(
            each.documents, total, readers=settings.source_threads, split_documents=settings.split_documents
        )
        is_resumed = catalog.documents(target, each.database, each.name) > 0
        parts += ranges.split(source, each, parts=wanted, is_resumed=is_resumed)
    return parts


def _document_limit(target: Client) -> int:
    return int(target.admin.command("hello").get("maxBsonObjectSize", _SIXTEEN_MEGABYTES))


def _copy(
    crew: Crew, parts: list[ranges.Range], document_limit: int, state: _State, watchers: tuple[TransferWatcher, ...]
) -> None:
    started, state.began = time.monotonic(), time.time()
    last = Sample(0.0, 0, 0.0, 0.0, 0)
    try:
        for _ in crew.run(parts, document_limit):
            if time.monotonic() - started - last.t >= _SAMPLE_SECONDS:
                last = _sampled(crew, started, last, watchers)
        _sampled(crew, started, last, watchers)
    finally:
        # However it ends: only once the workers have stopped are their counts the last word.
        crew.stop()
        state.seconds = time.monotonic() - started


def _sampled(crew: Crew, started: float, last: Sample, watchers: tuple[TransferWatcher, ...]) -> Sample:
    t, documents, used = time.monotonic() - started, tally.total(crew.counts()).settled, crew.usage()
    rate = (documents - last.documents) / (t - last.t) if t > last.t else 0.0
    sample = Sample(t, documents, rate, used.cpu, used.resident)
    for watcher in watchers:
        watcher.update(sample)
    return sample


def _report(settings: Settings, crew: Crew, state: _State, status: Status, error: str | None) -> TransferReport:
    knobs = ("source_threads", "target_threads", "cache_bucket_size", "cache_bucket_num", "batch_size")
    return TransferReport(
        status=status,
        source=settings.source.name,
        target=settings.target.name,
        knobs={key: getattr(settings, key) for key in knobs}
        | {"processes": settings.worker_count(), "documents_in_flight_bound": settings.documents_in_flight},
        began=state.began,
        seconds=state.seconds,
        index_seconds=state.index_seconds,
        usage=crew.usage(),
        most_in_flight=crew.most_in_flight(),
        collections=dict(sorted(crew.counts().items())),
        error=error,
        notes=state.notes,
    )
