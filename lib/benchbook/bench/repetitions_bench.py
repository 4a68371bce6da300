"""How often a campaign is said to drift, or a cell to be odd, where it does not and where it does; simulated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from benchbook.analysis.repeatability import CELLS_ALPHA, DRIFT_ALPHA
from benchbook.stats.estimates import Array
from benchbook.stats.order_drift import order_drift
from benchbook.stats.outlying import outlying

CAMPAIGNS = 400
# Cells differ in their spread: by the square root of an inverse chi-square of so many degrees of freedom.
SPREAD, SPREAD_DF = 0.03, 10
Change = Callable[[np.random.Generator, Array], Array]


def _none(rng: np.random.Generator, logs: Array) -> Array:
    return logs


def _drifts(rng: np.random.Generator, logs: Array) -> Array:
    """Each repetition 2% below the one before."""
    return np.asarray(logs + np.log(0.98) * np.arange(logs.shape[1]))


def _one_apart(rng: np.random.Generator, logs: Array) -> Array:
    """One repetition of the first cell at 70%."""
    logs[0, rng.integers(logs.shape[1])] += np.log(0.7)
    return logs


def _two_levels(rng: np.random.Generator, logs: Array) -> Array:
    """Two repetitions of the first cell at 80%."""
    logs[0, rng.permutation(logs.shape[1])[:2]] += np.log(0.8)
    return logs


def _blocks(rng: np.random.Generator, logs: Array) -> Array:
    """Repetitions that differ by 2% as a whole, without a drift."""
    return np.asarray(logs + 0.02 * rng.standard_normal((1, logs.shape[1])))


CHANGES: dict[str, Change] = {
    "nothing": _none,
    "blocks differ by 2%": _blocks,
    "-2% each repetition": _drifts,
    "one repetition at 70%": _one_apart,
    "two repetitions at 80%": _two_levels,
}


def shares(name: str, *, cells: int, repetitions: int, campaigns: int, seed: int = 1) -> dict[str, Any]:
    """Shares of simulated campaigns said to drift, to have a cell with an outlier or two levels, and any of these."""
    rng = np.random.default_rng(seed)
    found = [_said(CHANGES[name](rng, _logs(rng, cells, repetitions))) for _ in range(campaigns)]
    drifts, odd = np.array(found).T
    return {
        "campaign": name,
        "cells": cells,
        "n": repetitions,
        "drift": float(drifts.mean()),
        "odd cell": float(odd.mean()),
        "any": float((drifts | odd).mean()),
    }


def _logs(rng: np.random.Generator, cells: int, repetitions: int) -> Array:
    spread = SPREAD * np.sqrt(SPREAD_DF / rng.chisquare(SPREAD_DF, (cells, 1)))
    return np.asarray(spread * rng.standard_normal((cells, repetitions)))


def _said(logs: Array) -> tuple[bool, bool]:
    rows = [(f"{i}", j + 1, np.exp(value)) for i, row in enumerate(logs) for j, value in enumerate(row)]
    drift = order_drift(pd.DataFrame(rows, columns=["cell", "repetition", "value"]))
    drifts = drift is not None and drift.p_value < DRIFT_ALPHA
    slope = np.log1p(drift.change) if drift and drifts else 0.0
    left = logs - slope * np.arange(logs.shape[1])
    return drifts, bool(outlying({f"{i}": row.tolist() for i, row in enumerate(left)}, alpha=CELLS_ALPHA))


def repetitions(console: Console) -> dict[str, Any]:
    """how often drift, outliers and two levels over repetitions are named, where there are none and where there are"""
    rows = [
        shares(name, cells=cells, repetitions=n, campaigns=CAMPAIGNS)
        for name in CHANGES
        for cells in (8, 16, 57)
        for n in (3, 5, 7)
    ]
    console.print(pd.DataFrame(rows).round(3).to_string(index=False), markup=False)
    return {"rows": rows}
