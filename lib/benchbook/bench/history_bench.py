"""Changes planted among 40 campaigns: found and false, by the kit and by Otava's method on the same series."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.console import Console

from benchbook.bench.e_divisive import e_divisive
from benchbook.stats.estimates import Array
from benchbook.stats.level_changes import level_changes

CAMPAIGNS, NOISE, SERIES = 40, 0.03, 1000
# A change counts as found within so many campaigns of its place.
NEAR = 2
# name -> size of the step, how many campaigns until it is undone (0: it stays).
PLANTED = {"none": (0.0, 0), "5%": (0.05, 0), "10%": (0.1, 0), "5%, undone": (0.05, 10), "10%, undone": (0.1, 10)}
METHODS: dict[str, Callable[[Array], list[int]]] = {
    "kit, 5% a series": lambda logs: [one.at for one in level_changes(logs, alpha=0.05)],
    "kit, 0.1% a series": lambda logs: [one.at for one in level_changes(logs, alpha=0.001)],
    "Otava, p 0.001": lambda logs: e_divisive(np.exp(logs)),
}


def history(console: Console) -> dict[str, Any]:
    """changes planted among 40 campaigns at 3% noise: found and false, beside Otava's method on the same series"""
    found: dict[str, Any] = {}
    for name, (size, lasts) in PLANTED.items():
        for noise in ("normal", "heavy"):
            rows = simulated(size, lasts, heavy=noise == "heavy", series=SERIES)
            found[f"{name}, {noise} noise"] = rows
            for method, row in rows.items():
                console.print(f"  {name:12} {noise:7} {method:20} {row}", markup=False)
    return found


def simulated(size: float, lasts: int, *, heavy: bool, series: int, seed: int = 1) -> dict[str, dict[str, float]]:
    """Method -> share of the planted changes that it found, false changes per series, series with any of them."""
    dice = np.random.default_rng(seed)
    counts = {name: np.zeros(3) for name in METHODS}
    planted = 0
    for _ in range(series):
        logs, places = made(dice, size, lasts, heavy=heavy)
        planted += len(places)
        for name, method in METHODS.items():
            hit, false = scored(method(logs), places)
            counts[name] += hit, false, false > 0
    return {
        name: {
            **({"found": round(float(hit / planted), 3)} if planted else {}),
            "false_per_series": round(float(false / series), 4),
            "series_with_false": round(float(some / series), 4),
        }
        for name, (hit, false, some) in counts.items()
    }


def made(dice: np.random.Generator, size: float, lasts: int, *, heavy: bool) -> tuple[Array, list[int]]:
    """Log means of 40 campaigns with a change of `size`, and where it is; heavy tails are Student's with 3 df."""
    noise = dice.standard_t(3, CAMPAIGNS) / 3**0.5 if heavy else dice.standard_normal(CAMPAIGNS)
    logs = NOISE * noise
    if not size:
        return logs, []
    step = np.log1p(size) * dice.choice([-1, 1])
    at = int(dice.integers(4, CAMPAIGNS - 3 - lasts))
    places = [at, at + lasts] if lasts else [at]
    logs[at : at + lasts if lasts else CAMPAIGNS] += step
    return logs, places


def scored(found: Sequence[int], places: Sequence[int]) -> tuple[int, int]:
    """How many of `places` were found, each by the nearest change; and how many changes are none of them."""
    left = list(found)
    hit = 0
    for place in places:
        near = min(left, key=lambda one: abs(one - place), default=None)
        if near is not None and abs(near - place) <= NEAR:
            left.remove(near)
            hit += 1
    return hit, len(left)
