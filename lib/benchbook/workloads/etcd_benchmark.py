"""etcd's own benchmark tool as a load generator: puts, and linearizable or serializable reads of one key."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import pandas as pd
from pydantic import Field

from benchbook.analysis import checks
from benchbook.analysis.checks import Check
from benchbook.build import programs
from benchbook.campaign.record import Record
from benchbook.errors import WorkloadFailed
from benchbook.hosts.agent import Command
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.host import Host
from benchbook.hosts.host_models import Json
from benchbook.hosts.session import Session
from benchbook.probes import samples
from benchbook.profiles import LoadSize
from benchbook.systems import etcd
from benchbook.systems.base import System
from benchbook.workloads import generator_output
from benchbook.workloads.base import Level, Load, Outcome, Ran
from benchbook.workloads.printed_load import Prepared, PrintedLoad, failures

BUILD = "etcd"
KEY, VALUE_BYTES = "YOUR_KEY", 256
LEADER = "--target-leader"
# A workload: the tool's own command, and what goes before it. In the last two a member is killed by who asks for them.
COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "put_leader": ([LEADER], ["put"]),
    "put_all": ([], ["put"]),
    "range_linearizable": ([], ["range", KEY, "--consistency=l"]),
    "range_serializable": ([], ["range", KEY, "--consistency=s"]),
    "put_follower_killed": ([LEADER], ["put"]),
    "put_leader_killed": ([], ["put"]),
}
KILLED = {name for name in COMMANDS if name.endswith("_killed")}
CLIENTS_PER_CONNECTION = 10
# The least share of its clients in a request at a time. The others wait for the tool: with fewer, the tool is measured.
LEAST_BUSY = 0.85


# -- its output: a bar while it runs, and a report at its end ---------------------------------------------------------

# The bar is drawn anew so often (pb.v1, DEFAULT_REFRESH_RATE), whatever becomes of the load.
BAR_EVERY_S = 0.2
_BAR = re.compile(r"^ *(\d+) / \d+ +[\d.]+%")
_PERCENTILES = ("p50_ms", "p95_ms", "p99_ms")
_ERROR = re.compile(r"^  \[(\d+)\]\t(.+)$", re.MULTILINE)


def done_in(line: str) -> int | None:
    """Return how many requests a drawn bar counts; None for any other line."""
    match = _BAR.match(line)
    return int(match[1]) if match else None


def errors(text: str) -> dict[str, int]:
    """Return how many requests failed by what was answered, the most frequent first."""
    found = [(int(count), answer) for count, answer in _ERROR.findall(text.partition("Error distribution:")[2])]
    return {answer: count for count, answer in sorted(found, reverse=True)}


# -- the generator ----------------------------------------------------------------------------------------------------


class EtcdSize(LoadSize):
    """Requests of a load by one client: `puts` or `reads`; several clients together send `together` times as many.

    The tool counts requests and not seconds: `time_s` is about what a load takes. In a load in which a member is killed
    there are `puts_killed`.
    """

    puts: int = Field(ge=1, le=1_000_000_000)
    reads: int = Field(ge=1, le=1_000_000_000)
    puts_killed: int = Field(ge=1, le=1_000_000_000)
    together: int = Field(10, ge=1, le=1_000_000)


class EtcdBenchmark(PrintedLoad[EtcdSize]):
    """`options` are those of the published `put`."""

    name = "etcd_benchmark"
    program = "benchmark"
    builds = (BUILD,)
    protocols = ("etcd",)
    workloads = frozenset(COMMANDS)
    known_options = frozenset({"key-size", "val-size", "sequential-keys", "key-space-size"})
    Size = EtcdSize
    keeps_rate = True
    timed = False
    rate_unit = "requests/s"

    def __init__(self, size: EtcdSize, options: Sequence[str], seed: int) -> None:
        super().__init__(size, options, seed)
        self._done, self._told, self._revision = 0, 0, 0

    def version(self, client: Host) -> str:
        """It does not say its version; what it was built from does."""
        return f"{self.program} of {programs.recipe(BUILD).description}"

    @property
    def dataset(self) -> Prepared:
        """The key that is read."""
        return Prepared(self.name, {"value_bytes": VALUE_BYTES})

    def prepare(self, session: Session, client: Host, system: System, say: Callable[[str], None]) -> None:
        say("preparing the key that is read")
        etcd.put(client, system.endpoints()[0], KEY.encode(), b"x" * VALUE_BYTES)

    # -- its loads ------------------------------------------------------------------------------------------------

    def reading_options(self, client: Host, workload: str) -> list[str]:
        return [self.programs[client.name], "put", *self.options, "--help"]

    def command(self, client: Host, endpoints: Sequence[Endpoint], load: Load) -> Command:
        """Return the published one. Who writes to the leader names one member, and the tool asks it for the leader."""
        self._done = self._told = 0
        where, what = COMMANDS[str(load.levels["workload"])]
        named = ",".join(map(str, endpoints[:1] if LEADER in where else endpoints))
        conns = max(1, load.threads // CLIENTS_PER_CONNECTION)
        how = [f"--endpoints={named}", *where, f"--conns={conns}", f"--clients={load.threads}", "--precise"]
        data = self.options if what[0] == "put" else []
        offered = [f"--rate={load.rate}"] if load.rate else []
        argv = [self.programs[client.name], *how, *what, *data, f"--total={self._requests(load)}", *offered]
        # It says on stderr what every connection does.
        return Command(argv, timeout_s=load.time_s + 600, grace_s=5)

    def _requests(self, load: Load) -> int:
        workload = str(load.levels["workload"])
        if workload in KILLED:
            return self.size.puts_killed
        each = self.size.puts if workload.startswith("put") else self.size.reads
        return each if load.threads == 1 else each * self.size.together

    def rate_in(self, line: str) -> tuple[float, float] | None:
        """The bar counts requests, and is drawn at a steady pace."""
        done = done_in(line)
        if done is None:
            return None
        rate, self._done = (done - self._done) / BAR_EVERY_S, done
        self._told += 1
        return (self._told - 1) * BAR_EVERY_S, rate

    def failure(self, text: str) -> str | None:
        """Requests that fail are counted by the record; where every one did, nothing was measured."""
        failed = errors(text) if "Requests/sec:" not in text else {}
        return "; ".join(f"{what} ({count:,} requests)" for what, count in failed.items()) or None

    def outcome(self, ran: Sequence[Ran]) -> Outcome:
        """Events are the requests that were answered without an error."""
        (one,) = ran
        run = generator_output.run_of(self.name, one.text, "total_time_s", "latency_mean_ms", *_PERCENTILES)
        failed = errors(one.text)
        counts = {"events": sum(count for _, count in run.histogram), "failed": sum(failed.values())}
        figures = {**run.figures, **generator_output.quantities(counts)}
        begin = one.ended.ended - figures["total_time_s"].value
        return Outcome(figures, _series(one, begin), run.histogram, {"errors": failed} if failed else {})

    # -- its proof ------------------------------------------------------------------------------------------------

    def before(self, client: Host, system: System, levels: Mapping[str, Level]) -> None:
        self._revision = etcd.revision(client, system.copies()[0])

    def prove(self, client: Host, system: System, levels: Mapping[str, Level], outcome: Outcome) -> Json:
        """Every put makes a revision: at a quorum there are as many new ones as were acknowledged, or more."""
        after, members = etcd.agreed(client, system.copies())
        wrote = str(levels["workload"]).startswith("put")
        acknowledged, failed = (int(outcome.summary[name].value) if wrote else 0 for name in ("events", "failed"))
        found = after - self._revision
        if wrong := lost_or_unasked(found, acknowledged, failed):
            raise WorkloadFailed(f"etcd: {wrong}")
        return {"quorum": {"acknowledged": acknowledged, "failed": failed, "found": found, "members": members}}

    @classmethod
    def record_checks(cls, record: Record) -> list[Check]:
        """Little's law with the tool's own share, failed requests, and the writes at a quorum."""
        proved = record.proof.get("quorum", {})
        said = "{found:,} found at a quorum, {acknowledged:,} acknowledged; {members} members hold the same"
        killed = record.levels.get("workload") in KILLED
        return [
            *([] if killed else [checks.little(record, least_busy=LEAST_BUSY)]),
            failures(record, expected=killed),
            Check(record.id, "no write lost", bool(proved), said.format(**proved) if proved else "was not looked at"),
        ]


def lost_or_unasked(found: int, acknowledged: int, failed: int) -> str:
    """Return what does not fit; empty where all does. A put that failed may have been written all the same."""
    if found < acknowledged:
        return f"{acknowledged - found:,} of {acknowledged:,} acknowledged writes are not there"
    if found > acknowledged + failed:
        return f"{found:,} writes are there after {acknowledged:,} acknowledged and {failed:,} failed ones"
    return ""


def _series(ran: Ran, begin: float) -> pd.DataFrame:
    """Return the rates between two drawn bars; the last bar is drawn at the end, at no steady pace."""
    done = [count for line in re.split(r"[\r\n]", ran.text) if (count := done_in(line)) is not None]
    rates = [(after - before) / BAR_EVERY_S for before, after in pairwise(done[:-1])]
    return samples.table(
        [
            (begin + i * BAR_EVERY_S, ran.client, EtcdBenchmark.name, "tps", rate, "1/s")
            for i, rate in enumerate(rates, start=1)
        ]
    )
