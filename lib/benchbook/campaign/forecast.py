"""When a run will be over: from what its trials have taken so far, with what is done only once kept apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from benchbook.campaign.design import Trial, blocks


class Forecast:
    """Installing a system and preparing its data are done once: they say nothing about the trials that are left."""

    def __init__(self, expected_s: Callable[[Trial], float]) -> None:
        self._expected_s = expected_s
        self._prepared: set[str] = set()
        self._begins: list[float] = []
        self._over: list[float] = []

    def began(self, system: str, seconds: float) -> None:
        """A block's system is up; the first time of each system is the one-off one."""
        if system in self._prepared:
            self._begins.append(seconds)
        self._prepared.add(system)

    def took(self, trial: Trial, seconds: float) -> None:
        """A trial is over, well or not; what it took beyond its load is expected of the others, too."""
        self._over.append(max(0.0, seconds - self._expected_s(trial)))

    def left_s(self, todo: Sequence[Trial], *, in_block: bool) -> float | None:
        """Seconds until these trials are measured, without the preparation of systems that are new; None if unknown.

        `in_block`: the first of them goes on in a block whose system is up.
        """
        if not self._over:
            return None
        begins = len(blocks(todo)) - in_block - len(self.unprepared(todo))
        each = fmean(self._begins) if self._begins else 0.0
        return sum(map(self._expected_s, todo)) + len(todo) * fmean(self._over) + max(0, begins) * each

    def unprepared(self, todo: Sequence[Trial]) -> list[str]:
        """Systems that are still to be installed and prepared, in their order."""
        return [name for name in dict.fromkeys(trial.cell.system for trial in todo) if name not in self._prepared]
