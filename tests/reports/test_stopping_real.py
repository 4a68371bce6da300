"""A real load that is asked to end: sysbench still reports all that it did."""

from __future__ import annotations

import pytest
from kit import INVENTORY, OFFERED, PROFILE, REPORT, Home

from benchbook import published
from benchbook.campaign import design
from benchbook.hosts.inventory import Inventory
from benchbook.profiles import load_profile
from benchbook.reports.load.load_kind import LoadKind, LoadParameters
from benchbook.stats.stopping import StopRule
from benchbook.systems.mariadb import MariaDB

pytestmark = [pytest.mark.real, pytest.mark.slow]

# Nearly any interval at any look will do: what is tested is how a load ends, not when.
SOON = StopRule(maximum_s=120, minimum_s=10, target=0.99, consecutive=1, minimum_freedom=1)
WHAT = LoadParameters(inventory=INVENTORY, system="mariadb", workloads=["oltp_point_select"], threads=[2], rate=OFFERED)


def test_a_load_that_is_asked_to_end_reports_all_that_it_did(
    lab_home: Home, lab: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MariaDB, "period_s", 0.0)
    lab_home.write("env/profiles/early.yaml", {**PROFILE, "stopping": {"minimum_s": 10, "maximum_s": 120}})
    report, profile = published.load(REPORT), load_profile("early")
    experiment = LoadKind().experiment(report, WHAT, profile, lab)
    experiment.stop_rule = SOON
    (trial,) = design.plan(LoadKind().cells(report, WHAT), 1, seed=1, asked={})
    with experiment.running():
        experiment.begin([trial], lambda _: None)
        measured = experiment.measure(trial, lambda second, rate: None)
    stopping, summary = measured.proof["stopping"], measured.summary
    assert stopping["precise"], stopping
    assert "stoppable.lua run" in measured.command
    assert "--time=120" in measured.command
    assert stopping["judged_s"] <= summary["total_time_s"].value < 120
    assert sum(count for _, count in measured.histogram) == summary["events"].value
    # A point select is one statement, so the wrapped workload is still the report's own.
    same = ("queries", "reads", "transactions", "events")
    assert len({summary[name].value for name in same}) == 1
    assert summary["ignored_errors"].value == 0
