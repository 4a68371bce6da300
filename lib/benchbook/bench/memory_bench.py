"""What the memory costs: 40 made-up campaigns of 250 trials each, their tables, and questions about all of them."""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import benchbook
from benchbook import paths, published
from benchbook.bench.made_up_campaign import REPORT, child, environment, made_up, own_home
from benchbook.bench.spent import SELF, peak_mb, seconds
from benchbook.campaign import design, record, store
from benchbook.memory.kept_table import TABLES
from benchbook.reports.load.load_kind import LoadKind, LoadParameters

MODULE = "benchbook.bench.memory_bench"
# 5 workloads x 5 numbers of threads, each 10 times: 250 trials a campaign, 10,000 in all.
CAMPAIGNS = int(os.environ.get("BENCHBOOK_MEMORY_CAMPAIGNS", "40"))
THREADS, REPETITIONS = [50, 100, 150, 200, 400], 10
# From here on every campaign is this much slower, for the history.
SLOWER_FROM, SLOWER = 0.6, 0.93

_QUESTIONS = {
    "mean tps per cell and campaign": "select campaign, workload, threads, avg(tps) from trials group by all",
    "slowest campaigns": "select campaign, sum(events) / sum(duration_s) as rate from trials join runs using (campaign)"
    " group by all order by rate limit 5",
    "p95 of merged histograms": "with added as (select campaign, latency_ms, sum(count) as n from histograms"
    " group by all),"
    " shares as (select campaign, latency_ms, sum(n) over (partition by campaign order by latency_ms)"
    " / sum(n) over (partition by campaign) as share from added)"
    " select campaign, min(latency_ms) from shares where share >= 0.95 group by all",
    "mean tps of every second": "select campaign, avg(value) from seconds where metric = 'tps' and in_load"
    " group by all",
    "kernels": "select text, count(distinct campaign) from environments where fact = 'host.kernel' group by all",
}


def memory(console: Console) -> dict[str, Any]:
    """10,000 trials of 40 campaigns: seconds to make and to ask the memory's tables, and their size"""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="benchbook-memory-") as folder:
        home = own_home(Path(folder))
        child(home, MODULE, "make")
        for step in ("build", "ask", "page"):
            found[step] = json.loads(child(home, MODULE, step).splitlines()[-1])
            console.print(f"  {step}: {found[step]}", markup=False)
    return found


def make() -> None:
    """The campaigns, whole; the last ones are slower."""
    parameters = LoadParameters(inventory="lab_tidb", system="tidb", threads=THREADS)
    asked = {"profile": "lab", "inventory": "lab_tidb", "systems": ["tidb"], "seed": 1, "time_s": 30, "hosts": {}}
    cells = LoadKind().cells(published.load(REPORT), parameters)
    trials = design.plan(cells, REPETITIONS, seed=1, asked=asked)
    dice = np.random.default_rng(1)
    for number in range(CAMPAIGNS):
        made = store.start_or_continue(REPORT, asked, trials, seed=1)
        made.note(environment())
        luck = float(np.exp(dice.normal(0, 0.03))) * (SLOWER if number >= SLOWER_FROM * CAMPAIGNS else 1.0)
        for trial in trials:
            done, series = made_up(made, trial, dice)
            tps = done.summary["tps"]
            changed = {**done.summary, "tps": tps.model_copy(update={"value": tps.value * luck})}
            noise = 1 + 0.02 * dice.standard_normal(len(series))
            series = series.assign(value=series.value * noise)
            record.save(
                made.folder / "trials",
                done.model_copy(update={"summary": changed}),
                series,
                "made up\n" * 200,
                lasting=False,
            )


def _build() -> dict[str, Any]:
    """Each table made for the first time."""
    known = benchbook.runs()
    took = {name: round(seconds(partial(known.sql, f"select count(*) from {name}")), 3) for name in TABLES}
    sizes = {name: _size(paths.memory_dir() / name) for name in TABLES}
    return {"seconds": took, "mb": sizes, "records_mb": _size(paths.runs_dir(REPORT))}


def _ask() -> dict[str, Any]:
    """Questions to what is there, each of which first looks whether it still fits."""
    began = time.perf_counter()
    known = benchbook.runs()
    took = {"runs()": round(time.perf_counter() - began, 3)}
    took |= {name: round(seconds(partial(known.sql, query)), 3) for name, query in _QUESTIONS.items()}
    took["trials()"] = round(seconds(known.trials), 3)
    took["seconds('tps')"] = round(seconds(lambda: known.seconds("tps")), 3)
    return {"trials": len(known.trials()), "seconds": took}


def _page() -> dict[str, Any]:
    """The history's page, from the command's start to its end."""
    # Found as a user finds it: what makes pages is imported by who makes one.
    from benchbook.history import history_command  # noqa: PLC0415
    from benchbook.history.report_history import HistoryParameters  # noqa: PLC0415

    began = time.perf_counter()
    asked = HistoryParameters(report=REPORT)
    history_command.run(asked, Console(file=io.StringIO()), as_json=False, page=True)
    page = paths.site_dir() / f"history_{REPORT}.html"
    return {"seconds": round(time.perf_counter() - began, 1), "page_mb": round(page.stat().st_size / 1e6, 2)}


def _size(folder: Path) -> float:
    """Of all files, in MB."""
    return round(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6, 1)


_STEPS: dict[str, Callable[[], dict[str, Any]]] = {"build": _build, "ask": _ask, "page": _page}

if __name__ == "__main__":
    if sys.argv[1] == "make":
        make()
    else:
        said = _STEPS[sys.argv[1]]()
        print(json.dumps({**said, "peak_mb": peak_mb(SELF)}))
