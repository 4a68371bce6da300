"""What tests of faults share: trials that break something in the middle of a load, and what there is to kill."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import psutil
from begun import as_one_that_breaks, begun
from kit import REPORT, Home, words_of

from benchbook.campaign import run as campaign_run
from benchbook.campaign.design import Trial
from benchbook.campaign.environment import SystemDescription
from benchbook.campaign.experiment import Measurement
from benchbook.campaign.store import Campaign
from benchbook.hosts import lab as labs
from benchbook.hosts.inventory import Inventory
from benchbook.reports.load.load_kind import LoadParameters
from benchbook.reports.load.load_trials import LoadTrials

Fault = Callable[[], None]


@dataclass
class Faulty(LoadTrials):
    """Breaks something in the middle of a load, or while the system comes up: `faults` by the number of the trial."""

    faults: dict[int, Fault] = field(default_factory=dict)
    coming_up: list[Fault] = field(default_factory=list)

    def begin(self, block: Sequence[Trial], say: Callable[[str], None]) -> dict[str, SystemDescription]:
        def breaking(step: str) -> None:
            say(step)
            if self.coming_up and self._start._running:
                self.coming_up.pop()()

        return super().begin(block, breaking)

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        def breaking(second: float, rate: float) -> None:
            on_rate(second, rate)
            if fault := self.faults.pop(trial.repetition, None):
                fault()

        return super().measure(trial, breaking)


@dataclass
class Victims:
    """What there is to kill on the hosts of a lab."""

    home: Home
    lab: Inventory

    def kill(self, *words: str, supervisor: bool = False) -> Fault:
        """kill -9 of the one process, or its supervisor, whose command line has these words."""

        def fault() -> None:
            found = [p for p in self.home.processes(*words) if ("agent.py" in " ".join(words_of(p))) == supervisor]
            assert found, words
            for process in found:
                # The login that hears a job out ends with its supervisor, whose command line it has.
                _killed(process)

        return fault

    def kill_untold(self, *words: str, of: str) -> Fault:
        """kill -9 of it while its supervisor, which names jobs `of`, is stopped: nobody says that it has ended."""

        def fault() -> None:
            for process in self.home.processes("agent.py", of):
                process.suspend()
            self.kill(*words)()

        return fault

    def cut(self) -> None:
        """Every connection to every host, as a broken network would; who listens goes on."""
        for host in labs.lab_hosts(self.lab):
            for child in _sessions(host.pid):
                _killed(child)

    def away(self, seconds: float) -> Fault:
        """A client host with no sshd for so long; the job that runs there does not notice."""

        def fault() -> None:
            (host,) = [each for each in labs.lab_hosts(self.lab) if each.name == "executor"]
            for process in (psutil.Process(host.pid), *_sessions(host.pid)):
                _killed(process)
            threading.Timer(seconds, labs.up, [self.lab], {"by_hand": True}).start()

        return fault


def _sessions(sshd: int) -> list[psutil.Process]:
    """The processes of its logins; one that ends while it is looked at is none."""
    found = []
    for child in psutil.Process(sshd).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            found += [child] if "sshd" in child.name() else []
    return found


def _killed(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        process.kill()


def planned(lab: Inventory, what: LoadParameters, repetitions: int) -> tuple[Faulty, Campaign]:
    experiment, campaign = begun(REPORT, what, repetitions, lab)
    return as_one_that_breaks(Faulty, experiment), campaign


def reasons(campaign: Campaign) -> dict[int, str]:
    """Why each trial failed, by its number."""
    return {r.repetition: r.failure.message for r in campaign.failures() if r.failure}


def loses_what_was_killed(campaign: Campaign, experiment: Faulty, killed: dict[int, tuple[Fault, str]]) -> None:
    """Run it with a fault in each of its trials but the last: each costs its own, and is named as said beside it."""
    experiment.faults = {number: fault for number, (fault, _) in killed.items()}
    campaign_run.run(campaign, experiment, lambda progress: None, tries=1)

    assert experiment.faults == {}, "every fault was made"
    said = reasons(campaign)
    assert {number: said[number][: len(reason)] for number, (_, reason) in killed.items()} == {
        number: reason for number, (_, reason) in killed.items()
    }
    assert [r.repetition for r in campaign.records()] == [len(killed) + 1], "after the last comes a clean begin"
