"""What a transfer ends with: one JSON object, also when it failed or was interrupted."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Literal

from benchbook.transfer.tally import Counts, Usage, total

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
