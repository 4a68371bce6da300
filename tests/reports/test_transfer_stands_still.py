"""A transfer that would go on for ever ends: its source was killed while it splits, or nothing moves any more."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from begun import as_one_that_breaks, begun
from kit import LAB_SSH, PROFILE, Home, until

from benchbook.build.programs import is_built
from benchbook.campaign import run as campaign_run
from benchbook.campaign.design import Trial
from benchbook.campaign.experiment import Measurement
from benchbook.hosts import lab as labs
from benchbook.hosts.inventory import load_inventory
from benchbook.reports.transfer.copying import Transfer
from benchbook.reports.transfer.transfer_kind import TransferParameters

pytestmark = [pytest.mark.real, pytest.mark.slow]

REPORT, WHERE = "ddt_full_scale", "lab_still"


@dataclass
class Faulty(Transfer):
    """Runs a fault beside the transfer of a trial, by its number."""

    faults: dict[int, Callable[[], None]] = field(default_factory=dict)

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        # Where a fault is to end it, it is not to be given up before.
        stall_s = 600 if trial.repetition in self.faults else 2
        patient = self.profile.transfer.model_copy(update={"stall_s": stall_s})
        self.profile = self.profile.model_copy(update={"transfer": patient})
        beside = threading.Thread(target=self.faults.pop(trial.repetition, lambda: None))
        beside.start()
        try:
            return super().measure(trial, on_rate)
        finally:
            beside.join()


@pytest.fixture
def moving_home(home: Home, net: str) -> Iterator[Home]:
    """A lab for a transfer, up for the test; DDT there is a program that splits for ever."""
    if not is_built("mongo"):
        pytest.fail("FerretDB must be built first: run `make build`")
    java = home.write("java", "#!/bin/sh\nexec sleep 300\n")
    java.chmod(0o755)
    lab = {
        "lab": True, "ssh": LAB_SSH,
        "hosts": {"source": {"address": f"{net}.64", "roles": ["source", "client"]},
                  "target": {"address": f"{net}.65", "roles": ["target"]}},
        "systems": {"mongo": {"port": 27017}}, "programs": {"java": str(java)},
    }  # fmt: skip
    home.write(f"env/hosts/{WHERE}.yaml", lab)
    home.write("env/profiles/tiny.yaml", {**PROFILE, "transfer": {"documents": 100}})
    labs.up(load_inventory(WHERE), by_hand=True)
    yield home
    labs.down(load_inventory(WHERE))


def test_a_transfer_that_splits_for_ever_ends_with_its_server_or_when_nothing_moves(moving_home: Home) -> None:
    java = str(moving_home.path / "java")
    what = TransferParameters(
        inventory=WHERE, profile="tiny", engines=["ddt"], ddt_jar=java, caches=[32], threads=["5/15"]
    )
    made, campaign = begun(REPORT, what, 2)
    experiment = as_one_that_breaks(Faulty, made)

    def kill_source() -> None:
        until(lambda: moving_home.processes("jobs/transfer-", "agent.py"), "the transfer runs")
        (server,) = moving_home.processes("ferret-server", "ferret-source")
        server.kill()

    experiment.faults = {1: kill_source}
    campaign_run.run(campaign, experiment, lambda progress: None, tries=1)

    said = {r.repetition: r.failure.message for r in campaign.failures() if r.failure}
    assert said[1].startswith("mongo:source on source has died (signal 9)")
    assert said[2] == "the transfer by ddt has not moved for 2 s: nothing has been copied yet"
    until(lambda: not moving_home.processes("work/"), "nothing runs on")
