"""Does compare find what is there, and only that? Campaigns of a system that differ by themselves, few or many."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from scipy import stats

from benchbook.claims.contrasts import LENT_DF, LENT_WEIGHT
from benchbook.compare import cells
from benchbook.compare.cells import CELL
from benchbook.compare.history import History
from benchbook.stats import cellwise
from benchbook.stats.estimates import Array, holm
from benchmarks import verdicts_simulation as simulation

TABLES, LEVELS, REPETITIONS, NOISE = 3, 5, 5, 0.03
# Shares by which campaigns differ, all cells of one alike; others recorded.
EFFECTS, HISTORIES = (0.0, 0.02, 0.03), (0, 2, 3, 6)
LOSS = 0.1
# Whose cells lend their spread. What drifts from one campaign to the next is no matter of spreads.
ODD = "two states (30% at 0.75), a quarter of the cells"
SLOW, BAD = "the machine slow (0.7) for runs of trials", "one bad trial in ten"
ALL = "two states (30% at 0.8), all cells"


def _uneven(dice: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    """Each cell varies by itself: 3%, within a factor of 1.6 in two cells of three."""
    found: Array = dice.normal(0, NOISE, shape) * np.exp(dice.normal(0, 0.5, shape[1:]))
    return found


WORLDS = {name: simulation.NOISES[name] for name in ("3%", "8%", ALL, ODD)} | simulation.HOLE
WORLDS |= {"cells differ in spread": _uneven, **{name: simulation.NOISES[name] for name in (SLOW, BAD)}}


def measure(console: Console, pairs: int = 150, times: int = 400, seed: int = 1) -> dict[str, Any]:
    """how often equal campaigns are a regression, and a loss of 10% is found, by campaigns' spread and history"""
    rows = []
    for effect, history in product(EFFECTS, HISTORIES):
        dice = np.random.default_rng([seed, int(1000 * effect), history])
        found = [shares(dice, effect, history) for _ in range(pairs)]
        rows.append({"effect": effect, "others": history, **pd.DataFrame(found).mean().to_dict()})
    simulation.show(console, "pairs of campaigns, all of whose cells shift alike, in %", pd.DataFrame(rows))
    lending = [{"noise": name, "n": n, **lent(WORLDS[name], n, times, seed)} for name, n in product(WORLDS, (2, 3, 5))]
    simulation.show(console, "any difference of equals, a loss of 10% found", pd.DataFrame(lending))
    return {"pairs": pairs, "times": times, "rows": rows, "spreads": lending}


def lent(noise: simulation.Noise, n: int, times: int, seed: int) -> dict[str, float]:
    """Return, by how cells lend their spread, how often equal campaigns differ, and how often a cell's loss shows."""
    dice, found = np.random.default_rng([seed, n]), []
    for _ in range(times):
        # One draw: the cells that are odd are so in both.
        a, b = np.split(noise(dice, (2 * n, TABLES, LEVELS)).reshape(2 * n, -1), 2)
        arms = {"n_new": n, "n_baseline": n, "variance_new": b.var(0, ddof=1), "variance_baseline": a.var(0, ddof=1)}
        compared = cellwise.spreads(pd.DataFrame(arms))
        own, df = (a.var(0, ddof=1) + b.var(0, ddof=1)) / n, np.full(TABLES * LEVELS, 2.0 * (n - 1))
        judged = (LENT_WEIGHT * own.mean() + own) / (LENT_WEIGHT + 1)
        rules: dict[str, tuple[Array, Array | float]] = {
            "compared": (compared.error2.to_numpy(), compared.df.to_numpy()),
            "own": (own, df), "mean or own": (np.maximum(own.mean(), own), df.sum()),
            "judged": (judged, np.maximum(LENT_DF, df)),
        }  # fmt: skip
        gap = b.mean(0) - a.mean(0)
        loss = np.r_[math.log1p(-LOSS), np.zeros(gap.size - 1)]
        for name, (error2, dfs) in rules.items():
            equal, lost = (
                holm(np.asarray(2 * stats.t.sf(np.abs(each) / np.sqrt(error2), dfs))) for each in (gap, gap + loss)
            )
            found.append({f"{name}: differ": float((equal < 0.05).any()), f"{name}: found": float(lost[0] < 0.05)})
    return dict(pd.DataFrame(found).mean())


def shares(dice: np.random.Generator, effect: float, history: int) -> dict[str, bool]:
    """Whether equal campaigns are a regression (exit status 1), and whether a loss in one cell of fifteen is called."""
    repeats = [_values(dice, effect).assign(campaign=str(n), stratum="a") for n in range(history)]
    behind = History(
        (), pd.concat(repeats) if repeats else pd.DataFrame(columns=[*CELL, "campaign", "stratum", "value"])
    )
    a, same, worse = (_values(dice, effect, loss) for loss in (0.0, 0.0, LOSS))
    known = behind.effects(a)
    equal, lost = (_outcomes(known, a, b) for b in (same, worse))
    return {
        "regression": bool(((equal.outcome == "slower") & (equal.campaigns > 0)).any()),
        "differs": bool((equal.outcome == "slower").any()),
        "found": lost.outcome[0] == "slower",
    }


def _outcomes(known: cells.Effects, a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    return cells.differences(pd.concat([a.assign(arm="a"), b.assign(arm="b")], ignore_index=True), effects=known)


def _values(dice: np.random.Generator, effect: float, loss: float = 0.0) -> pd.DataFrame:
    """A campaign's trials; `loss` is the first cell's."""
    logs: Array = dice.normal(0, NOISE, (REPETITIONS, TABLES, LEVELS)) + dice.normal(0, effect)
    logs[:, 0, 0] += math.log1p(-loss)
    index = pd.MultiIndex.from_product([range(n) for n in logs.shape], names=["repetition", "table", "levels"])
    found = (
        pd.Series(1000 * np.exp(logs.ravel()), index, name="value").reset_index().astype({"table": str, "levels": str})
    )
    return found.assign(system="s", metric="tps", unit="1/s")[[*CELL, "value"]]
