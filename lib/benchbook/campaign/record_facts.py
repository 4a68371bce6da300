"""What was computed from records and their series, kept with their index: of thousands, each is looked into once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from benchbook.campaign.record import Record
from benchbook.campaign.record_index import RowFile, fingerprints, index_of, settled

FILES = ("record.json", "series.parquet")


class RecordFacts:
    """One JSON value per record: what `find` says of it, or what it said when the same files were there before.

    `kind` names what is found and how: another way to find it is another kind. What is new is kept when `with` ends,
    however it ends.
    """

    def __init__(self, folder: Path, kind: str, find: Callable[[Record], object]) -> None:
        self._kind, self._find = kind, find
        self._kept = RowFile(index_of(folder))
        self._files = fingerprints(folder, FILES)
        self._known = self._kept.facts(kind)
        self._fresh: dict[str, tuple[str, str]] = {}

    def __enter__(self) -> RecordFacts:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        fresh = {name: found for name, found in self._fresh.items() if settled(found[0])}
        if fresh:
            self._kept.keep_facts(self._kind, fresh)

    def __call__(self, record: Record) -> Any:
        """The value of a record of this folder, as JSON gives it back. Raises what `find` raises."""
        fits = self._files.get(record.id, "")
        known = self._known.get(record.id)
        if known is None or known[0] != fits:
            known = fits, json.dumps(self._find(record))
            self._known[record.id] = self._fresh[record.id] = known
        return json.loads(known[1])
