"""Watches a run from beside: its command lines, for secrets; its records, for rewritten ones; what it has begun."""

from __future__ import annotations

import threading
from types import TracebackType

from fault_campaign import process_table
from fault_campaign.checker import KeptRecords
from fault_campaign.home import RoundHome
from fault_campaign.moments import RunSigns

_EVERY_S = 0.5


class Lookout:
    """Use as a context manager around a run, made before it starts: looks a few times a second, and once at the end."""

    def __init__(self, home: RoundHome, kept: KeptRecords, command_lines: set[str]) -> None:
        self._home, self._kept, self._lines = home, kept, command_lines
        self._signs = RunSigns(home)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="lookout", daemon=True)
        self.trials: set[str] = set()

    def __enter__(self) -> Lookout:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(_EVERY_S):
            self._look()
        self._look()

    def _look(self) -> None:
        self._lines.update(one.words for one in process_table.of_folder(self._home.path))
        self._kept.look([self._home.home])
        self.trials.update(str(said["trial"]) for said in self._signs.progress() if said.get("trial"))
