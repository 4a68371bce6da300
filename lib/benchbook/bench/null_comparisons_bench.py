"""How often `compare` calls equal campaigns different: part of `make bench`. With a campaign effect, and a history."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from benchbook.compare import cells
from benchbook.compare.history import History
from benchbook.stats.estimates import Array

TABLES, LEVELS, REPETITIONS = 5, 3, 3
# Relative standard deviations, of repetitions and of campaigns; further campaigns that repeat the two (`--history`).
SPREAD, BETWEEN, HISTORIES = 0.01, (0.0, 0.02, 0.03), (0, 3, 6)
COMPARISONS = 150
WORKERS = 2


@dataclass(frozen=True)
class NullSetting:
    """`between`: relative standard deviation of campaigns; `shared`: it moves all cells of a table alike.

    `history`: how many other campaigns of the same truth were recorded; `ratio`: the true b / a.
    """

    between: float
    shared: bool
    history: int
    ratio: float = 1.0

    def campaign(self, rng: np.random.Generator) -> Array:
        """Values (tables, levels, repetitions) around 1000."""
        lucks = rng.standard_normal((TABLES, 1 if self.shared else LEVELS, 1))
        noise = SPREAD * rng.standard_normal((TABLES, LEVELS, REPETITIONS))
        return np.asarray(1000 * np.exp(self.between * lucks + noise))


def settings() -> Iterator[NullSetting]:
    """All that are measured: equal campaigns, and at the margin, where "equivalent" would be wrong."""
    for ratio, between, shared, history in itertools.product(
        (1.0, 1 - cells.MARGIN), BETWEEN, (True, False), HISTORIES
    ):
        if between or shared:
            yield NullSetting(between, shared, history, ratio)


def null_comparisons(console: Console) -> dict[str, Any]:
    """the share of comparisons of equal campaigns that show a difference, with and without a history; 15 cells"""
    with ProcessPoolExecutor(WORKERS) as pool:
        rows = list(pool.map(measured, settings()))
    table = pd.DataFrame(rows)
    console.print(table.round(3).to_string(index=False), markup=False)
    known = table[(table.history > 0) | (table.between == 0)]
    return {
        "comparisons": COMPARISONS,
        "different_at_most": float(known.different.max()),
        "equivalent_at_most": float(known[known.ratio < 1].equivalent.max()),
        "table": rows,
    }


def measured(setting: NullSetting, comparisons: int = COMPARISONS) -> dict[str, Any]:
    """The setting, and the shares of comparisons with a wrong "different" and a wrong "equivalent" cell.

    At a ratio of 1 no cell may be called different; at the margin none may be called equivalent, or not slower.
    `cells`: the share of cells that are called equivalent.
    """
    rng = np.random.default_rng(
        [int(1000 * setting.between), setting.shared, setting.history, int(100 * setting.ratio)]
    )
    found = [_outcomes(setting, rng) for _ in range(comparisons)]
    different, equivalent = ["slower", "faster", "changed"], ["equivalent", "not slower"]
    null = setting.ratio == 1
    return {
        "ratio": setting.ratio,
        "between": setting.between,
        "of": "tables" if setting.shared else "cells",
        "history": setting.history,
        "different": float(np.mean([one.isin(different).any() for one in found])) if null else None,
        "equivalent": None if null else float(np.mean([one.isin(equivalent).any() for one in found])),
        "cells": float(np.mean([one.eq("equivalent").mean() for one in found])),
    }


def _outcomes(setting: NullSetting, rng: np.random.Generator) -> pd.Series[str]:
    """What the cells of one comparison are called."""
    a, b = (_long(setting.campaign(rng) * factor).assign(arm=arm) for arm, factor in (("a", 1.0), ("b", setting.ratio)))
    both = pd.concat([a, b], ignore_index=True)
    others = [_long(setting.campaign(rng)).assign(campaign=str(i), stratum="a") for i in range(setting.history)]
    effects = History((), pd.concat(others, ignore_index=True)).effects(both) if others else {}
    outcomes: pd.Series[str] = cells.outcomes(both, effects=effects).outcome
    return outcomes


def _long(values: Array) -> pd.DataFrame:
    """[table, system, levels, metric, unit, value]."""
    index = pd.MultiIndex.from_product([range(size) for size in values.shape], names=["table", "levels", "repetition"])
    frame = pd.DataFrame({"value": values.ravel()}, index=index).reset_index()
    named = frame.assign(table="t" + frame.table.astype(str), levels="threads " + frame.levels.astype(str))
    return named.assign(system="s", metric="tps", unit="1/s")[[*cells.CELL, "value"]]
