"""The rungs of the report's ladder of global transactions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchbook.errors import BadInput
from benchbook.given.named import one_of

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
