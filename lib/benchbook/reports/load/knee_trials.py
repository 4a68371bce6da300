"""Loads at offered rates: each after a short one of the same kind that is not measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from benchbook.campaign.design import Trial
from benchbook.campaign.experiment import Measurement
from benchbook.campaign.knee_search import RATE
from benchbook.knee.slo import Slo
from benchbook.reports.load.load_trials import LoadTrials

# A server that has just been started reads and plans everything for the first time. One request of a hundred is all
# that a p99 takes: what happens only then must not be in it.
WARM_S = 2


@dataclass
class KneeTrials(LoadTrials):
    """The loads of a search; each lasts as its rate asks for (`Slo.lasts_s`)."""

    slo: Slo = field(default_factory=Slo)

    @classmethod
    def of(cls, trials: LoadTrials, slo: Slo) -> KneeTrials:
        """On the same hosts and systems, by the same generator; loads are not ended early."""
        return cls(
            inventory=trials.inventory,
            profile=trials.profile,
            names=trials.names,
            generator=trials.generator,
            time_s=slo.time_s,
            rate=0,
            slo=slo,
        )

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        system, levels = self._systems[trial.cell.system], trial.cell.levels
        replace(self._driver, time_s=WARM_S).warm(system, levels)
        return replace(self._driver, time_s=self._lasts_s(trial)).measure(system, levels, on_rate)

    def expected_s(self, trial: Trial) -> float:
        return float(WARM_S + self._lasts_s(trial))

    def _lasts_s(self, trial: Trial) -> int:
        return self.slo.lasts_s(float(trial.cell.levels[RATE]))
