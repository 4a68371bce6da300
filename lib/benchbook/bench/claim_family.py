"""A report's own ledger as arithmetic: what its claims compare, as sums of the logs of the figures in its tables.

Every comparison of figures is such a sum, so that the effects of a simulated campaign are one product of matrices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchbook.claims import ledger_check, own_drift, spreads
from benchbook.claims.evidence import Evidence
from benchbook.claims.figure_spreads import RepeatedFigures
from benchbook.claims.hypothesis import Arm
from benchbook.claims.parts import Part
from benchbook.claims.terms import TermKey, unit
from benchbook.errors import BadInput
from benchbook.published.tables import Published
from benchbook.published.time_units import is_time
from benchbook.stats.estimates import Array
from benchbook.stats.rounding import BUCKET_STEP, FIRST_MS

SIMULATED = "simulated"
# The level that tells a report's systems apart, where it compares two: each runs the rows of its version.
_VERSION = "version"
_EXACT, _HAIR = 1e-9, 1e-6
Truth = Literal["holds", "fails", "on its bound"]


@dataclass(frozen=True, eq=False)
class ClaimFamily:
    """`claims`: the parts of each; their effects are `sums` (parts, figures) times the figures' logs.

    `logs`: published, (figures,); `times`: which figures are latencies, in sysbench's buckets; `cells`, `tables` and
    `systems`: the number of the cell (one row of one table), of the table of one system, and of the system that each
    figure belongs to; `terms`: what the log of each of the claims' terms is made of, (figures,).
    """

    published: Published
    claims: list[list[Part]]
    sums: Array
    logs: Array
    times: NDArray[np.bool_]
    cells: NDArray[np.int64]
    tables: NDArray[np.int64]
    systems: NDArray[np.int64]
    terms: dict[TermKey, Array]

    @property
    def parts(self) -> list[Part]:
        """All claims' parts, one after the other."""
        return [part for parts in self.claims for part in parts]

    def campaign(self, logs: Array) -> list[list[Part]]:
        """The claims' parts as measured: `logs` (figures, repetitions); latencies fall into buckets."""
        effects = iter(self.sums @ self._recorded(logs))
        return [[replace(part, effects=next(effects)) for part in parts] for parts in self.claims]

    def _recorded(self, logs: Array) -> Array:
        steps = np.ceil((logs - math.log(FIRST_MS)) / BUCKET_STEP)
        return np.where(self.times[:, None], steps * BUCKET_STEP + math.log(FIRST_MS), logs)

    def judged_spreads(self, measured: list[list[Part]], logs: Array) -> list[list[Part]]:
        """What a judge makes of measured parts: drifts named, spreads moderated; `logs` as in `campaign`."""
        drifts = np.zeros(len(logs), dtype=bool)
        for kind in (self.times, ~self.times):
            drifts[kind] = own_drift.drifts(logs[kind])
        flagged = iter([bool(row.any()) for row in np.abs(self.sums[:, drifts]) > _EXACT])
        found = [[own_drift.with_drift(part) if next(flagged) else part for part in parts] for parts in measured]
        recorded = self._recorded(logs)
        figures = RepeatedFigures(
            lambda term: pd.Series(self.terms[term.key] @ recorded), lambda _: False, lambda term: _system(term.rows)
        )
        return spreads.moderated(found, self.published, figures)

    def truths(self, logs: Array) -> list[Truth]:
        """Whether each claim holds where the figures' true logs are `logs`, (figures,)."""
        effects = iter(self.sums @ logs)
        return [_truth([(part, next(effects)) for part in parts]) for parts in self.claims]

    def on_bounds(self, rng: np.random.Generator) -> Array:
        """True logs (figures,), near the published ones, that put a comparison of as many claims as can be at a bound.

        There a verdict is wrong most often: the claim holds, or fails, by a hair's breadth.
        """
        rows: list[Array] = []
        bounds: list[float] = []
        for first, parts in rng.permutation(np.array(list(self._first_parts()), dtype=object)):
            chosen = int(rng.integers(len(parts)))
            part, row = parts[chosen], self.sums[first + chosen]
            if np.linalg.matrix_rank(np.array([*rows, row])) > len(rows):
                rows.append(row)
                bound = rng.choice([b for b in (part.low, part.high) if math.isfinite(b)])
                bounds.append(bound + rng.choice([-_HAIR, _HAIR]))
        sums = np.array(rows)
        return np.asarray(self.logs + np.linalg.pinv(sums) @ (np.array(bounds) - sums @ self.logs))

    def _first_parts(self) -> Iterator[tuple[int, list[Part]]]:
        """Each claim's parts with the number of the first of them."""
        first = 0
        for parts in self.claims:
            yield first, parts
            first += len(parts)


