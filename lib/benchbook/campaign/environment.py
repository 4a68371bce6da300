"""environment.json: where a campaign ran and on what, as models. Keys that nobody here knows are kept as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from benchbook.hosts.capacity import LOAD
from benchbook.hosts.host_models import OpenModel, Survey

# What was asked of a campaign: conditions that all its trials share, by name; every kind of report has its own.
Asked = Mapping[str, Any]
# What is asked of a campaign that was made of logs: nobody wrote down on what they ran.
IMPORTED, UNKNOWN = "imported", "circumstances unknown"
# Of systems that run alike, each with the first one that it is like: one server, or one program with the same settings.
ALIKE = "alike"


class SystemDescription(OpenModel):
    """What a system is; `stand_in_for` names what it replaces here, `config` its command and settings.

    `fewer`: what of a stand-in is one where the system that it replaces has several.
    """

    name: str = ""
    version: str = ""
    title: str = ""
    stand_in_for: str | None = None
    notes: list[str] = Field(default_factory=list)
    hosts: list[str] = Field(default_factory=list)
    config: dict[str, Any] = Field(default_factory=dict)
    fewer: str = ""

    @property
    def called(self) -> str:
        """Title and version."""
        return f"{self.title} {self.version}".strip()


class RunTimes(OpenModel):
    """When one run of a campaign began and ended: the driver's clock, s since the epoch.

    `kit` is the checkout that measured, as `Origin.called`; empty where an older one did.
    """

    began: int | float
    ended: int | float
    kit: str = ""


class Environment(Survey):
    """Hosts, what is off about them and what was set, systems, load generator, and the runs that it took.

    `looks`: among how many looks the claims' error rate is shared out, where that are fewer than were planned.
    """

    load_generator: str | None = None
    systems: dict[str, SystemDescription] = Field(default_factory=dict)
    runs: list[RunTimes] = Field(default_factory=list)
    repetitions_ended: str = ""
    looks: int | None = None

    @classmethod
    def of(cls, surveyed: Survey, *, load_generator: str | None = None) -> Environment:
        """Return what an experiment notes when its hosts are ready."""
        more = {} if load_generator is None else {"load_generator": load_generator}
        return cls(**{**surveyed.model_dump(), **more})

    def runs_in_client(self, system: str, client: str) -> bool:
        """Does this load generator open the system in its own process?

        So it does where it ran there, and all that ran was on hosts that have the client's role and no other: no server
        was started. A transfer runs on the client as well, between servers.
        """
        where = self.systems[system].hosts if system in self.systems else []
        # A server that existed before the run is on no host of it.
        every = [host for each in self.systems.values() for host in each.hosts or [""]]
        return client in where and all(h in self.hosts and set(self.hosts[h].roles) == {LOAD} for h in every)

    @property
    def spent_s(self) -> float:
        """Wall time that the runs have taken, in seconds."""
        return float(sum(run.ended - run.began for run in self.runs))

    @property
    def measured_by(self) -> list[str]:
        """The checkouts of the kit that measured, in their order; nothing of campaigns older than this note."""
        return list(dict.fromkeys(run.kit for run in self.runs if run.kit))
