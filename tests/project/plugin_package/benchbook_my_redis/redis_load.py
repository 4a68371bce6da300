"""redis-benchmark: GET or SET of random keys, a closed loop of clients."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd
from pydantic import Field

from benchbook.analysis.checks import Check
from benchbook.campaign.record import Quantity, Record
from benchbook.errors import OutputNotParseable, SystemFailed
from benchbook.hosts.agent import Command
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.host import Host
from benchbook.hosts.session import Session
from benchbook.probes.samples import COLUMNS
from benchbook.profiles import LoadSize
from benchbook.workloads.base import Load, LoadGenerator, Outcome, Ran, Store

FILL = "for i = 0, ARGV[1] - 1 do redis.call('SET', string.format('key:%012d', i), string.rep('x', ARGV[2])) end"
RATE_EVERY_S = 0.25
_RATE = re.compile(r"\w+: rps=([\d.]+) ")
_BUCKET = re.compile(r"^[\d.]+% <= ([\d.]+) milliseconds \(cumulative count (\d+)\)$", re.MULTILINE)
_THROUGHPUT = re.compile(r"throughput summary: ([\d.]+) requests per second")
_COMPLETED = re.compile(r"(\d+) requests completed in ([\d.]+) seconds")
_LATENCY = re.compile(r"avg +min +p50 +p95 +p99 +max\s+([\d. ]+)")


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
    _told = 0

    def version(self, client: Host) -> str:
        return client.run([self.programs[client.name], "--version"]).stdout.strip()

    @classmethod
    def asked(cls, size: RedisSize) -> dict[str, object]:
        return {"keys": size.keys, "requests": size.requests, "value_bytes": size.value_bytes}

    @property
    def dataset(self) -> Keys:
        return Keys(self.size.keys, self.size.value_bytes)

    def prepare(self, session: Session, client: Host, store: Store, say: Callable[[str], None]) -> None:
        say(f"preparing {self.size.keys:,} keys")
        for end in store.endpoints():
            ask = ["redis-cli", "-h", end.address, "-p", end.port]
            client.run([*ask, "EVAL", FILL, 0, self.size.keys, self.size.value_bytes], timeout=600)
            found = client.run([*ask, "DBSIZE"]).stdout.strip()
            if found != str(self.size.keys):
                raise SystemFailed(f"{end}: holds {found} keys after preparing {self.size.keys}")

    # -- the load -----------------------------------------------------------------------------------------------

    def command(self, client: Host, endpoints: Sequence[Endpoint], load: Load) -> Command:
        self._told = 0
        where = ["-h", endpoints[0].address, "-p", endpoints[0].port]
        how = ["-t", load.levels["workload"], "-c", load.threads, "-n", self.size.requests]
        data = ["-r", self.size.keys, "-d", self.size.value_bytes]
        return Command([self.programs[client.name], *where, *how, *data, *self.options], timeout_s=load.time_s + 600)

    def rate_in(self, line: str) -> tuple[float, float] | None:
        """It tells its rate four times a second, without the time."""
        match = _RATE.search(line)
        self._told += match is not None
        return (self._told * RATE_EVERY_S, float(match[1])) if match else None

    def failure(self, text: str) -> str | None:
        said = [line for line in text.splitlines() if line.startswith(("Could not connect", "Error", "ERROR", "WARN"))]
        return "; ".join(said[:4]) or None

    def outcome(self, ran: Sequence[Ran]) -> Outcome:
        (one,) = ran
        mean, low, middle, p95, p99, high = map(float, _found(_LATENCY, one.text)[1].split())
        times = {"mean": mean, "min": low, "p50": middle, "p99": p99, "max": high}
        done = _found(_COMPLETED, one.text)
        summary = {
            "tps": Quantity(value=float(_found(_THROUGHPUT, one.text)[1]), unit="1/s"),
            "events": Quantity(value=int(done[1]), unit="1"),
            "total_time_s": Quantity(value=float(done[2]), unit="s"),
            "p95_ms": Quantity(value=p95, unit="ms"),
            **{f"latency_{name}_ms": Quantity(value=ms, unit="ms") for name, ms in times.items()},
        }
        return Outcome(summary, _series(one), _histogram(one.text))

    @classmethod
    def record_checks(cls, record: Record) -> list[Check]:
        answered, asked = record.summary["events"].value, record.asked["requests"]
        return [Check(record.id, "requests answered", answered == asked, f"{answered:.0f} of {asked}")]


def _found(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    match = pattern.search(text)
    if match is None:
        raise OutputNotParseable(f"redis-benchmark's output has no {pattern.pattern!r}")
    return match


def _histogram(text: str) -> list[tuple[float, int]]:
    """The first of its two tables; counts there are cumulative, and the last one is all."""
    seen = [(float(ms), int(count)) for ms, count in _BUCKET.findall(text.partition("Cumulative distribution")[0])]
    before = [0, *(count for _, count in seen)]
    return [(ms, count - less) for (ms, count), less in zip(seen, before, strict=False) if count > less]


def _series(ran: Ran) -> pd.DataFrame:
    """The told rates; the first is told at the very start, before anything was done."""
    rates = [float(rate) for rate in _RATE.findall(ran.text)]
    begin = ran.ended.started
    rows = [
        (begin + RATE_EVERY_S * i, ran.client, "my_redis_benchmark", "tps", rate, "1/s") for i, rate in enumerate(rates)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)
