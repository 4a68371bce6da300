"""How often verdicts, intervals and leanings are right where the truth is known: part of `make bench`.

Campaigns of a report's own ledger are simulated: with noise of several shapes, in all cells or in one of them; with
starts of two systems that differ; and with repetitions that move all loads of a table together.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console
from scipy.special import stdtrit

from benchbook import published
from benchbook.bench import claim_family
from benchbook.bench.claim_family import ClaimFamily, Truth
from benchbook.bench.repetition_noise import NOISE
from benchbook.claims.decide import Decision, decide
from benchbook.claims.parts import Part
from benchbook.stats.estimates import Array

REPORT, OF_TWO_SYSTEMS = "tidb_v7_1_3_sysbench", "tidb_v6_2_vs_v6_1_sysbench"
REPETITIONS, SPREADS = (3, 5, 7), (0.03, 0.1, 0.3)
CAMPAIGNS = 200
WORKERS = 2
# Cells vary unlike: their spreads are spread evenly over these multiples of the asked one, in logs.
_UNLIKE = 0.35
# True figures for the calibration of the leaning: the published ones times e^N(0, this).
_APART = 0.5
# How far a repetition moves all figures of one start, or all of one table, beside what it does to single cells.
TOGETHER = {"starts 2%": 0.02, "starts 10%": 0.1, "tables 3%": 0.03, "tables 10%": 0.1}
KINDS = ("all cells", "one cell", *TOGETHER)


@dataclass(frozen=True)
class Setting:
    """What is simulated: a noise in all cells, or in one among normal ones; repetitions; relative spread of a cell.

    Or what moves together (see TOGETHER), beside the noise in all cells.
    """

    noise: str
    kind: str
    n: int
    spread: float

    @property
    def report(self) -> str:
        """That whose claims are judged: starts differ where it has two systems."""
        return OF_TWO_SYSTEMS if self.kind.startswith("starts") else REPORT

    def seed(self) -> list[int]:
        """Of its own for every setting, the same in every run."""
        return [list(NOISE).index(self.noise), KINDS.index(self.kind), self.n, int(100 * self.spread)]

    def deviations(self, family: ClaimFamily, rng: np.random.Generator) -> Array:
        """Of the figures' logs from the truth, (figures, n); figures of one cell vary as much, each by itself."""
        cells = int(family.cells.max()) + 1
        spread = (self.spread * np.exp(rng.uniform(-_UNLIKE, _UNLIKE, cells)))[family.cells][:, None]
        if self.kind != "one cell":
            return np.asarray(NOISE[self.noise](rng, spread, self.n) + self._together(family, rng))
        odd = (family.cells == rng.integers(cells))[:, None]
        return np.where(odd, NOISE[self.noise](rng, spread, self.n), NOISE["normal"](rng, spread, self.n))

    def counted(self, family: ClaimFamily) -> NDArray[np.bool_]:
        """Of which comparisons the coverage is counted, (parts,): those that hold what moves together, if it does."""
        if self.kind not in TOGETHER:
            return np.ones(len(family.sums), dtype=bool)
        left = [np.abs(family.sums[:, self._which(family) == i].sum(axis=1)) for i in set(self._which(family))]
        return np.asarray(np.max(left, axis=0) > 1e-9)

    def _together(self, family: ClaimFamily, rng: np.random.Generator) -> Array:
        """What lowers the rates of a start or a table raises its latencies."""
        if self.kind not in TOGETHER:
            return np.zeros((family.logs.size, self.n))
        which = self._which(family)
        moved = TOGETHER[self.kind] * rng.standard_normal((int(which.max()) + 1, self.n))
        return np.where(family.times[:, None], -moved[which], moved[which])

    def _which(self, family: ClaimFamily) -> NDArray[np.int64]:
        """The number of what moves together that each figure belongs to."""
        return family.systems if self.kind.startswith("starts") else family.tables


def settings() -> Iterator[Setting]:
    """All that are measured; normal cells among normal ones are one kind."""
    for kind, noise, n, spread in itertools.product(("all cells", "one cell"), NOISE, REPETITIONS, SPREADS):
        if (kind, noise) != ("one cell", "normal"):
            yield Setting(noise, kind, n, spread)
    for kind, n in itertools.product(TOGETHER, REPETITIONS):
        yield Setting("normal", kind, n, SPREADS[0])


def verdicts(console: Console) -> dict[str, Any]:
    """coverage, wrong verdicts, power and calibration over simulated campaigns of the claims of two TiDB reports"""
    chosen = list(settings())
    rows, leanings = [], []
    with ProcessPoolExecutor(WORKERS) as pool:
        for done, (row, leaning) in enumerate(pool.map(measured, chosen), start=1):
            rows.append(row)
            leanings.append(leaning)
            if done % 9 == 0:
                console.print(f"  {done}/{len(chosen)} settings", markup=False)
    table, bins = pd.DataFrame(rows), calibration(pd.concat(leanings))
    console.print(table.round(3).to_string(index=False), markup=False)
    console.print(bins.round(3).to_string(index=False), markup=False)
    return {
        "settings": len(chosen),
        "campaigns": CAMPAIGNS,
        "wrong_at_most": float(table.wrong_after.max()),
        "table": rows,
        "calibration": bins.to_dict("records"),
    }


