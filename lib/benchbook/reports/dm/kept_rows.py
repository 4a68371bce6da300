"""The proof that the target holds what the upstream holds; rows that nothing writes to are hashed once, not each time.

What dumps and loads read stays as it was prepared: the upstream's answers about it are kept while its server runs, and
are good for as long as its binlog ends where it began with the trial. Where the target differs, it is asked anew.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchbook.hosts.about import Json
from benchbook.reports.dm import checksum
from benchbook.reports.dm.checksum import Execute, Side, TableProof
from benchbook.systems.mysql import BinlogPosition

Answer = Sequence[Sequence[Any]]


@dataclass(frozen=True)
class EqualRows:
    """Every table of a database, the same on both sides; `source_read`: when the upstream was asked (s, epoch)."""

    tables: list[TableProof]
    source_read: float

    def as_json(self) -> Json:
        """As a record keeps it."""
        return {"tables": [vars(each) for each in self.tables], "same": True, "source_read": self.source_read}


@dataclass
class KeptRows:
    """The upstream's answers about `databases` that are only read, by statement, and since when they are kept."""

    databases: Collection[str]
    _answers: dict[str, dict[str, Answer]] = field(init=False, default_factory=dict)
    _read: dict[str, float] = field(init=False, default_factory=dict)
    _begun: BinlogPosition | None = field(init=False, default=None)

    def forget(self) -> None:
        """The server is another one, or its data is."""
        self._answers.clear()
        self._begun = None

    def begin(self, binlog: BinlogPosition) -> None:
        """A trial begins, with a binlog that ends there."""
        self._begun = binlog

    def untouched(self, binlog: BinlogPosition) -> bool:
        """Whether nothing was written since the trial began, of an upstream whose binlog ends there now."""
        return binlog == self._begun

    def prove(self, source: Side, target: Side, database: str, *, untouched: bool) -> EqualRows:
        """Counts and checksums of every table; `untouched`: nothing was written upstream in the trial.

        Raises RowsDiffer.
        """
        if database not in self.databases or not untouched:
            return EqualRows(checksum.prove(source, target, database), time.time())
        if known := self._answers.get(database):
            found = checksum.gather(_asked_once(source, known), target, database)
            if all(table.agrees for table in found):
                return EqualRows(found, self._read[database])
        answers = self._answers[database] = dict[str, Answer]()
        self._read[database] = time.time()
        return EqualRows(checksum.prove(_asked_once(source, answers), target, database), self._read[database])


def _asked_once(side: Side, known: dict[str, Answer]) -> Side:
    """A side that is only connected to for what is not `known` yet, and adds to it."""

    @contextmanager
    def connected() -> Iterator[Execute]:
        with ExitStack() as stack:
            asked: list[Execute] = []

            def ask(statement: str) -> Answer:
                if statement not in known:
                    if not asked:
                        asked.append(stack.enter_context(side()))
                    known[statement] = asked[0](statement)
                return known[statement]

            yield ask

    return connected
