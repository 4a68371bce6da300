"""Trials of a load report: one workload of a load generator at one number of threads against one system."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from itertools import cycle
from typing import Any

from benchbook import systems
from benchbook.campaign.design import Trial
from benchbook.campaign.environment import Environment, SystemDescription
from benchbook.campaign.experiment import Experiment, Measurement
from benchbook.campaign.max_rate import RATE, Slo
from benchbook.errors import TrialFailed
from benchbook.hosts.agent import Command
from benchbook.hosts.host import Host
from benchbook.hosts.host_facts import survey
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.session import Session
from benchbook.hosts.tuning import reach_again
from benchbook.profiles import Profile
from benchbook.reports.driving import Driver
from benchbook.reports.starting_state import StartingState
from benchbook.systems.base import CONNECTIONS, System
from benchbook.workloads.base import LoadGenerator

# Seconds of each of a block's loads before the first trial, of which nothing is kept.
LOAD_S = 2
# A server that has just been started reads and plans everything for the first time. One request of a hundred is all
# that a p99 takes: what happens only then must not be in it.
WARM_S = 2


@dataclass
class LoadTrials(Experiment):
    """The experiment. `in_place_of`: system -> product and version whose place it takes; fields below live in a run.

    `options`: (table, workload) -> those of its published command line, where they are not the generator's own.
    """

    inventory: Inventory
    profile: Profile
    names: list[str]
    generator: LoadGenerator[Any]
    time_s: int
    rate: int
    in_place_of: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    options: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    _rehearsed: set[str] = field(init=False, default_factory=set)
    _held: dict[str, int] = field(init=False, default_factory=dict)
    _systems: dict[str, System] = field(init=False, default_factory=dict)
    _start: StartingState = field(init=False)
    _driver: Driver = field(init=False)

    def hosts(self) -> list[str]:
        return [*self.inventory.require("client"), *systems.check_names(self.names, self.inventory)]

    @contextmanager
    def running(self) -> Iterator[Environment]:
        """Connect, check, install. Raise HostUnusable before anything has been loaded."""
        with Session(self.inventory, self.hosts()) as session:
            surveyed = survey(session, disk_gb=self.profile.disk_gb)
            self._systems = {name: systems.make(name, session, self.profile) for name in self.names}
            clients = session.with_role("client")
            driving = clients if self.generator.many_clients else clients[:1]
            self._driver = Driver(session, self.generator, driving, self.time_s, self.rate, self.profile.probes)
            self._start = StartingState(
                session, clients[0], self._systems, self.generator, self.profile.reset, check=self._check_limits
            )
            version = self._driver.find()
            for system in self._systems.values():
                system.install()
            # Where nobody takes memory away, there is nothing that a load must bring back.
            self._rehearsed = {
                name
                for name, system in self._systems.items()
                if not any(surveyed.hosts[host.name].page_reporting == "on" for host in system.hosts)
            }
            yield Environment.of(surveyed, load_generator=version)
            session.tidy(self._start.stop)

    def begin(self, block: Sequence[Trial], say: Callable[[str], None]) -> dict[str, SystemDescription]:
        """Bring the block's system, alone, to the state that the profile's `reset` names; return what serves."""
        reach_again(self._driver.session)
        # Before data are prepared, which may take hours.
        for trial in block:
            self._system_for(trial)
            self._driver.check_options(str(trial.cell.levels.get("workload", "")))
        self._expect(block)
        brought = self._start.bring(block[0].cell.system, say)
        if self._rehearse(block, say):
            brought = self._start.bring(block[0].cell.system, say)
        return {name: self.as_restaged(about) for name, about in brought.items()}

    def _expect(self, block: Sequence[Trial]) -> None:
        """What the loads of a block will hold on a server: where the kit sets how much it takes, it takes that."""
        system = self._systems[block[0].cell.system]
        each = [self._driver.holds(self._system_for(trial), trial.cell.levels) for trial in block]
        self._held = {of: max(held.get(of, 0) for held in each) for of in {of for held in each for of in held}}
        system.expect(self._held.get(CONNECTIONS, 0))

    def _check_limits(self, system: System) -> None:
        """Raise BadInput where the loads of the block that begins hold more than a server takes."""
        for limit in system.limits(self._driver.clients[0]):
            limit.check(self._held, file=self.inventory.file)

    def _rehearse(self, block: Sequence[Trial], say: Callable[[str], None]) -> bool:
        """Before a system's first trial, run the block's loads in turn for `rehearse_s`. Return whether they ran.

        They run only where what they write can be undone.

        Memory that a virtual machine uses for the first time comes page by page from its host: 15 to 20 us each, where
        memory that it has used before takes 4 (two virtual cores, Linux 6.18). TiDB took up 3 GB within 15 s of load,
        and did half to two thirds meanwhile of what it did later. The machine has it from then on, and the servers of
        later blocks find it. A machine that keeps its memory (hosts/remote/machine.py) needs no such loads.
        """
        system = self._systems[block[0].cell.system]
        if system.name not in self.rehearsed() or system.name in self._rehearsed:
            return False
        self._rehearsed.add(system.name)
        say(f"loading {system.name} for the first time, of which nothing is kept")
        short = replace(self._driver, time_s=min(self._driver.time_s, LOAD_S), may_overrun=True)
        until = time.monotonic() + self.profile.rehearse_s
        # What fails here fails again in a trial of its own, where it is told.
        with suppress(TrialFailed):
            for trial in cycle(block):
                if time.monotonic() >= until:
                    break
                short.warm(self._system_for(trial), trial.cell.levels)
        return True

    def as_restaged(self, about: SystemDescription) -> SystemDescription:
        """For the published version whose place it takes, unless it says that it is that version."""
        product, version = self.in_place_of.get(about.name, ("", ""))
        if not version or re.search(rf"\b{re.escape(version)}\b", about.version):
            return about
        also = f", {about.stand_in_for}" if about.stand_in_for else ""
        return about.model_copy(update={"stand_in_for": f"{product} {version}{also}"})

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        """Probes, load, parse; a server that died takes the blame before the load generator does."""
        return self._driver.measure(self._system_for(trial), trial.cell.levels, on_rate)

    def commands(self, trial: Trial) -> list[tuple[Host, Command]]:
        """Return the load of a trial: what is run on each client host; one without a thread, or a rate, is left out."""
        return self._driver.commands(self._system_for(trial), trial.cell.levels)

    def _system_for(self, trial: Trial) -> System:
        """Return the system of a trial, for which the generator has the options of the trial's design."""
        design = (trial.cell.table, str(trial.cell.levels.get("workload")))
        if design in self.options:
            self.generator.options = list(self.options[design])
        return self._systems[trial.cell.system]

    def expected_s(self, trial: Trial) -> float:
        return float(self.time_s)

    def rehearsed(self) -> list[str]:
        if not (self.profile.rehearse_s and self.generator.timed and self.profile.reset == "restore"):
            return []
        return [name for name in self.names if systems.find(name, self.inventory).can_reset]

    def rate_unit(self, trial: Trial) -> str:
        return self.generator.rate_unit


@dataclass
class KneeTrials(LoadTrials):
    """Loads at the rates of a search, each after a short one that is not measured; it lasts as its rate asks for."""

    slo: Slo = field(default_factory=Slo)

    @classmethod
    def of(cls, trials: LoadTrials, slo: Slo) -> KneeTrials:
        """On the same hosts and systems, by the same generator. Nothing is rehearsed."""
        alike = {each.name: getattr(trials, each.name) for each in fields(LoadTrials) if each.init}
        profile = trials.profile.model_copy(update={"rehearse_s": 0.0})
        return cls(**{**alike, "profile": profile, "time_s": slo.time_s, "rate": 0}, slo=slo)

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        system, levels = self._system_for(trial), trial.cell.levels
        driver = replace(self._driver, may_overrun=True)
        replace(driver, time_s=WARM_S).warm(system, levels)
        return replace(driver, time_s=self._lasts_s(trial)).measure(system, levels, on_rate)

    def expected_s(self, trial: Trial) -> float:
        return float(WARM_S + self._lasts_s(trial))

    def _lasts_s(self, trial: Trial) -> int:
        return self.slo.lasts_s(float(trial.cell.levels[RATE]))
