"""The proof that a target holds what the source holds: counts and hashes of every collection, as both read them back.

The target is read after every copy. The source is only ever read by what is measured: it is read back once, and again
when it counts other documents or bytes than it did then, or when a copy differs. A server that the kit does not run may
be written to by anybody: it is read back beside every target.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from benchbook.errors import TrialFailed
from benchbook.hosts.about import Json
from benchbook.hosts.fanout import together
from benchbook.hosts.host import Host
from benchbook.hosts.session import Session
from benchbook.reports.transfer.client_python import longest_s, reader, tool
from benchbook.systems.mongo import MongoServer


@dataclass(frozen=True)
class Held:
    """What a server held: its collections by namespace, and when they were read (s since the epoch)."""

    collections: dict[str, Json]
    at: float

    @property
    def documents(self) -> int:
        return sum(int(each["documents"]) for each in self.collections.values())


@dataclass
class EqualSides:
    """Source and target of `documents` documents, read back by the client host."""

    session: Session
    client: Host
    source: MongoServer
    target: MongoServer
    documents: int
    # Of the source, and what it weighed then.
    _held: Held | None = field(init=False, default=None)
    _weight: int = field(init=False, default=0)

    def reader(self) -> AbstractContextManager[Callable[[], Json]]:
        """What reads the target back once its copy is over, started while there is none yet."""
        return reader(self.session, self.client, self.target.endpoint, within_s=longest_s(self.documents))

    def prove(self, output: str, read_target: Callable[[], Json]) -> Json:
        """The evidence, for a record. Raises TrialFailed with the engine's `output` on any difference."""
        before = self._held
        source, target = together(self._source, lambda: _held(time.time(), read_target()))
        if source is before and source.collections != target.collections:
            source = self._held = self._read_source()
        names = sorted({*source.collections, *target.collections})
        found = [
            {"namespace": name, "source": source.collections.get(name), "target": target.collections.get(name)}
            for name in names
        ]
        wrong = [each["namespace"] for each in found if each["source"] != each["target"]]
        if wrong or source.documents != self.documents:
            raise TrialFailed(
                f"source and target differ after the transfer ({', '.join(map(str, wrong)) or 'in number'}); the "
                f"source holds {source.documents} of {self.documents} documents",
                output=output + json.dumps(found),
            )
        return {"agrees": True, "documents": source.documents, "collections": found, "source_read": source.at}

    def _source(self) -> Held:
        weight = self.source.weigh()
        # Nobody knows whether a server that tells no weight is written to.
        if self._held is None or not weight or weight != self._weight:
            self._held, self._weight = self._read_source(), weight
        return self._held

    def _read_source(self) -> Held:
        """Every collection of it, read whole. Raises SystemFailed."""
        within_s = longest_s(self.documents)
        return _held(time.time(), tool(self.session, self.client, "digest", self.source.endpoint, within_s=within_s))


def _held(at: float, found: Json) -> Held:
    return Held({each["namespace"]: each for each in found["collections"]}, at)
