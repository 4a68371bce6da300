"""What a campaign asks of an experiment, and what an experiment leaves of a trial: the seam between the two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import pandas as pd

from benchbook.campaign.design import Trial
from benchbook.campaign.environment import Environment, SystemDescription
from benchbook.campaign.record import Quantity
from benchbook.hosts.host_models import Json


@dataclass(frozen=True)
class Measurement:
    """What a trial's load left; the campaign makes a record of it.

    `timed_by_driver`: some of its times were taken by the driver's clock, so that a driver that stood still harms them.
    """

    command: str
    client: str
    started: float
    ended: float
    exit_status: int | None
    summary: dict[str, Quantity]
    histogram: list[tuple[float, int]]
    series: pd.DataFrame
    output: str
    proof: Json
    timed_by_driver: bool = False


class Experiment(Protocol):
    """How the trials of a report are run. `running` connects, installs and yields; leaving it stops everything."""

    def hosts(self) -> list[str]:
        """Return names of the hosts that the trials need. Raise BadInput where the inventory lacks a role."""

    def running(self) -> AbstractContextManager[Environment]:
        """Yields what is kept beside the plan: host facts, findings, the load generator."""

    def begin(self, block: Sequence[Trial], say: Callable[[str], None]) -> Mapping[str, SystemDescription]:
        """Bring the block's system to the state that its trials start from; returns what serves, by name."""

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        """Run one trial; `on_rate(seconds into the load, rate)` while it runs. Raise TrialFailed."""

    def expected_s(self, trial: Trial) -> float:
        """Return seconds that the trial's load takes."""

    def rehearsed(self) -> Sequence[str]:
        """Return the systems that get loads of `rehearse_s` before their first trial, where hosts report free pages."""
        return ()

    def rate_unit(self, trial: Trial) -> str:
        """Unit of the rate that `measure` reports, in a reader's words: "tps", "MiB/s"."""
