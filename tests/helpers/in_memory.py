"""A campaign whose trials take no time: an experiment that lives in memory, and what breaks when it is told to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from records import SUMMARY

from benchbook.campaign import run as campaign_run
from benchbook.campaign import store as campaigns
from benchbook.campaign.design import Cell, Trial, plan
from benchbook.campaign.environment import Environment, SystemDescription
from benchbook.campaign.experiment import Measurement
from benchbook.campaign.progress import Progress
from benchbook.campaign.store import Campaign
from benchbook.hosts.host_models import HostFacts, Survey
from benchbook.probes.samples import empty

ASKED = {"inventory": "lab_test", "profile": "tiny"}
CELLS = [
    Cell(table="t", system=system, levels={"workload": w, "threads": 2}) for system in ("x", "y") for w in ("a", "b")
]


class InMemory:
    """Runs trials that take no time; `trouble` maps a trial to what its next attempt raises."""

    cores, version = 2, "1"
    facts: Mapping[str, str] = {}
    loads: str | None = None

    def __init__(self, **trouble: BaseException):
        self.trouble = {name.replace("_", "-"): problem for name, problem in trouble.items()}
        self.calls: list[str] = []

    @contextmanager
    def running(self) -> Iterator[Environment]:
        self.calls.append("up")
        try:
            surveyed = Survey(hosts={"db1": HostFacts(cores=self.cores, **self.facts)})
            yield Environment.of(surveyed, load_generator=self.loads)
        finally:
            self.calls.append("down")

    def begin(self, block: Sequence[Trial], say: Callable[[str], None]) -> dict[str, SystemDescription]:
        say("bringing it to its starting state")
        self.calls.append(f"begin {block[0].cell.system} {len(block)}")
        return {block[0].cell.system: SystemDescription(version=self.version)}

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        self.calls.append(trial.id)
        on_rate(1, 100.0)
        if trial.id in self.trouble:
            raise self.trouble.pop(trial.id)
        return Measurement("load", "executor", 1000, 1010, 0, SUMMARY, [(1.5, 1)], empty(), "printed", {})

    def rehearsed(self) -> Sequence[str]:
        return ()

    def expected_s(self, trial: Trial) -> float:
        return 2

    def rate_unit(self, trial: Trial) -> str:
        return "MiB/s"

    @property
    def measured(self) -> list[str]:
        return [call for call in self.calls if call.startswith("r0")]


def begun(repetitions: int = 2, **changes: Any) -> Campaign:
    asked = {**ASKED, **changes}
    return campaigns.start_or_continue("r", asked, plan(CELLS, repetitions, seed=1, asked=asked), seed=1)


def run(what: Campaign, experiment: InMemory) -> list[Progress]:
    told: list[Progress] = []
    campaign_run.run(what, experiment, told.append)
    return told