def measured(setting: Setting, campaigns: int = CAMPAIGNS) -> tuple[dict[str, Any], pd.DataFrame]:
    """A row for the table (see `_row`), and the leanings of its campaigns: [noise, kind, leaning, holds]."""
    rng = np.random.default_rng(setting.seed())
    family = _family(setting.report)
    bound = [_judged(family, setting, family.on_bounds(rng), rng) for _ in range(campaigns)]
    as_printed = [_judged(family, setting, family.logs, rng) for _ in range(campaigns // 4)]
    anywhere = [
        _judged(family, setting, family.logs + _APART * rng.standard_normal(family.logs.size), rng)
        for _ in range(campaigns // 4)
    ]
    leanings = pd.concat([one.leanings() for one in anywhere]).assign(noise=setting.noise, kind=setting.kind)
    return _row(setting, bound, as_printed), leanings


@cache
def _family(report: str) -> ClaimFamily:
    """Once per process: it takes as long as twenty campaigns."""
    return claim_family.of_report(published.load(report))


@dataclass(frozen=True, eq=False)
class SimulatedVerdicts:
    """One campaign's decisions by each part's own spread (`before`) and as a judge makes them (`after`); the truth."""

    truths: list[Truth]
    before: list[Decision]
    after: list[Decision]
    covered: dict[str, NDArray[np.bool_]]

    def wrong(self, when: str) -> bool:
        """Whether any claim is reproduced without holding, or contradicted without failing."""
        right = {"reproduced": "holds", "contradicted": "fails"}
        decisions: list[Decision] = getattr(self, when)
        return any(
            d.verdict in right and right[d.verdict] != truth for d, truth in zip(decisions, self.truths, strict=True)
        )

    def reproduced(self, when: str) -> float:
        """Share of the claims that hold which are reproduced."""
        decisions: list[Decision] = getattr(self, when)
        held = [d for d, truth in zip(decisions, self.truths, strict=True) if truth == "holds"]
        return sum(d.verdict == "reproduced" for d in held) / max(1, len(held))

    def leanings(self) -> pd.DataFrame:
        """[leaning, holds] of every claim, by the moderated spreads."""
        return pd.DataFrame({"leaning": [d.leaning for d in self.after], "holds": [t == "holds" for t in self.truths]})


def _judged(family: ClaimFamily, setting: Setting, truth: Array, rng: np.random.Generator) -> SimulatedVerdicts:
    logs = truth[:, None] + setting.deviations(family, rng)
    before = family.campaign(logs)
    after = family.judged_spreads(before, logs)
    effects = family.sums @ truth
    counted = setting.counted(family)
    covered = {"before": _covered(before, effects)[:, counted], "after": _covered(after, effects)[:, counted]}
    return SimulatedVerdicts(family.truths(truth), decide(before), decide(after), covered)


def _covered(claims: Sequence[Sequence[Part]], truth: Array) -> NDArray[np.bool_]:
    """Whether 95% and 99.7% intervals (those of 16 claims) hold the truth, (2, comparisons)."""
    parts = [part for parts in claims for part in parts]
    off = np.abs(np.array([part.mean for part in parts]) - truth) - np.array([part.drifted for part in parts])
    off /= np.array([part.error for part in parts])
    dfs = np.array([part.spread.df for part in parts])
    return np.array([off <= stdtrit(dfs, 1 - alpha / 2) for alpha in (0.05, 0.05 / 16)])


def _row(setting: Setting, bound: Sequence[SimulatedVerdicts], printed: Sequence[SimulatedVerdicts]) -> dict[str, Any]:
    """Setting; before and after: coverage of 95% and 99.7% intervals, ledgers with a wrong verdict, claims found.

    Where something moves together, coverage is that of the comparisons that hold it. Wrong verdicts are counted where
    claims lie on their bounds, found ones where the truth is as published.
    """
    row: dict[str, Any] = {"noise": setting.noise, "in": setting.kind, "n": setting.n, "spread": setting.spread}
    for when in ("before", "after"):
        cover = np.mean([one.covered[when].mean(axis=1) for one in bound], axis=0)
        row |= {
            f"cover95_{when}": float(cover[0]),
            f"cover997_{when}": float(cover[1]),
            f"wrong_{when}": float(np.mean([one.wrong(when) for one in bound])),
            f"found_{when}": float(np.mean([one.reproduced(when) for one in printed])),
        }
    return row


def calibration(leanings: pd.DataFrame) -> pd.DataFrame:
    """[noise, in, given, held, claims] by bins of a tenth: the mean leaning, and the share of its claims that hold."""
    bins = leanings.assign(bin=np.minimum((10 * leanings.leaning).astype(int), 9))
    table = bins.groupby(["noise", "kind", "bin"], sort=False).agg(
        given=("leaning", "mean"), held=("holds", "mean"), claims=("holds", "size")
    )
    return (
        table.sort_index(level=2, sort_remaining=False).reset_index().drop(columns="bin").rename(columns={"kind": "in"})
    )
