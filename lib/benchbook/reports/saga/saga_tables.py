"""The rungs of the report's ladder of global transactions, and their records as tables, each rung at its knee."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from benchbook.campaign.record import Record
from benchbook.errors import BadInput
from benchbook.given.choices import one_of
from benchbook.grouping import grouped
from benchbook.published.tables import Published

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
            raise BadInput(
                "a branch runs pairs of INSERT and UPDATE",
                key="rungs",
                value=self.sql_per_branch,
                fix="give an even number of SQL",
            )

    @classmethod
    def of(cls, levels: Mapping[str, str | int | float]) -> Rung:
        """The rung that a trial's levels name."""
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
# What the ladder is relative to: the business alone.
BASE = Rung("no_dtm", 2)


LADDER, FAILING = "saga", "saga_failing"
# A rung is compared at the lowest number of clients whose mean throughput is within this share of its best.
NEAR = 0.05
TYPES = ("inserts", "updates", "deletes", "selects")


def of_table(records: Iterable[Record], table: str = LADDER) -> list[Record]:
    return [record for record in records if record.table == table]


class Step(NamedTuple):
    """A rung on the system that climbed it."""

    system: str
    rung: Rung


def by_step(records: Iterable[Record]) -> dict[Step, list[Record]]:
    """Records of each rung of each system: without DTM first, light before heavy, as the report climbs."""
    found = grouped(records, lambda record: Step(record.system, Rung.of(record.levels)))
    return {step: found[step] for step in sorted(found, key=lambda step: (step.system, *_climb(step.rung)))}


def cells(records: Iterable[Record]) -> list[tuple[dict[str, object], Step, list[Record]]]:
    """The same, each with what it is called at the head of a table's row: its system only where there are several."""
    steps = by_step(records)
    several = len({step.system for step in steps}) > 1
    return [(heading(step.system, named(step.rung), several=several), step, mine) for step, mine in steps.items()]


def heading(system: str, rung: str, *, several: bool) -> dict[str, object]:
    """What a table's row begins with."""
    return {**({"system": system} if several else {}), "rung": rung}


def named(rung: Rung) -> str:
    """A rung's label for a table: it may break after a comma only."""
    return rung.label.replace(" ", "\u00a0").replace(",\u00a0", ", ")


def _climb(rung: Rung) -> tuple[bool, bool, bool, bool, int]:
    idle = rung.sql_per_branch == 0 and not rung.with_dtm
    return rung.sql_per_branch > 2, not idle, rung.with_dtm, rung.barrier, rung.sql_per_branch


def knees(records: Iterable[Record]) -> dict[Step, int]:
    """Per rung of the ladder and system, the number of clients at which it is compared (see NEAR)."""
    return {step: _knee(mine) for step, mine in by_step(of_table(records)).items()}


def _knee(records: Sequence[Record]) -> int:
    rows = [(int(r.levels["concurrency"]), r.summary["global_tps"].value) for r in records]
    return _saturated(pd.DataFrame(rows, columns=["concurrency", "value"]))


def _saturated(figures: pd.DataFrame) -> int:
    means = figures.groupby("concurrency").value.mean()
    return int(means.index[means >= (1 - NEAR) * means.max()].min())


def at_knee(records: Sequence[Record]) -> list[Record]:
    """All records, of the ladder only those at the knee of their rung on their system."""
    wanted = knees(records)
    return [
        r for r in records if r.table != LADDER or r.levels["concurrency"] == wanted[Step(r.system, Rung.of(r.levels))]
    ]


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


# -- arithmetic -----------------------------------------------------------------------------------------------------


def arithmetic(published: Published, rung: Rung) -> dict[str, int] | None:
    """The report's own integers: database transactions and SQL of one global transaction; None where it has none."""
    frame = published.table(LADDER).frame
    mine = frame[(frame["mode"] == rung.mode) & (frame["sql_per_branch"] == rung.sql_per_branch)]
    if mine.empty:
        return None
    row = mine.iloc[0]
    return {"db_tps": int(row["db_tx_per_global"]), "ops": int(row["sql_per_global"])}


def off(counted: float, calculated: float) -> float:
    """By what share the counted figure lies above (or, negative, below) the calculated one."""
    return counted / calculated - 1
