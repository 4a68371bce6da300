"""The probe of a Redis server: what INFO says of it, once a second."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from benchbook.errors import BadInput
from benchbook.hosts.jobs import Command
from benchbook.probes.metric import Metric, counter, level
from benchbook.probes.probe import LONGEST_S, Probe


class RedisProbe(Probe):
    """Runs sample_redis.py, which is pushed to the host and needs nothing there but python3."""

    name = "redis"
    metrics: ClassVar[Mapping[str, Metric]] = {
        "total_commands_processed": counter(),
        "total_net_input_bytes": counter("B/s"),
        "total_net_output_bytes": counter("B/s"),
        "used_cpu_user": counter("cores"),
        "used_cpu_sys": counter("cores"),
        "used_memory": level("B"),
        "connected_clients": level("clients"),
    }

    def command(self) -> Command:
        if self.endpoint is None:
            raise BadInput("this probe watches a server", key="probes", value=self.name, fix="let a system name it")
        program = self.host.push(Path(__file__).with_name("sample_redis.py"))
        argv = ["python3", program, "{job}/samples", self.endpoint.address, self.endpoint.port, *self.metrics]
        return Command(argv, timeout_s=LONGEST_S)
