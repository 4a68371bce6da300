"""RocksDB's db_bench: reads and writes of a database that it opens itself, where every read must find its key."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from benchbook.analysis.checks import Check
from benchbook.campaign.record import Quantity, Record
from benchbook.errors import SystemFailed, WorkloadFailed
from benchbook.hosts.agent import Command
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.host import Host
from benchbook.hosts.host_models import Json
from benchbook.hosts.session import Session
from benchbook.probes import samples
from benchbook.profiles import LoadSize
from benchbook.stats import latency
from benchbook.systems import rocksdb
from benchbook.systems.base import System
from benchbook.workloads import generator_output
from benchbook.workloads.base import Level, Load, Outcome, Ran
from benchbook.workloads.printed_load import Prepared, PrintedLoad

# The column family whose keys ldb counts.
KEYS = "default"
# Workloads that only count reads, and those in which thread 0 writes while the counted threads read.
READS, WRITER = frozenset({"readrandom", "readwhilewriting"}), frozenset({"readwhilewriting"})
# The least share of its threads in a request at a time; the others wait for a CPU.
LEAST_BUSY = 0.5
_PROGRESS = re.compile(
    r"thread (\d+): \(\d+,(\d+)\) ops and \(([\d.]+),[\d.]+\) ops/second in \([\d.]+,([\d.]+)\) seconds"
)


class DbBenchSize(LoadSize):
    """`records` keys with values of `value_bytes`, and a block cache of `cache_mb` MiB."""

    records: int = Field(ge=1, le=10_000_000_000)
    value_bytes: int = Field(800, ge=1, le=1 << 20)
    cache_mb: int = Field(8, ge=1, le=1 << 20)


class DbBench(PrintedLoad[DbBenchSize]):
    """The level `num` is how many of the keys, from the first on, are read and written; no more than there are."""

    name = "db_bench"
    program = "db_bench"
    package = rocksdb.PACKAGE
    protocols = ("rocksdb",)
    workloads = READS | {"overwrite"}
    levels = frozenset({"num"})
    known_options = frozenset(
        "benchmark_write_rate_limit block_size bloom_bits cache_numshardbits compaction_style compression_ratio "
        "compression_type delete_obsolete_files_period_micros disable_auto_compactions disable_wal "
        "level0_file_num_compaction_trigger level0_slowdown_writes_trigger level0_stop_writes_trigger "
        "max_background_compactions max_background_jobs max_bytes_for_level_base max_bytes_for_level_multiplier "
        "max_write_buffer_number memtablerep min_level_to_compress mmap_read mmap_write num_levels open_files sync "
        "target_file_size_base use_direct_io_for_flush_and_compaction use_direct_reads verify_checksum "
        "write_buffer_size".split()
    )
    Size = DbBenchSize
    rate_unit: ClassVar[str] = "operations/s"

    def __init__(self, size: DbBenchSize, options: Sequence[str], seed: int) -> None:
        super().__init__(size, options, seed)
        self._threads: set[str] = set()
        self._rates: dict[str, float] = {}

    # -- its data -------------------------------------------------------------------------------------------------

    @property
    def dataset(self) -> Prepared:
        """Every key from 0 to `records` - 1, put in a random order."""
        return Prepared(self.name, {"records": self.size.records, "value_bytes": self.size.value_bytes})

    def prepare(self, session: Session, client: Host, system: System, say: Callable[[str], None]) -> None:
        say(f"preparing {self.size.records:,} keys, once for this dataset")
        fill = ["--benchmarks=filluniquerandom,flush,waitforcompaction", "--compression_type=none"]
        command = self._command(client, [*fill, f"--num={self.size.records}"], 7200 + self.size.records / 1000)
        self.fill(session, client, [command])
        if (found := self._keys(client, system)) != self.size.records:
            raise SystemFailed(f"RocksDB holds {found:,} keys after preparing {self.size.records:,}")

    def _keys(self, client: Host, system: System) -> int:
        return system.row_counts(client, system.endpoints()[0], "", [KEYS], rocksdb.COUNT_S)[KEYS]

    def _command(self, client: Host, how: Sequence[str], longest_s: float) -> Command:
        where = [f"--db={rocksdb.data_folder(client)}", f"--value_size={self.size.value_bytes}", f"--seed={self.seed}"]
        return Command([self.programs[client.name], *where, *how], timeout_s=longest_s, grace_s=5)

    # -- its loads ------------------------------------------------------------------------------------------------

    def reading_options(self, client: Host, workload: str) -> list[str]:
        """Without a benchmark it opens a database with them, here an empty one, and ends."""
        return [self.programs[client.name], f"--db={client.path(rocksdb.RocksDB.name, 'options')}", *self.options,
                "--benchmarks="]  # fmt: skip

    def command(self, client: Host, endpoints: Sequence[Endpoint], load: Load) -> Command:
        workload, writer = str(load.levels["workload"]), load.levels["workload"] in WRITER
        self._threads, self._rates = {str(i + writer) for i in range(load.threads)}, {}
        keys = min(self.size.records, int(load.levels.get("num", self.size.records)))
        how = [f"--benchmarks={workload}", "--use_existing_db=1", f"--num={keys}", f"--threads={load.threads}"]
        told = ["--histogram=1", "--statistics=1", "--stats_interval_seconds=1", "--stats_per_interval=0"]
        # A slow thread would look at the clock too seldom to end in time.
        lasts = [f"--duration={load.time_s}", "--ops_between_duration_checks=10"]
        ask = [*how, *lasts, f"--cache_size={self.size.cache_mb << 20}", *self.options, *told]
        bare = self._command(client, ask, load.time_s + 600)
        # What its threads have done so far goes to stderr.
        return Command(["sh", "-c", 'exec "$@" 2>&1', "sh", *bare.argv], timeout_s=bare.timeout_s, grace_s=5)

    def rate_in(self, line: str) -> tuple[float, float] | None:
        """Each of its threads tells its own rate: their sum, once all have."""
        if not (found := _PROGRESS.search(line)) or found[1] not in self._threads:
            return None
        self._rates[found[1]] = float(found[3])
        return (float(found[4]), sum(self._rates.values())) if self._rates.keys() == self._threads else None

    def outcome(self, ran: Sequence[Ran]) -> Outcome:
        (one,) = ran
        run = generator_output.run_of(self.name, one.text, "p99_ms", "events", "total_time_s", "written_keys")
        return Outcome(run.figures, _series(one, run.figures, run.levels["workload"] in WRITER), run.histogram)

    # -- its proof ------------------------------------------------------------------------------------------------

    def prove(self, client: Host, system: System, levels: Mapping[str, Level], outcome: Outcome) -> Json:
        """Every read gave a whole value, by the library's own counts; no key was lost and none was added."""
        figures = {name: int(quantity.value) for name, quantity in outcome.summary.items()}
        if wrong := not_done(str(levels["workload"]), figures, self.size.value_bytes):
            raise WorkloadFailed(f"db_bench: {wrong}")
        if (found := self._keys(client, system)) != self.size.records:
            raise WorkloadFailed(f"RocksDB holds {found:,} keys after the load, {self.size.records:,} were prepared")
        return {
            "keys": {"found": found, **{name: figures[name] for name in ("read_keys", "read_bytes", "written_keys")}}
        }

    @classmethod
    def record_checks(cls, record: Record) -> list[Check]:
        """Little's law with the mean latency that db_bench prints, and its proof."""
        threads, tps = float(record.levels["threads"]), record.summary["tps"].value
        law = latency.little(threads, tps, record.summary["op_mean_ms"].value, tolerance=1 - LEAST_BUSY)
        proved = record.proof.get("keys", {})
        said = "{read_keys:,} reads gave {read_bytes:,} bytes; {found:,} keys there after {written_keys:,} writes"
        fits = law.holds and law.ratio <= 1.05
        return [
            Check(record.id, "Little's law", fits, f"{law.in_flight:.1f} of {threads:g} threads were in a request"),
            Check(record.id, "keys present", bool(proved), said.format(**proved) if proved else "was not looked at"),
        ]


