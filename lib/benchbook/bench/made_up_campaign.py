"""A made-up campaign of the real format, for benchmarks: its home, its machines, its records."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchbook import paths
from benchbook.campaign.design import Trial
from benchbook.campaign.environment import Environment
from benchbook.campaign.record import Quantity, Record
from benchbook.campaign.store import Campaign
from benchbook.probes.samples import COLUMNS

REPORT = "tidb_v7_1_3_sysbench"
# Trials of 30 s, each with 83 series, on two systems.
SYSTEMS, TIME_S = ("tidb", "mariadb"), 30
HOSTS = {"executor": "client", "tidb1": "tidb", "tidb2": "tidb"}
_CPU = [f"cpu.{name}" for name in "user nice system idle iowait irq softirq steal".split()]
_RATES = "ctxt disk.reads disk.writes disk.read_bytes disk.written_bytes disk.busy_s loopback.received_bytes"
_LEVELS = "memory.total memory.available memory.cached memory.dirty procs_running procs_blocked load.1min"
_NETWORK = "loopback.sent_bytes network.received_bytes network.sent_bytes"
_HOST_METRICS = {
    **dict.fromkeys(_CPU, "cores"),
    **dict.fromkeys(_RATES.split(), "1/s"),
    **dict.fromkeys(_LEVELS.split(), "B"),
    **dict.fromkeys(_NETWORK.split(), "B/s"),
}
_LOAD_METRICS = {
    "tps": "1/s",
    "qps": "1/s",
    "latency_ms": "ms",
    "errors": "1/s",
    "reconnects": "1/s",
    "threads": "threads",
}


def own_home(folder: Path) -> Path:
    """A project folder of its own, whose reports and notebooks are this one's."""
    (folder / "data").mkdir()
    for name in ("data/published", "notebooks", "env"):
        (folder / name).symlink_to(paths.home() / name)
    return folder


def child(home: Path, module: str, step: str) -> str:
    """What a step of a benchmark prints, run in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", module, step],
        check=True,
        capture_output=True,
        text=True,
        env={**own_environment(home), "MPLBACKEND": "agg"},
    )
    return done.stdout


def own_environment(home: Path) -> dict[str, str]:
    """The environment of a process that finds its project folder there."""
    return {**os.environ, "BENCHBOOK_HOME": str(home)}


# -- its records --------------------------------------------------------------------------------------------------


def environment() -> Environment:
    """Three machines of 16 cores."""
    host = {
        "cpu_model": "made up",
        "cores": 16,
        "memory_bytes": 2**36,
        "disk_kind": "ssd",
        "filesystem": "ext4",
        "os": "none",
        "kernel": "none",
        "governor": "performance",
        "turbo": "off",
        "thp": "never",
        "numa_nodes": 1,
        "clock_offset_s": 0.0,
        "clock_error_s": 0.001,
    }
    hosts = {name: {**host, "boot_id": name, "address": name, "roles": [role]} for name, role in HOSTS.items()}
    systems = {name: {"name": name, "title": name, "version": "0", "notes": [], "config": {}} for name in SYSTEMS}
    return Environment.model_validate(
        {"hosts": hosts, "findings": [], "systems": systems, "load_generator": "sysbench 0"}
    )


def made_up(made: Campaign, trial: Trial, dice: np.random.Generator) -> tuple[Record, pd.DataFrame]:
    """A whole record of a trial, and its series."""
    threads, began = float(trial.cell.levels["threads"]), 1_700_000_000.0 + 60 * trial.order
    tps = 20_000 * threads / (threads + 60) * float(np.exp(dice.normal(0, 0.03)))
    mean = threads / tps * 1000
    figures = {
        "tps": tps,
        "qps": tps,
        "p95_ms": 2 * mean,
        "latency_mean_ms": mean,
        "latency_max_ms": 20 * mean,
        "events": tps * TIME_S,
        "ignored_errors": 0.0,
        "reconnects": 0.0,
        "total_time_s": float(TIME_S),
    }
    units = {"tps": "1/s", "qps": "1/s", "total_time_s": "s", "events": "1", "ignored_errors": "1", "reconnects": "1"}
    done = Record(
        id=trial.id,
        identity=trial.identity,
        status="done",
        report=made.report,
        campaign=made.id,
        table=trial.cell.table,
        system=trial.cell.system,
        levels=trial.cell.levels,
        repetition=trial.repetition,
        order=trial.order,
        asked=made.asked,
        command="sysbench",
        client="executor",
        started=began,
        ended=began + TIME_S,
        exit_status=0,
        histogram=_histogram(mean, tps * TIME_S),
        proof={},
        summary={name: Quantity(value=value, unit=units.get(name, "ms")) for name, value in figures.items()},
    )
    return done, _series(began, tps, threads, dice)


def _histogram(mean: float, events: float) -> list[tuple[float, int]]:
    """The 300 of sysbench's buckets around the mean: as many as a real run fills.

    They are the same in every run: 1,024 from 0.001 to 100,000 ms, printed with three digits (sysbench 1.0,
    `sb_histogram_init` in src/sysbench.c).
    """
    step = 1e8 ** (1 / 1023)
    middle = round(np.log(mean / 0.001) / np.log(step))
    at = np.round(0.001 * step ** np.arange(middle - 150, middle + 150), 3)
    shares = np.exp(-(np.log(at / mean) ** 2))
    counts = np.round(events * shares / shares.sum()).astype(int)
    return [(float(t), int(n)) for t, n in zip(at, counts, strict=True)]


def _series(began: float, tps: float, threads: float, dice: np.random.Generator) -> pd.DataFrame:
    """The long table of a trial: 25 series a host, 6 of the load generator, 1 a server, one value a second."""
    seconds = began + np.arange(TIME_S + 3) - 1.0
    noise = _autocorrelated(len(seconds), dice)
    parts = list(_parts(tps, threads))
    columns = {
        name: np.repeat([part[i] for part in parts], len(seconds))
        for i, name in enumerate(("host", "source", "metric", "unit"))
    }
    values = np.concatenate([level * (1 + 0.05 * np.roll(noise, i)) for i, (*_, level) in enumerate(parts)])
    return pd.DataFrame({**columns, "t": np.tile(seconds, len(parts)), "value": np.maximum(values, 0)})[COLUMNS]


def _parts(tps: float, threads: float) -> Iterator[tuple[str, str, str, str, float]]:
    for host in HOSTS:
        for metric, unit in _HOST_METRICS.items():
            yield host, "host", metric, unit, 1.5 if unit == "cores" else 1000.0
    for metric, unit in _LOAD_METRICS.items():
        yield (
            "executor",
            "sysbench",
            metric,
            unit,
            {"latency_ms": threads / tps * 1000, "threads": threads}.get(metric, tps),
        )
    for host in ("tidb1", "tidb2"):
        yield host, "mysql", "answer_ms", "ms", 0.5


def _autocorrelated(length: int, dice: np.random.Generator) -> np.ndarray:
    noise = dice.normal(size=length)
    for i in range(1, length):
        noise[i] += 0.7 * noise[i - 1]
    return noise
