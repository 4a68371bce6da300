"""What a fault campaign found, as `data/runs/faults.json`.

Format: seed, began (UTC), lease_s; `left_out` (faults that cannot be made here, and why); `rounds`, one object each;
`summary`, counted from them.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from pydantic import Field

from benchbook import paths
from benchbook.user_input.atomic_file import replace_text
from benchbook.user_input.yaml_file import Strict
from fault_campaign.catalogue import PHASES
from fault_campaign.checker import INVARIANTS


class Broken(Strict):
    """An invariant that did not hold, and what was found."""

    invariant: str
    what: str


class RoundResult(Strict):
    """One round. `outcome`: held, violated, or missed (nothing was `hit`: it was not there any more, and all held).

    `exits`: exit status of each run, null for one that had to be ended; `clean_s`: seconds from the end of the run
    with the fault until nothing of it was alive on the hosts; `said`: what each run printed last, where it is needed.
    """

    round: int
    phase: str
    fault: str
    target: str
    moment: str
    records: int
    place: str
    held_s: float
    hit: bool
    outcome: str
    exits: list[int | None]
    trials_lost: int
    clean_s: float
    seconds: float
    violations: list[Broken] = []
    said: list[str] = []


class LeftOut(Strict):
    """A kind of fault that this machine does not allow, and why."""

    fault: str
    why: str


class Summary(Strict):
    """Counted from the rounds: faults per phase, violations per invariant, how many rounds lost how many trials."""

    rounds: int
    missed: int
    per_phase: dict[str, int]
    violations: dict[str, int]
    trials_lost: dict[int, int]
    clean_p50_s: float
    clean_max_s: float


class FaultResults(Strict):
    """A whole fault campaign."""

    seed: int
    began: str = Field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    lease_s: float
    left_out: list[LeftOut] = []
    rounds: list[RoundResult] = []

    @property
    def summary(self) -> Summary:
        hit = [one for one in self.rounds if one.hit]
        times = [one.clean_s for one in hit] or [0.0]
        broken = Counter(each.invariant for one in self.rounds for each in one.violations)
        return Summary(
            rounds=len(self.rounds),
            missed=len(self.rounds) - len(hit),
            per_phase={phase: sum(one.phase == phase for one in self.rounds) for phase in PHASES},
            violations={name: broken[name] for name in INVARIANTS},
            trials_lost=dict(sorted(Counter(one.trials_lost for one in hit).items())),
            clean_p50_s=round(median(times), 2),
            clean_max_s=round(max(times), 2),
        )

    @property
    def violated(self) -> bool:
        return any(one.violations for one in self.rounds)

    def with_round(self, one: RoundResult) -> FaultResults:
        """These results and one round more, in the order of the draw."""
        rounds = sorted([*self.rounds, one], key=lambda each: each.round)
        return self.model_copy(update={"rounds": rounds})


def results_path() -> Path:
    """Where the results of the latest fault campaign stand."""
    return paths.home() / "data" / "runs" / "faults.json"


def write(found: FaultResults, path: Path) -> Path:
    """Write them, whole or not at all. Raises NotWritten."""
    whole = {**found.model_dump(), "summary": found.summary.model_dump()}
    return replace_text(path, json.dumps(whole, indent=1) + "\n")
