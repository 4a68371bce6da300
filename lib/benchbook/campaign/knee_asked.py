"""What a search for the knee is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from benchbook.campaign.experiment import Experiment
from benchbook.knee.slo import Slo

# The level that says how many transactions a second are offered; 0 = closed loop.
RATE = "rate"
# Where a campaign keeps its searches, a folder for each.
FOLDER = "knee"


@dataclass(frozen=True)
class KneeSearch:
    """What must be kept, and how the loads are driven."""

    slo: Slo
    experiment: Experiment
