"""What the analysis of a large campaign costs: part of `make bench`, on made-up records of the real format.

The code cells of the TiDB report's notebook are run one by one in a fresh process, as a replay would run them.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchbook import paths, published
from benchbook.bench.made_up_campaign import REPORT, SYSTEMS, TIME_S, child, environment, made_up, own_home
from benchbook.bench.spent import SELF, cpu_s, peak_mb
from benchbook.campaign import design, record, store
from benchbook.campaign.store import Campaign
from benchbook.reports.load.load_kind import LoadKind, LoadParameters

MODULE = "benchbook.bench.analysis_bench"
# 15 cells on two systems: 1,020 trials.
REPETITIONS = 34


def analysis(console: Console) -> dict[str, Any]:
    """seconds and peak MB of the whole analysis of a campaign of 1,020 trials, in a fresh process"""
    with tempfile.TemporaryDirectory(prefix="benchbook-analysis-") as folder:
        home = own_home(Path(folder))
        child(home, MODULE, "make")
        found: dict[str, Any] = json.loads(child(home, MODULE, "analyse"))
    for name, seconds in found.pop("cells").items():
        console.print(f"  {seconds:6.1f} s  {name}", markup=False)
    return found


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
        record.save(made.folder / "trials", done, series, "", lasting=False)
    return made


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
    return {
        "trials": len(namespace["report"].records),
        "seconds": round(seconds, 1),
        "cpu_s": round(cpu_s(SELF), 1),
        "peak_mb": peak_mb(SELF),
        "cells": took,
    }


if __name__ == "__main__":
    if sys.argv[1:] == ["make"]:
        make()
    else:
        print(json.dumps(analyse()))
