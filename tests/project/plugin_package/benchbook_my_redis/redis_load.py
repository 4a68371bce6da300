"""redis-benchmark: GET or SET of random keys, a closed loop of clients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import Field

from benchbook.analysis.checks import Check
from benchbook.campaign.record import Record
from benchbook.errors import SystemFailed
from benchbook.hosts.agent import Command
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.host import Host
from benchbook.hosts.session import Session
from benchbook.profiles import LoadSize
from benchbook.systems.base import System
from benchbook.workloads import generator_output
from benchbook.workloads.base import Load, LoadGenerator, Outcome, Ran
from benchbook.workloads.printed_load import printed

FILL = "for i = 0, ARGV[1] - 1 do redis.call('SET', string.format('key:%012d', i), string.rep('x', ARGV[2])) end"
# The file that tells its figures: the kit has this one, yours is env/workloads/NAME.yaml, with `forms` alone.
OUTPUT = "redis_benchmark"


class RedisSize(LoadSize):
    """`keys` of `value_bytes` each; a load ends after `requests`, because redis-benchmark counts these, not seconds."""

    keys: int = Field(ge=1)
    requests: int = Field(ge=1)
    value_bytes: int = Field(16, ge=1)


@dataclass(frozen=True)
class Keys:
    """The prepared data."""

    keys: int
    value_bytes: int


class MyRedisBenchmark(LoadGenerator[RedisSize]):
    """`workload` names redis-benchmark's own test: get or set."""

    name = "my_redis_benchmark"
    program = "redis-benchmark"
    package = "redis-tools"
    protocols = ("my_redis",)
    workloads = frozenset({"get", "set"})
    Size = RedisSize
    timed = False

    @classmethod
    def asked(cls, size: RedisSize) -> dict[str, object]:
        return {"keys": size.keys, "requests": size.requests, "value_bytes": size.value_bytes}

    @property
    def dataset(self) -> Keys:
        return Keys(self.size.keys, self.size.value_bytes)

    def prepare(self, session: Session, client: Host, system: System, say: Callable[[str], None]) -> None:
        say(f"preparing {self.size.keys:,} keys")
        for end in system.endpoints():
            ask = ["redis-cli", "-h", end.address, "-p", end.port]
            client.run([*ask, "EVAL", FILL, 0, self.size.keys, self.size.value_bytes], timeout=600)
            found = client.run([*ask, "DBSIZE"]).stdout.strip()
            if found != str(self.size.keys):
                raise SystemFailed(f"{end}: holds {found} keys after preparing {self.size.keys}")

    # -- the load -----------------------------------------------------------------------------------------------

    def command(self, client: Host, endpoints: Sequence[Endpoint], load: Load) -> Command:
        where = ["-h", endpoints[0].address, "-p", endpoints[0].port]
        how = ["-t", load.levels["workload"], "-c", load.threads, "-n", self.size.requests]
        data = ["-r", self.size.keys, "-d", self.size.value_bytes]
        return Command([self.programs[client.name], *where, *how, *data, *self.options], timeout_s=load.time_s + 600)

    def rate_in(self, line: str) -> tuple[float, float] | None:
        return generator_output.rate_in(OUTPUT, line)

    def failure(self, text: str) -> str | None:
        return generator_output.failure(OUTPUT, text)

    def outcome(self, ran: Sequence[Ran]) -> Outcome:
        (one,) = ran
        return printed(OUTPUT, one, source=self.name)

    @classmethod
    def record_checks(cls, record: Record) -> list[Check]:
        answered, asked = record.summary["events"].value, record.asked["requests"]
        return [Check(record.id, "requests answered", answered == asked, f"{answered:.0f} of {asked}")]
