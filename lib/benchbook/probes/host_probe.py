"""The probe of a machine: CPU by mode, load, run queue, memory, disk and network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from benchbook.hosts.jobs import Command, remote_program
from benchbook.probes.metric import Metric, counter, level
from benchbook.probes.probe import LONGEST_S, Probe


class HostProbe(Probe):
    """What the kernel counts of the whole host, once a second (remote/sample_host.py)."""

    name = "host"
    metrics: ClassVar[Mapping[str, Metric]] = {
        "cpu.*": counter("cores"),  # seconds of CPU per second
        "ctxt": counter(),
        "procs_running": level("tasks"),
        "procs_blocked": level("tasks"),
        "load.1min": level("1"),
        "memory.*": level("B"),
        "disk.read_bytes": counter("B/s"),
        "disk.written_bytes": counter("B/s"),
        "disk.reads": counter(),
        "disk.writes": counter(),
        "disk.busy_s": counter("1"),  # seconds busy per second: a share
        "loopback.*": counter("B/s"),
        "network.*": counter("B/s"),
    }

    def command(self) -> Command:
        program = self.host.push(remote_program("probes", "sample_host.py"))
        return Command(["python3", program, "{job}/samples"], timeout_s=LONGEST_S)
