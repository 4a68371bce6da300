"""What the analysis of a large campaign costs: part of `make bench`, on made-up records of the real format.

The code cells of the TiDB report's notebook are run one by one in a fresh process, as a replay would run them.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from benchbook import paths, published
from benchbook.campaign import design, record, store
from benchbook.campaign.design import Trial
from benchbook.campaign.environment import Environment
from benchbook.campaign.record import Quantity, Record
from benchbook.campaign.store import Campaign
from benchbook.probes.samples import COLUMNS
from benchbook.reports.load.load_kind import LoadKind, LoadParameters

REPORT = "tidb_v7_1_3_sysbench"
MODULE = "benchbook.bench.analysis_bench"
# 15 cells on two systems: 1,020 trials of 30 s, each with 83 series.
REPETITIONS, SYSTEMS, TIME_S = 34, ("tidb", "mariadb"), 30
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


def analysis(console: Console) -> dict[str, Any]:
    """seconds and peak MB of the whole analysis of a campaign of 1,020 trials, in a fresh process"""
    with tempfile.TemporaryDirectory(prefix="benchbook-analysis-") as folder:
        home = own_home(Path(folder))
        child(home, MODULE, "make")
        found: dict[str, Any] = json.loads(child(home, MODULE, "analyse"))
    for name, seconds in found.pop("cells").items():
        console.print(f"  {seconds:6.1f} s  {name}", markup=False)
    return found


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
        env={**os.environ, "BENCHBOOK_HOME": str(home), "MPLBACKEND": "agg"},
    )
    return done.stdout


# -- the campaign -------------------------------------------------------------------------------------------------


def make(repetitions: int = REPETITIONS) -> Campaign:
    """A finished campaign in data/runs: every trial whole, seeded, its seconds autocorrelated (AR(1), phi 0.7)."""
    parameters = LoadParameters(inventory="lab_tidb", systems=list(SYSTEMS))
    asked = {
        "profile": "lab",
        "inventory": "lab_tidb",
        "systems": list(SYSTEMS),
        "seed": 1,
        "tables": 32,
        "table_size": 10_000,
        "time_s": TIME_S,
        "report_interval_s": 1,
        "rate": 0,
        "reset": "restore",
        "buffer_pool_mb": 1024,
        "hosts": {},
    }
    cells = LoadKind().cells(published.load(REPORT), parameters)
    trials = design.plan(cells, repetitions, seed=1, asked=asked)
    made = store.start_or_continue(REPORT, asked, trials, seed=1)
    made.note(environment())
    dice = np.random.default_rng(1)
    for trial in trials:
        done, series = made_up(made, trial, dice)
        record.save(made.folder / "trials", done, series, "")
    return made


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
    """sysbench's 1.8% buckets around the mean: as many as a real run fills."""
    at = mean * 1.018 ** np.arange(-150, 150)
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


# -- its analysis -------------------------------------------------------------------------------------------------


def analyse() -> dict[str, Any]:
    """Run every code cell of the report's notebook, as a replay; seconds in all and per cell, CPU time, peak MB."""
    cells = json.loads(paths.notebook(REPORT).read_text())["cells"]
    namespace: dict[str, Any] = {"__name__": "notebook"}
    took: dict[str, float] = {}
    began = time.perf_counter()
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            before = time.perf_counter()
            exec(source, namespace)
            took[source.strip().splitlines()[0]] = round(time.perf_counter() - before, 2)
        if "parameters" in cell["metadata"].get("tags", []):
            namespace.update(replay=True, profile="lab", systems=list(SYSTEMS))
    seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "trials": len(namespace["report"].records),
        "seconds": round(seconds, 1),
        "cpu_s": round(used.ru_utime + used.ru_stime, 1),
        # In KiB on Linux (getrusage(2)).
        "peak_mb": round(used.ru_maxrss * 1024 / 1e6),
        "cells": took,
    }


if __name__ == "__main__":
    if sys.argv[1:] == ["make"]:
        make()
    else:
        print(json.dumps(analyse()))
