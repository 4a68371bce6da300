"""The rungs of the report's ladder of global transactions, and the number of clients at which each is compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from benchbook.errors import BadInput
from benchbook.user_input.choices import one_of

MODES = ("no_dtm", "dtm", "dtm_barrier")


@dataclass(frozen=True)
class Rung:
    """One step of the ladder: who coordinates, how many SQL a branch has, and what share of TransIn branches fail."""

    mode: str
    sql_per_branch: int
    fail: float = 0.0

    def __post_init__(self) -> None:
        one_of(self.mode, MODES, "mode", problem="unknown mode", key="rungs")
        if self.sql_per_branch < 0 or self.sql_per_branch % 2:
            fix = "give an even number of SQL"
            raise BadInput("a branch runs pairs of INSERT and UPDATE", key="rungs", value=self.sql_per_branch, fix=fix)

    @classmethod
    def of(cls, levels: Mapping[str, str | int | float]) -> Rung:
        """Return the rung that a trial's levels name."""
        return cls(str(levels["mode"]), int(levels["sql_per_branch"]), float(levels.get("fail", 0.0)))

    @classmethod
    def parse(cls, text: str) -> Rung:
        """`MODE:SQL`, as a notebook's parameter says it."""
        mode, _, sql = text.partition(":")
        if not sql.isdigit():
            raise BadInput("not a rung", key="rungs", value=text, fix="write MODE:SQL, for example dtm_barrier:2")
        return cls(mode, int(sql))

    @property
    def with_dtm(self) -> bool:
        return self.mode != "no_dtm"

    @property
    def barrier(self) -> bool:
        return self.mode == "dtm_barrier"

    @property
    def keeps_books(self) -> bool:
        """Branches that fail need the barrier: else their compensations undo what was never done."""
        return self.barrier or not self.fail

    @property
    def path(self) -> str:
        """What a client asks the business service for."""
        query = f"dtm={int(self.with_dtm)}&barrier={int(self.barrier)}&pairs={self.sql_per_branch // 2}"
        return f"/saga?{query}&fail={self.fail:g}" if self.fail else f"/saga?{query}"

    @property
    def label(self) -> str:
        """For tables and axes."""
        who = {"no_dtm": "no DTM", "dtm": "DTM", "dtm_barrier": "DTM + barrier"}[self.mode]
        work = f"{self.sql_per_branch} SQL" if self.sql_per_branch else "empty"
        return f"{who}, {work}" + (f", {self.fail:.0%} fail" if self.fail else "")


# Beyond the published ladder: the business service with nothing to do, which is what it could at most deliver.
CEILING = Rung("no_dtm", 0)


LADDER, FAILING = "saga", "saga_failing"
# A rung is compared at the lowest number of clients whose mean throughput is within this share of its best.
NEAR = 0.05
# The published table beside the ladder.
ALONE = "sysbench alone"


def rung_names(frame: pd.DataFrame) -> pd.Series:
    """Return the rung of each row [mode, sql_per_branch, fail (a share; may be missing)] as an ordered category.

    In the order in which the report climbs: without DTM first, light before heavy. A row without a mode is sysbench's.
    """
    fails = frame["fail"] if "fail" in frame else pd.Series(0.0, frame.index)
    levels = zip(frame["mode"], frame["sql_per_branch"], fails.astype(float).fillna(0.0), strict=True)
    found = [Rung(str(mode), int(sql), float(fail)) if pd.notna(mode) else None for mode, sql, fail in levels]
    climbed = sorted({rung for rung in found if rung}, key=_climb)
    labels = [rung.label if rung else ALONE for rung in found]
    return pd.Series(pd.Categorical(labels, [ALONE, *(rung.label for rung in climbed)], ordered=True), frame.index)


def _climb(rung: Rung) -> tuple[bool, bool, bool, bool, int, float]:
    idle = rung.sql_per_branch == 0 and not rung.with_dtm
    return rung.sql_per_branch > 2, not idle, rung.with_dtm, rung.barrier, rung.sql_per_branch, rung.fail


def _saturated(figures: pd.DataFrame) -> int:
    means = figures.groupby("concurrency").value.mean()
    return int(means.index[means >= (1 - NEAR) * means.max()].min())


def figures_at_knee(figures: pd.DataFrame) -> pd.DataFrame:
    """Return the figures (schema.FIGURES), of the ladder only those at the knee of their rung on their system."""
    ladder = figures[figures.table == LADDER]
    if ladder.empty:
        return figures
    rungs = ["system", "mode", "sql_per_branch"]
    wanted = ladder[ladder.metric == "global_tps"].groupby(rungs, observed=True)[["concurrency", "value"]]
    at_knee = ladder.merge(wanted.apply(_saturated).rename("knee").reset_index(), on=rungs)
    kept = set(at_knee[at_knee.concurrency == at_knee.knee].trial)
    return figures[(figures.table != LADDER) | figures.trial.isin(kept)]
