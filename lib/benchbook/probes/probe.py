"""A probe: a program that samples something on a host, and what it says of each metric that it samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from benchbook import plugins
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.jobs import Command
from benchbook.hosts.remote_host import RemoteHost
from benchbook.probes.metric import Metric

GROUP = "probes"
# A probe stands as long as a session; its job still has an end, in case all else fails.
LONGEST_S = 2 * 86_400


class Probe(ABC):
    """One probe to start on `host`: found by name (entry point `benchbook.probes`), which is its source in the series.

    Its program appends JSON lines to `{job}/samples`: {"t": s since the epoch, "cpu": s that it used itself, "v":
    {metric: number}}, or {"t", "error"} for a sample that could not be taken. `metrics` says what each number is; a
    name that ends in `*` stands for all that begin like it. A probe that is not `standing` lives for one trial.
    """

    name: ClassVar[str]
    metrics: ClassVar[Mapping[str, Metric]]
    standing: ClassVar[bool] = True

    def __init__(self, host: RemoteHost, endpoint: Endpoint | None = None, about: str = "") -> None:
        self.host, self.endpoint, self.about = host, endpoint, about or host.name

    @abstractmethod
    def command(self) -> Command:
        """Its command line, after pushing what it needs to the host."""


def make(name: str, host: RemoteHost, endpoint: Endpoint | None = None, about: str = "") -> Probe:
    """The probe of this name. Raises BadInput for an unknown one."""
    probe: type[Probe] = plugins.load(GROUP, name, key="probes")
    return probe(host, endpoint, about)