def not_done(workload: str, figures: Mapping[str, int], value_bytes: int) -> str:
    """Return how RocksDB's own counters contradict what db_bench says that it did; "" where they do not.

    `figures` are those of db_bench's output; its count of keys found is that of one thread.
    """
    events, found, sought = figures["events"], figures.get("found", 0), figures.get("looked_for", 0)
    if found != sought:
        return f"{sought - found:,} of {sought:,} keys were not found"
    if workload in READS and (figures["read_keys"], figures["read_bytes"]) != (events, events * value_bytes):
        read = f"{figures['read_keys']:,} reads that gave {figures['read_bytes']:,} bytes together"
        return f"{events:,} reads of {value_bytes:,} bytes each are, as RocksDB counts, {read}"
    if workload not in READS and figures["written_keys"] != events:
        return f"{figures['written_keys']:,} keys were written by {events:,} writes"
    return ""


def _series(ran: Ran, figures: Mapping[str, Quantity], writer: bool) -> pd.DataFrame:
    """Operations in each whole second: between what a thread has done at two times it went on evenly."""
    told: dict[str, list[tuple[float, float]]] = defaultdict(lambda: [(0.0, 0.0)])
    for thread, done, _, second in _PROGRESS.findall(ran.text):
        if not (writer and thread == "0"):
            told[thread].append((float(second), float(done)))
    whole = np.arange(1 + int(min((each[-1][0] for each in told.values()), default=0.0)))
    done = np.zeros(len(whole))
    for each in told.values():
        done += np.interp(whole, [second for second, _ in each], [count for _, count in each])
    rates = np.diff(done)
    begin = ran.ended.ended - figures["total_time_s"].value
    rows = [(begin + t + 1, ran.client, DbBench.name, "tps", float(rate), "1/s") for t, rate in enumerate(rates)]
    return samples.table(rows)