def of_report(published: Published) -> ClaimFamily:
    """The family of a report's ledger. Raises BadInput for a report without one."""
    ledger = ledger_check.load(published)
    if ledger is None:
        raise BadInput("has no ledger of claims", key="report", value=published.report.name, fix="name one that has")
    figures = [
        (id, row, m) for id, table in published.tables.items() for row in table.frame.index for m in table.metrics
    ]
    arm = Arm(published, _one_by_one(published, figures), SIMULATED)
    claims = [[_simulated(part, published) for part in claim.parts(arm)] for claim in ledger.claims]
    effects = np.array([part.effects for parts in claims for part in parts])
    rows = [(id, row, _system(published.tables[id].frame.loc[row].to_dict())) for id, row, _ in figures]
    cells = _numbered([(id, str(row)) for id, row, _ in rows])
    tables, systems = _numbered([(id, system) for id, _, system in rows]), _numbered([(s,) for *_, s in rows])
    logs = np.log([float(published.tables[id].frame.loc[row, m]) for id, row, m in figures])
    times = np.array([is_time(published.tables[id].fields[m].unit) for id, _, m in figures])
    terms = {term.key: arm.logs(term).to_numpy() for parts in claims for part in parts for term in part.terms}
    sums = {figure: each[1:] - each[0] for figure, each in terms.items()}
    return ClaimFamily(published, claims, effects[:, 1:] - effects[:, :1], logs, times, cells, tables, systems, sums)


def _system(levels: Mapping[str, object]) -> str:
    return str(levels.get(_VERSION, SIMULATED))


def _numbered(names: Sequence[tuple[str, ...]]) -> NDArray[np.int64]:
    """Equal ones have one number; they count from 0 in the order of appearance."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], dtype=np.int64)


def _one_by_one(published: Published, figures: list[tuple[str, int, str]]) -> Evidence:
    """The published figures as repetition 0; in each further one, one figure is e times as large."""
    frames: dict[str, pd.DataFrame] = {}
    for id, table in published.tables.items():
        frame = table.frame[[*table.levels, *table.metrics]].assign(system=SIMULATED)
        parts = [frame.assign(repetition=0)]
        for repetition, (where, row, metric) in enumerate(figures, start=1):
            larger = frame[metric].where(frame.index != row, math.e * frame[metric]) if where == id else None
            parts.append(frame.assign(repetition=repetition, **({} if larger is None else {metric: larger})))
        frames[id] = pd.concat(parts)
    return Evidence(frames, [SIMULATED])


def _simulated(part: Part, published: Published) -> Part:
    """The part with the resolution of what is simulated: latencies in buckets, rates with all of their digits."""
    bucketed = sum(is_time(unit(term, published)) for term in part.terms)
    return replace(part, resolution=bucketed * BUCKET_STEP**2 / 12)


def _truth(parts: list[tuple[Part, float]]) -> Truth:
    # Distance inside the region, per part; the worst one decides.
    worst = min(min(effect - part.low, part.high - effect) for part, effect in parts)
    if abs(worst) < _EXACT:
        return "on its bound"
    return "holds" if worst > 0 else "fails"
