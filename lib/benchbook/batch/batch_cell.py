"""One cell of a batch: a report on an inventory with a profile and parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue


@dataclass(frozen=True)
class BatchCell:
    """One run of one report. `number` counts from 1, `place` is the file of its inventory."""

    number: int
    report: str
    inventory: str
    profile: str
    parameters: tuple[tuple[str, JsonValue], ...]
    place: str

    def __str__(self) -> str:
        return " ".join((self.report, self.inventory, self.profile, *self._pairs()))

    def words(self) -> tuple[str, ...]:
        """The arguments of `benchbook` that run it, wherever: a worker stands in its checkout, not where we do."""
        where, size = _from_anywhere(self.inventory), _from_anywhere(self.profile)
        said = ("report", self.report, "--profile", size, "--inventory", where)
        return (*said, *(word for pair in self._pairs() for word in ("-p", pair)))

    def _pairs(self) -> list[str]:
        return [f"{name}={json.dumps(value)}" for name, value in self.parameters]


def _from_anywhere(name: str) -> str:
    """A name in env/ as it is, a file's path from the root."""
    return str(Path(name).absolute()) if name.endswith((".yaml", ".yml")) else name


class Planned(NamedTuple):
    """What a cell plans at first: how many trials, and seconds that a load lasts (0 where it is not said)."""

    trials: int
    load_s: float


def load_s(asked: Mapping[str, object]) -> float:
    """Seconds that a load lasts by what was asked for; 0 where that does not say it."""
    found = asked.get("time_s")
    return float(found) if isinstance(found, int | float) else 0.0
