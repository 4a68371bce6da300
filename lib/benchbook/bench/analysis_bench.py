"""What the analysis of a large campaign costs: part of `make bench`, on made-up records of the real format.

The code cells of the TiDB report's notebook are run one by one in a fresh process, as a replay would run them.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
from rich.console import Console

from benchbook import paths, published
from benchbook.bench import import_costs
from benchbook.bench.made_up_campaign import REPORT, SYSTEMS, TIME_S, child, environment, made_up, own_home
from benchbook.bench.phases import Phases
from benchbook.bench.spent import SELF, cpu_s, peak_mb
from benchbook.campaign import design, record, store
from benchbook.campaign.store import Campaign
from benchbook.reports.load.load_kind import LoadKind, LoadParameters

MODULE, IMPORTS = "benchbook.bench.analysis_bench", import_costs.__name__
# 15 cells on two systems: 1,020 trials.
REPETITIONS = 34
IMPORTING = "importing what is not there yet"
# What is called for it, by whatever cell.
PHASES = (
    ("opening the report: its kind, its tables", "benchbook.book", ("open_report",)),
    ("frames for a reader", "benchbook.frames.framed:Framed", ("trials", "histograms", "cpu", "beside_frame")),
    (
        "records: which there are, and what they say",
        "benchbook.campaign.store:Campaign",
        ("records", "done", "failures"),
    ),
    ("records: histograms", "benchbook.campaign.record_index:LazyHistogram", ("_read",)),
    ("samples: reading Parquet", "benchbook.campaign.store:Campaign", ("coded_series", "series")),
    ("samples: CPU of the hosts", "benchbook.analysis.cpu_use", ("of_record",)),
    ("tables beside the published ones", "benchbook.book:Book", ("tables",)),
    ("claims", "benchbook.claims.judge", ("of_campaign",)),
    ("figures: panels and lines", "benchbook.plots.frame_plots", ("levels", "repetitions", "ecdf", "relation")),
    ("figures: panels and lines", "benchbook.plots.timelines", ("time_series",)),
    ("figures: panels and lines", "benchbook.claims.claims_plot", ("forest",)),
    ("figures: places of labels, PNG, SVG", "benchbook.plots.mime", ("png", "svg")),
)


def analysis(console: Console) -> dict[str, Any]:
    """seconds, CPU seconds and peak MB of the whole analysis of 1,020 trials, and of its phases, in a fresh process"""
    with tempfile.TemporaryDirectory(prefix="benchbook-analysis-") as folder:
        home = own_home(Path(folder))
        child(home, MODULE, "make")
        imports = json.loads(child(home, IMPORTS, "all"))
        found: dict[str, Any] = json.loads(child(home, MODULE, "analyse"))
    for name, seconds in found.pop("cells").items():
        console.print(f"  {seconds:6.1f} s  {name}", markup=False)
    _say("importing, a process of its own", imports, console)
    _say("analysing", found["phases"], console)
    return {**found, "imports": imports}


def _say(what: str, phases: dict[str, dict[str, float]], console: Console) -> None:
    console.print(f"  {what}: wall time, CPU time, growth of the peak", markup=False)
    for name, took in phases.items():
        console.print(f"  {took['seconds']:6.2f} s {took['cpu_s']:6.2f} s {took['mb']:4.0f} MB  {name}", markup=False)


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
    """Run every code cell of the report's notebook, as a replay.

    Seconds in all, per cell and per phase, CPU time, peak MB. What this module imports (`before_it_mb`: NumPy, pandas,
    pyarrow) is there before it begins, and is part of the peak alone.
    """
    cells = json.loads(paths.notebook(REPORT).read_text())["cells"]
    namespace: dict[str, Any] = {"__name__": "notebook"}
    took: dict[str, float] = {}
    before_it = peak_mb(SELF)
    began, used, phases = time.perf_counter(), cpu_s(SELF), Phases()
    try:
        _follow(phases)
        for cell in cells:
            source = "".join(cell["source"])
            if cell["cell_type"] == "code":
                before = time.perf_counter()
                exec(source, namespace)
                took[source.strip().splitlines()[0]] = round(time.perf_counter() - before, 2)
            if "parameters" in cell["metadata"].get("tags", []):
                namespace.update(replay=True, profile="lab", systems=list(SYSTEMS))
    finally:
        phases.let_go()
    seconds = time.perf_counter() - began
    return {
        "trials": len(namespace["report"].records),
        "seconds": round(seconds, 1),
        "cpu_s": round(cpu_s(SELF) - used, 1),
        "peak_mb": peak_mb(SELF),
        "before_it_mb": before_it,
        "cells": took,
        "phases": phases.found(),
    }


def _follow(phases: Phases) -> None:
    """What draws is imported here, where a notebook does it with its first figure: then it can be followed too."""
    with phases.phase(IMPORTING):
        for name in import_costs.ORDER:
            import_module(name)
    for name, owner, functions in PHASES:
        phases.follow(name, resolve_name(owner), *functions)


if __name__ == "__main__":
    if sys.argv[1:] == ["make"]:
        make()
    else:
        print(json.dumps(analyse()))
