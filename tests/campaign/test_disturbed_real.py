"""Load generator, server and probe stopped in mid-load, on real processes: each is named, and the trial run again."""

from __future__ import annotations

import math
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import psutil
import pytest
from begun import begun
from kit import INVENTORY, OFFERED, REPORT, Home

from benchbook.campaign import record, run, validity
from benchbook.campaign.progress import Progress
from benchbook.campaign.store import Campaign
from benchbook.reports.load.load_kind import LoadParameters

pytestmark = [pytest.mark.real, pytest.mark.slow]

# Three trials in one block, so that one server serves all; each is disturbed in its own way, in run order.
WHAT = LoadParameters(
    inventory=INVENTORY, profile="tiny", system="mariadb", workloads=["oltp_point_select"], threads=[1, 2, 3], time_s=8,
    rate=OFFERED,
)  # fmt: skip
VICTIMS = {
    "sysbench on executor": ("sysbench", " run ", "/executor/"),
    "mariadb on db1": ("mariadbd", "--datadir", "/db1/"),
    "probe-host on db1": ("run_probe.py", "host_probe.py", "/db1/"),
}
# Two whole seconds and as much before and after: the load generator's reports are not to the millisecond.
STOPPED_S = 3.5


@dataclass
class Stopper:
    """Follows a campaign; a second into each trial, once, it stops the next victim for STOPPED_S."""

    home: Home
    waiting: list[tuple[str, ...]] = field(default_factory=lambda: list(VICTIMS.values()))
    disturbed: set[str] = field(default_factory=set)
    steps: list[str] = field(default_factory=list)

    def __call__(self, told: Progress) -> None:
        self.steps.append(told.step)
        if told.trial and told.rate is not None and told.trial not in self.disturbed:
            self.disturbed.add(told.trial)
            (victim,) = self.home.processes(*self.waiting.pop(0))
            victim.suspend()
            threading.Timer(STOPPED_S, _go_on, [victim]).start()


def _go_on(victim: psutil.Process) -> None:
    victim.resume()


@dataclass
class Ran:
    """A campaign through which every victim was stopped once, and what was said meanwhile."""

    campaign: Campaign
    stopper: Stopper


@pytest.fixture(scope="module")
def ran(_lab_home: Home) -> Iterator[Ran]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHBOOK_HOME", str(_lab_home.path))
        # Whether this machine is left alone is not what is tested.
        for name in ("STOLEN", "CPU_BY_OTHERS", "DISK_BY_OTHERS"):
            patch.setattr(validity, name, math.inf)
        experiment, campaign = begun(REPORT, WHAT)
        stopper = Stopper(_lab_home)
        try:
            run.run(campaign, experiment, stopper)
            yield Ran(campaign, stopper)
        finally:
            # Other tests of this lab count the records that they find.
            shutil.rmtree(campaign.folder)


@pytest.mark.parametrize("number", range(len(VICTIMS)), ids=list(VICTIMS))
def test_what_was_stopped_in_mid_load_is_named_and_the_trial_is_run_again(ran: Ran, number: int) -> None:
    who, trial = list(VICTIMS)[number], ran.campaign.trials[number].id
    (kept,) = [r for r in ran.campaign.disturbed() if r.id == f"{trial}.1"]
    assert kept.disturbed[0].startswith(f"{who} was stopped (SIGSTOP) for "), kept.disturbed
    assert f"disturbed: {kept.disturbed[0]}" in ran.stopper.steps
    (counted,) = [r for r in ran.campaign.records() if r.id == trial]
    series = record.load_series(ran.campaign.folder / "trials" / counted.id)
    seen = validity.TrialSamples(counted.started, counted.ended, series, counted.summary, counted.proof)
    assert list(validity.stopped(seen)) == []
    assert counted.summary["total_time_s"].value > 0


def test_nothing_else_was_disturbed_and_nothing_failed(ran: Ran) -> None:
    assert (len(ran.campaign.disturbed()), ran.campaign.missing(), ran.campaign.failures()) == (3, [], [])


@pytest.mark.parametrize(
    ("number", "shows"),
    [(0, "the load generator printed no rate for "), (2, "(probe host) stood still for at least ")],
)
def test_what_the_stop_left_in_the_series_shows_it_too(ran: Ran, number: int, shows: str) -> None:
    """Without a word of the stopped process the gate would still have found it."""
    (kept,) = [r for r in ran.campaign.disturbed() if r.id == f"{ran.campaign.trials[number].id}.1"]
    assert any(shows in why for why in kept.disturbed[1:]), kept.disturbed


def test_a_server_that_was_stopped_looks_like_a_stall_to_its_load(ran: Ran) -> None:
    """The load generator prints zeros: only that the server was stopped tells this from a stall of its own."""
    (kept,) = [r for r in ran.campaign.disturbed() if r.id == f"{ran.campaign.trials[1].id}.1"]
    series = record.load_series(ran.campaign.folder / "disturbed" / kept.id)
    tps = series[(series.source == "sysbench") & (series.metric == "tps")].value
    assert (tps == 0).sum() >= 2
    assert not any("printed no rate" in why for why in kept.disturbed)
