"""Drives one load of a load generator against a running system, under probes, from one client host or several."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from benchbook.campaign.experiment import Measurement
from benchbook.campaign.validity import declared_rates
from benchbook.errors import WorkloadFailed
from benchbook.hosts.agent import Command
from benchbook.hosts.fanout import on_each
from benchbook.hosts.host import Host, blaming_disks, with_retry
from benchbook.hosts.session import Session
from benchbook.probes import probe_file
from benchbook.probes.probe import Probe, of_file, of_others
from benchbook.probes.watch import watching
from benchbook.profiles import Profile
from benchbook.systems.base import System
from benchbook.systems.health import Monitored, blaming
from benchbook.workloads.base import Level, Load, LoadGenerator, Outcome, Ran
from benchbook.workloads.clients import DistributedLoad, shares


def check_probes(profile: Profile, watched: Iterable[type[System]]) -> None:
    """Raise BadInput for a probe of the profile, or of one of these systems, that is unknown or badly written."""
    for name in profile.probes:
        probe_file.find(name, file=profile.file)
    for system in watched:
        for name in system.watched_by:
            probe_file.find(name, key=f"watched_by of {system.name}")


def checking_alive(system: Monitored, on_rate: Callable[[float, float], None]) -> Callable[[float, float], None]:
    """`on_rate`, but a second in which nothing was done is a reason to look whether the system lives.

    A load may wait for a server of a cluster long after it has died. Raise SystemFailed, which ends the load.
    """

    def seen(second: float, rate: float) -> None:
        if rate == 0:
            system.check_alive()
        on_rate(second, rate)

    return seen


@dataclass
class Driver:
    """`clients` drive a load together for `time_s` at `rate` (1/s, 0 = closed loop).

    `watched_by` names probes beside `host` and the systems' own: each watches every machine, or, if it asks for a
    server's address, every server. With `may_overrun` a load that was given up because more was offered than the server
    takes is a result; else it is a failure.
    """

    session: Session
    generator: LoadGenerator[Any]
    clients: Sequence[Host]
    time_s: int
    rate: int = 0
    watched_by: Sequence[str] = ()
    may_overrun: bool = False

    def find(self) -> str:
        """Locate the generator on every client; its version, or versions. Raise HostUnusable where it is missing."""
        found = on_each(f"looking for {self.generator.name}", self.clients, with_retry(self.generator.find))
        versions = "; ".join(dict.fromkeys(found.values()))
        return f"{versions}, on {len(found)} hosts together" if len(found) > 1 else versions

    def check_options(self, workload: str) -> None:
        """Raise BadInput for options, as the generator has them now, that its program on a client does not take."""
        asking = with_retry(lambda client: self.generator.check_options(client, workload))
        on_each(f"asking {self.generator.name}", self.clients, asking)

    def commands(self, system: System, levels: Mapping[str, Level]) -> list[tuple[Host, Command]]:
        """What is run on each client host; one without a thread, or a rate, is left out. A level `rate` goes first."""
        ends = system.endpoints()
        return [(host, self.generator.command(host, ends, load)) for host, load in self._parts(system, levels)]

    def holds(self, system: System, levels: Mapping[str, Level]) -> dict[str, int]:
        """Return what the load holds at most on one of the system's servers at once, of what `systems.base` names."""
        servers, held = len(system.endpoints()), Counter[str]()
        for _, load in self._parts(system, levels):
            held.update(self.generator.holds(load, servers))
        return dict(held)

    def _parts(self, system: System, levels: Mapping[str, Level]) -> list[tuple[Host, Load]]:
        """Return the load, shared out over the client hosts."""
        threads, offered = int(levels["threads"]), int(levels.get("rate", self.rate))
        clients = self.clients[: min(threads, offered or threads)]
        parts = zip(clients, shares(threads, len(clients)), shares(offered, len(clients)), strict=True)
        return [(host, Load(levels, mine, self.time_s, rate, system.retried_errors)) for host, mine, rate in parts]

    def probes(self, system: System) -> list[Probe]:
        """Return those of every machine that takes part, and those of the system's servers.

        Machines are sampled so often that a whole interval lies within the shortest load.
        """
        machines = {host.name: host for host in (*self.clients, *system.hosts)}
        named = [probe_file.find(name) for name in ("host", *self.watched_by)]
        of_machines = [of_file(one, host) for one in named if not one.of_server for host in machines.values()]
        every_s = min(1.0, self.time_s / 2)
        often = [replace(one, every_s=every_s) for one in (*of_machines, *of_others(machines.values()))]
        return [*often, *system.probes(self.clients[0], [one for one in named if one.of_server])]

    def warm(self, system: System, levels: Mapping[str, Level]) -> None:
        """The load, of which nothing is kept. Raise TrialFailed."""
        with blaming(system):
            load = self._start_load(system, levels)
            self._checked(load.wait(checking_alive(system, lambda second, rate: None), expected_s=self.time_s))

    def measure(
        self,
        system: System,
        levels: Mapping[str, Level],
        on_rate: Callable[[float, float], None],
    ) -> Measurement:
        """Probes, load, parse. A server that died takes the blame before the generator does. Raise TrialFailed."""
        with blaming(system):
            self.generator.before(self.clients[0], system, levels)
            with watching(self.session, self.probes(system)) as watched:
                load = self._start_load(system, levels)
                ran = load.wait(checking_alive(system, on_rate), expected_s=self.time_s)
            with blaming_disks((*self.clients, *system.hosts)):
                outcome = self._outcome(ran)
            proof = self.generator.prove(self.clients[0], system, levels, outcome)
        started, ended = min(each.ended.started for each in ran), outcome.ended or max(each.ended.ended for each in ran)
        began = ended - outcome.summary["total_time_s"].value if "total_time_s" in outcome.summary else started
        lines = declared_rates(self.generator.name, self.generator.prints_every_s, began, ended)
        asked = {"asked_s": self.time_s} if self.generator.timed else {}
        return Measurement(
            command="\n".join(each.command.typed for each in ran),
            client=ran[0].client,
            started=started,
            ended=ended,
            exit_status=max(each.ended.exit or 0 for each in ran),
            summary=outcome.summary,
            histogram=outcome.histogram,
            output="\n".join(each.text + each.complaint for each in ran),
            proof={**watched.proof, **outcome.proof, **proof, **lines, **asked},
            series=pd.concat([watched.series, outcome.series], ignore_index=True),
        )

    def _start_load(self, system: System, levels: Mapping[str, Level]) -> DistributedLoad:
        return DistributedLoad(self.session, self.generator.name, self.commands(system, levels), self.generator.rate_in)

    def _outcome(self, ran: Sequence[Ran]) -> Outcome:
        return self._checked(ran) or self.generator.read(ran)

    def _checked(self, ran: Sequence[Ran]) -> Outcome | None:
        """What a load that was offered too much has left, where it may be; raises WorkloadFailed for any other end."""
        if self.may_overrun and (overrun := self.generator.overrun(ran)):
            return overrun
        for each in ran:
            self.generator.check(each)
        return None


@dataclass
class StallDetector:
    """Raise once neither what is seen nor what is weighed has changed for `longest_s`.

    `weigh` may be slow (bytes on a disk, say): it is asked only after what is seen has stood still for `longest_s`, so
    the end comes after at least `longest_s` and, on the second weighing, at most twice that.
    """

    what: str
    longest_s: float
    weigh: Callable[[], int]
    _seen: object = field(init=False, default=None)
    _since: float = field(init=False, default=0.0)
    _weight: int | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._since = time.monotonic()

    def see(self, now: object) -> None:
        """Raise WorkloadFailed with what was seen last."""
        if now != self._seen:
            self._seen, self._since, self._weight = now, time.monotonic(), None
        elif time.monotonic() - self._since >= self.longest_s:
            weight = self.weigh()
            if weight == self._weight:
                raise WorkloadFailed(f"{self.what} has not moved for {self.longest_s:g} s: {now}")
            self._weight, self._since = weight, time.monotonic()
