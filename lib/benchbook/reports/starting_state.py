"""Brings one system at a time, with its prepared data set, to the state that trials start from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, is_dataclass
from typing import Any

from benchbook.campaign.design import digest
from benchbook.campaign.environment import SystemDescription
from benchbook.errors import BadInput, BenchbookError, HostUnusable, SystemFailed, TrialFailed
from benchbook.hosts.host import Host
from benchbook.hosts.host_models import Json
from benchbook.hosts.session import Session
from benchbook.systems.base import System
from benchbook.systems.health import blaming
from benchbook.workloads.base import LoadGenerator

Say = Callable[[str], None]
# What servers say of a table, and of a row, that is there already.
_IN_THE_WAY = re.compile(r"already exists|Duplicate entry")


@dataclass
class StartingState:
    """`reset` is the profile's; `client` is the host that prepares; `besides` fills what the generator does not.

    `check` is asked once a system serves, before it is filled, whether it takes what is to come.

    Only one system runs at a time: bringing another one ends the one before.
    """

    session: Session
    client: Host
    systems: Mapping[str, System]
    generator: LoadGenerator[Any]
    reset: str
    besides: Callable[[], None] = lambda: None
    check: Callable[[System], None] = lambda system: None
    _running: str = field(init=False, default="")
    # The one that runs, and whose data is what it was brought to: "" from the moment that something is done to it.
    _sound: str = field(init=False, default="")

    def bring(self, name: str, say: Say) -> dict[str, SystemDescription]:
        """Bring the system, alone, to its starting state; return what it is, or {} where nothing was to be done.

        Raise SystemFailed, WorkloadFailed; HostUnusable where data are in the way on a server that exists.
        """
        system = self.systems[name]
        _prepared(self.generator)
        if self._running and self._running != system.name:
            self.stop()
        dataset = digest([system.identity, self.generator.dataset, self.generator.seed])
        say(f"bringing {system.name} to its starting state")
        with blaming(system):
            return self._bring(system, dataset, say)

    def _bring(self, system: System, dataset: str, say: Say) -> dict[str, SystemDescription]:
        if not system.can_reset:
            system.ready()
            self.check(system)
            self._prepare_once(system, dataset, say)
        elif self.reset == "none" and self._sound == system.name and _alive(system):
            return {}
        else:
            self._start_from(system, dataset, say)
        self._running = self._sound = system.name
        return {system.name: SystemDescription(**vars(system.about()), dataset=_prepared(self.generator))}

    def stop(self) -> None:
        """End the system that runs, if one does: when it comes again, its data is restored."""
        if self._running:
            self.systems[self._running].discard()
            self._running = self._sound = ""

    def _start_from(self, system: System, dataset: str, say: Say) -> None:
        """Restore the prepared data, preparing it first where there is none; then start and wait until it serves."""
        sound, self._sound = self._sound, ""
        if system.has(dataset):
            # What was killed may have left its data half written.
            restart_only = self.reset != "restore" and sound == system.name and _alive(system)
            (system.stop if restart_only else system.discard)()
            if not restart_only:
                system.reset(dataset)
        else:
            system.refresh(None)
            self.check(system)
            self._prepare(system, say)
            system.stop()
            system.keep(dataset)
            if self.reset == "restore":
                # What was filled in place lies on the disk otherwise than a copy: no repetition is to differ in that.
                system.reset(dataset)
        # The first load follows as soon as they serve.
        system.start()
        system.ready()
        self.check(system)

    def _prepare_once(self, system: System, dataset: str, say: Say) -> None:
        """In place, where somebody else's server keeps what was prepared."""
        if not system.has(dataset):
            try:
                self._prepare(system, say)
            except BaseException as problem:
                # What broke it is told, and no server that has gone with it.
                with suppress(BenchbookError):
                    system.discard()
                if isinstance(problem, TrialFailed) and _IN_THE_WAY.search(str(problem)):
                    raise self._refused(system, problem) from problem
                raise
            system.keep(dataset)

    def _refused(self, system: System, problem: TrialFailed) -> HostUnusable:
        """A driver that is killed while it fills somebody else's server cannot take away what it has made there."""
        said = f"data stand where it is to be filled: {problem}"
        fix = "drop them on that server, if they are what a run that was killed has left, or nobody's any more"
        return HostUnusable(said, file=self.session.inventory.file, key=system.name, fix=fix)

    def _prepare(self, system: System, say: Say) -> None:
        self.generator.prepare(self.session, self.client, system, say)
        self.besides()


def _prepared(generator: LoadGenerator[Any]) -> Json:
    """What it prepares, as a record says it: {} for nothing. Raise BadInput for what does not tell data sets apart."""
    dataset = generator.dataset
    if dataset is None:
        return {}
    if isinstance(dataset, type) or not is_dataclass(dataset):
        said = f"the load generator {generator.name} does not say what it prepares"
        fix = "return an instance of a dataclass that tells its data sets apart, or None where it prepares nothing"
        raise BadInput(said, key="dataset", value=dataset, fix=fix)
    return vars(dataset)


def _alive(system: System) -> bool:
    try:
        system.check_alive()
    except SystemFailed:
        return False
    return True
