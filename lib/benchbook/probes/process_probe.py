"""The probe of the processes that a trial starts: CPU and resident memory of each of its jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from benchbook.hosts.jobs import Command, remote_program
from benchbook.hosts.remote_host import RemoteHost
from benchbook.probes.metric import Metric, counter, level
from benchbook.probes.probe import LONGEST_S, Probe


class ProcessProbe(Probe):
    """CPU and memory of the jobs on this host, by label: `jobs` maps it to the name that the job is started under."""

    name = "process"
    metrics: ClassVar[Mapping[str, Metric]] = {"cpu.*": counter("cores"), "rss.*": level("B")}
    standing = False

    def __init__(self, host: RemoteHost, jobs: Mapping[str, str], *, every_s: float = 1.0) -> None:
        super().__init__(host)
        self._jobs, self._every_s = jobs, every_s

    def command(self) -> Command:
        program = self.host.push(remote_program("probes", "sample_processes.py"))
        patterns = [f"{label}={self.host.path('jobs', f'{name}-*', 'pid')}" for label, name in self._jobs.items()]
        return Command(["python3", program, "{job}/samples", self._every_s, *patterns], timeout_s=LONGEST_S)
