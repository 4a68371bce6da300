"""One cell of a comparison as a program reads it, and what a cell can be called."""

from __future__ import annotations

from typing import Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict

from benchbook.published.time_units import is_rate, is_time

Outcome = Literal["faster", "slower", "changed", "equivalent", "not slower", "undecided"]
OUTCOMES: tuple[Outcome, ...] = ("slower", "faster", "changed", "equivalent", "not slower", "undecided")

NOT_CALLED = "not called"


class CellRow(BaseModel):
    """A cell of both campaigns. Missing: no interval, no test, or no number of repetitions that would decide it.

    `a` and `b` are means in `unit`, `ratio` is b / a, low and high its 95% interval for this cell alone. `campaigns`:
    how many repeated campaigns the interval and the tests know of; 0 where what campaigns differ by is only stated.
    `own_spread`: its repetitions vary unlike those of the other cells, so nothing was borrowed from them.
    """

    model_config = ConfigDict(frozen=True)
    table: str
    system: str
    levels: str
    metric: str
    unit: str
    a: float
    b: float
    ratio: float
    low: float | None
    high: float | None
    n_a: int
    n_b: int
    p_value: float | None
    p_holm: float | None
    campaigns: int
    own_spread: bool
    outcome: Outcome
    needed: int | None


def rows(table: pd.DataFrame) -> list[CellRow]:
    """A row of `cells.differences` each."""
    known = table.astype(object).where(table.notna(), None)
    return [CellRow.model_validate(line) for line in known.to_dict("records")]


def better_side(unit: str) -> int:
    """1 where more is better (a rate), -1 where less is (a time), 0 where the unit does not say."""
    return int(is_rate(unit)) - int(is_time(unit))


def direction(unit: str, ratio: float) -> Literal["faster", "slower", "changed"]:
    """What a difference is called, of a ratio new over old; a metric without a better side has changed."""
    better = better_side(unit)
    return "changed" if better == 0 else "faster" if (ratio > 1) == (better > 0) else "slower"


def in_words(row: CellRow, called: str) -> str:
    """What a cell is called, with what it would need, or that campaigns of one system may differ as much."""
    if called == "undecided" and row.needed is not None:
        return f"{called} (needs n = {row.needed})"
    if called not in {"undecided", NOT_CALLED} and not row.campaigns:
        return f"{called} (no history)"
    return called
